"""The profiles of the systems of the studies, named as the entries of systems.yaml."""

from __future__ import annotations

from dataclasses import replace

from zs_assets.emulator.profile import ENTROPY, MARGIN, TOP, Profile

ANY = r"(?s).*"
_JEV_NAMES = {"jev-1.13.0": "jev-1.13.0", "jev-1.14.0": "jev-1.14.0"}
_ALIASES = {"jev-latest": "jev-1.13.0", "jev-preview": "jev-1.14.0"}

JEV = Profile(
    name="jev",
    aliases=_ALIASES | _JEV_NAMES,
    request_id_header="x-typesafe-request-id",
    question_token_cap=32_768,
    rejects_with=400,
    strict=True,
    shuffles_keys=True,
    sharpness=2.3,
    quality_noise=0.5,
    position_bias=0.51,
    order_range=12.67,
    repeat_noise=0.007,  # published: 0.57 to 0.65 points of mean absolute deviation in one order
    requests_per_second=80.0,
)
JEV_1_14 = replace(
    JEV,
    name="jev_1_14",
    sharpness=2.2,
    label_mismatch_rate=52 / 42_000,  # the order study: that many labels one point below the maximum
)
KEV = Profile(
    name="kev_4b",
    aliases={"kev-latest": "kev-latest", "jev-latest": "jev-latest"},
    other_models=ANY,
    sharpness=1.8,
    quality_noise=0.8,
    position_bias=0.46,
    order_range=13.0,
)
LAYA = Profile(
    name="laya",
    other_models=ANY,
    answers_as="laya-rl-agent",
    decimals=4,
    confidence=ENTROPY,
    option_cap=100,
    question_cap=64,
    total_token_cap=1_000_000,
    question_token_cap=1_000_000,
    cut_at_tokens=512,
    sharpness=1.0,
    quality_noise=1.0,
    position_bias=1.68,
    order_range=46.05,
)
VON = Profile(
    name="von",
    aliases=dict.fromkeys(("von-1.3.0", "von-latest", "von-1.2.0", "von-1.1.0", "jev-latest"), "von-1.3.0"),
    decimals=4,
    total_token_cap=1_000_000,
    question_token_cap=1_000_000,
    cut_at_tokens=8_192,
    order_range=0.0,
)
SUBQ = Profile(
    name="subq_snap",
    aliases={name: name for name in ("subq-snap-preview", "subq-snap-1.1")},
    option_min=2,
    question_cap=128,
    decimals=4,  # not published; 16.87, its median range, is no multiple of a third of 0.01
    shuffles_keys=True,
    sharpness=1.9,
    quality_noise=0.7,
    position_bias=0.6,
    order_range=16.87,
)
NIMBLE = Profile(
    name="nimble_9b",
    aliases=dict.fromkeys(("nimble-latest", "bespokelabs/Bespoke-Nimble-9B"), "bespokelabs/Bespoke-Nimble-9B"),
    decimals=None,
    confidence=ENTROPY,
    option_min=2,
    option_cap=26,
    level_cap=26,
    question_cap=64,
    question_token_cap=8_192,
    strict=True,
    sharpness=2.6,
    quality_noise=0.7,
    position_bias=1.1,
    order_range=22.66,
)
RIZZO = Profile(
    name="rizzo_flow_4b",
    aliases=dict.fromkeys(("rizzo-latest", "rizzo-flow-4b-q8_0"), "rizzo-flow-4b-q8_0"),
    other_models=r"jev-.*",
    answers_as="rizzo-flow-4b-q8_0",
    decimals=None,
    option_min=2,
    option_cap=26,
    question_cap=64,
    question_token_cap=8_192,
    strict=True,
    sharpness=2.5,
    quality_noise=1.0,
    position_bias=1.78,
    order_range=39.41,
)
_SEMIF_MODEL = "semif/Qwen3.5-4B@851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a"
SEMIF = Profile(
    name="semif",
    aliases=dict.fromkeys((_SEMIF_MODEL, "semif-latest", "Qwen/Qwen3.5-4B"), _SEMIF_MODEL),
    other_models=r"jev-.*|semif.*",
    answers_as=_SEMIF_MODEL,
    decimals=None,
    confidence=TOP,  # differs by commit
    option_min=2,
    option_cap=16,
    question_token_cap=4_096,
    sharpness=1.5,
    quality_noise=1.0,
    position_bias=2.38,
    order_range=60.41,
)
CLEF = Profile(
    name="clef_27b",
    other_models=ANY,
    decimals=4,
    confidence=TOP,
    option_min=2,
    question_cap=64,
    total_token_cap=1_000_000,
    question_token_cap=1_000_000,
    cut_at_tokens=16_384,
    order_range=0.0,
)
CLEF_HOSTED = replace(
    CLEF,
    name="clef_workers_ai",
    wire="workers_ai",
    paths=(
        "/client/v4/accounts/{account}/ai/run/@cf/cloudflare/clef",
        "/accounts/{account}/ai/run/@cf/cloudflare/clef",
    ),
    aliases={"clef": "clef", "@cf/cloudflare/clef": "clef"},
    other_models=r"(?!)",
    request_id_header="cf-ai-req-id",
    total_token_cap=65_536,
    question_token_cap=65_536,
    cut_at_tokens=None,
    rejects_with=400,
    order_range=None,  # the order study asked the local weights only
)
LUNA = Profile(
    name="openai_luna",
    wire="openai_decisions",
    paths=("/v1/decisions",),
    aliases={"gpt-6-luna": "gpt-6-luna"},
    request_id_header="x-request-id",
    option_min=2,
    question_cap=400,
    rejects_with=400,
    strict=True,
    sharpness=2.0,
    quality_noise=0.5,
    position_bias=2.22,
    order_range=55.0,
    refusal_rate=178 / 42_000,  # the order study, on 34 of 1,000 texts
)
NANOJEV = Profile(
    name="nanojev",
    wire="nanojev",
    paths=("/api/evaluate",),
    other_models=ANY,
    answers_as="Qwen/Qwen3-0.6B",
    has_auth=False,
    decimals=None,
    option_min=2,
    question_cap=96,
    question_token_cap=512,  # of the text and one candidate: each is a path of its own
    rejects_with=400,
    strict=True,
    sharpness=0.4,  # trained on games: its accuracy on texts means little
    quality_noise=1.5,
    order_range=2.98e-06,
)
_ROUTED = {"typesafe/jev-1.13": "typesafe/jev-1.13-20260917", "~typesafe/jev-latest": "typesafe/jev-1.13-20260917"}
OPENROUTER = replace(
    JEV,
    name="openrouter_jev",
    wire="openrouter",
    paths=("/api/alpha/decisions", "/alpha/decisions", "/api/v1/systemone", "/v1/systemone"),
    aliases=_ROUTED | {"typesafe/jev-1.14": "typesafe/jev-1.14", "jev-1.13": _ROUTED["typesafe/jev-1.13"]},
    request_id_header=None,
)
VERCEL = replace(
    JEV,
    name="vercel_jev",
    paths=("/typesafe/v1/systemone", "/v1/systemone"),
    aliases=_ALIASES | _JEV_NAMES | {"typesafe-ai/jev": "jev-1.13.0"},
)

OPENROUTER_LUNA = replace(
    LUNA,
    name="openrouter_luna",
    wire="openrouter",
    paths=OPENROUTER.paths,
    aliases={"openai/gpt-6-luna-decisions": "openai/gpt-6-luna-decisions"},
    request_id_header=None,
)
VERCEL_LUNA = replace(LUNA, name="vercel_luna", aliases={"openai/gpt-6-luna-decisions": "openai/gpt-6-luna-decisions"})
OPENVONS = Profile(
    name="openvons",
    other_models=ANY,
    decimals=None,
    confidence=MARGIN,
    sharpness=1.2,
    position_bias=0.8,  # its order behaviour is not published
)

# Label-only systems answer under the alias they were asked by.
DEEPSEEK = Profile(
    name="deepseek", wire="deepseek", paths=(), aliases={"deepseek-v4-pro": "deepseek-v4-pro"}, position_bias=0.3
)
OPUS = Profile(name="opus", wire="anthropic", paths=(), aliases={"claude-opus-5": "claude-opus-5"}, position_bias=0.2)
GEMINI_FLASH = Profile(
    name="gemini_flash", wire="gemini", paths=(), aliases={"gemini-3.8-flash": "gemini-3.8-flash"}, position_bias=0.3
)

LABEL_ONLY = ("deepseek", "anthropic", "gemini")
"""Wires of systems that name one option and give no probabilities."""

PROFILES = {
    profile.name: profile
    for profile in (
        *(JEV, replace(JEV, name="jev_1_13"), JEV_1_14, KEV, LAYA, VON, SUBQ, NIMBLE, RIZZO, SEMIF, CLEF),
        *(CLEF_HOSTED, LUNA, NANOJEV, OPENROUTER, VERCEL, OPENROUTER_LUNA, VERCEL_LUNA, OPENVONS),
        *(DEEPSEEK, OPUS, GEMINI_FLASH),
    )
}
