"""The vendors' own clients accept the stand-ins, and send what our client sends for the same question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from zs_assets.backends.label_only import answer_schema, prompt_of
from zs_assets.backends.reply_json import object_of
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question
from zs_assets_tests.backends.label_systems import KEY, LABELS, SYSTEMS, label_backend, label_servers, set_keys

ORDER = (2, 0, 1)
TEXT = 'My parcel "never" came. Где она?'
PROMPT = prompt_of(LABELS, ORDER, TEXT)
SCHEMA = answer_schema(LABELS, ORDER)
IDS = [LABELS.ids[index] for index in ORDER]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, LocalServer]]:
    with label_servers() as started:
        yield started


@pytest.fixture(autouse=True)
def fresh(servers, monkeypatch):
    set_keys(monkeypatch)
    for server in servers.values():
        server.set_faults([])


def sent_by_us(server: LocalServer, name: str, **settings: Any) -> tuple[Any, str | None]:
    """Our request as it arrived, and the label we read."""
    backend = label_backend(name, server.url, **settings)
    ((_, reading),) = ask_all(backend, [presentation(LABELS, TEXT, ORDER)])
    assert reading.outcome is Outcome.OK, reading.problem
    return json.loads(server.bodies()[-1]), reading.choice


def tool(name_of_schema: str) -> dict:
    return {"name": "answer", "description": "Gives the chosen option.", "strict": True, name_of_schema: SCHEMA}


def test_the_openai_client_reads_the_same_label_from_deepseek_and_sends_the_same_body(servers):
    openai = pytest.importorskip("openai")
    server = servers["deepseek"]
    client = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/beta", max_retries=0)
    done = client.chat.completions.create(
        model="deepseek-v4-pro",
        messages=[{"role": "user", "content": PROMPT}],
        tools=[{"type": "function", "function": tool("parameters")}],
        tool_choice="auto",
    )
    theirs = json.loads(server.bodies()[-1])
    (call,) = done.choices[0].message.tool_calls
    assert (done.model, done.choices[0].finish_reason, call.function.name) == (
        "deepseek-v4-pro",
        "tool_calls",
        "answer",
    )
    assert done.usage.prompt_cache_hit_tokens + done.usage.prompt_cache_miss_tokens == done.usage.prompt_tokens
    assert 0 < done.usage.completion_tokens_details.reasoning_tokens < done.usage.completion_tokens
    ours, label = sent_by_us(server, "deepseek")
    assert ours == theirs
    assert json.loads(call.function.arguments) == {"label": label}


def test_the_openai_client_meets_each_error_of_deepseek_as_its_own_class(servers):
    openai = pytest.importorskip("openai")
    server = servers["deepseek"]
    client = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/beta", max_retries=0)
    messages = [{"role": "user", "content": PROMPT}]
    function = {"type": "function", "function": tool("parameters")}

    def ask(**more: Any) -> Any:
        return client.chat.completions.create(
            model="deepseek-v4-pro", messages=messages, **{"tools": [function], **more}
        )

    forced = {"type": "function", "function": {"name": "answer"}}
    with pytest.raises(openai.BadRequestError, match="does not support this tool_choice"):
        ask(tool_choice=forced)
    assert ask(tool_choice=forced, extra_body={"thinking": {"type": "disabled"}}).choices
    with pytest.raises(openai.BadRequestError, match="response_format type is unavailable"):
        ask(response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}})
    open_schema = {**SCHEMA, "additionalProperties": True}
    with pytest.raises(openai.BadRequestError, match="Strict mode"):
        ask(tools=[{"type": "function", "function": {**tool("parameters"), "parameters": open_schema}}])
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="sk-wrong").chat.completions.create(model="deepseek-v4-pro", messages=messages)
    with pytest.raises(openai.NotFoundError):  # strict tools are under /beta only
        client.with_options(base_url=server.url).chat.completions.create(model="deepseek-v4-pro", messages=messages)
    for fault, error in {"429": openai.RateLimitError, "500": openai.InternalServerError}.items():
        server.set_faults([{"fault": fault}])
        with pytest.raises(error):
            ask()


@pytest.mark.parametrize("mode", ["json", "tool"])
def test_the_anthropic_client_reads_the_same_label_and_sends_the_same_body(servers, mode: str):
    anthropic = pytest.importorskip("anthropic")
    server = servers["opus"]
    client = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    form: dict[str, Any] = {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    if mode == "tool":
        form = {"tools": [tool("input_schema")], "tool_choice": {"type": "auto"}}
    message = client.messages.create(
        model="claude-opus-5", max_tokens=4096, messages=[{"role": "user", "content": PROMPT}], **form
    )
    theirs = json.loads(server.bodies()[-1])
    first, last = message.content
    assert (message.model, first.type) == ("claude-opus-5", "thinking")
    assert message._request_id.startswith("req_")
    assert 0 < message.usage.output_tokens_details.thinking_tokens < message.usage.output_tokens
    answer = last.input if mode == "tool" else json.loads(last.text)
    ours, label = sent_by_us(server, "opus", mode=mode)
    assert ours == theirs
    assert answer == {"label": label}


def test_the_anthropic_client_meets_each_error_as_its_own_class(servers):
    anthropic = pytest.importorskip("anthropic")
    server = servers["opus"]
    client = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)
    output = {"format": {"type": "json_schema", "schema": SCHEMA}}

    def ask(client: Any = client, model: str = "claude-opus-5", **more: Any) -> Any:
        messages = [{"role": "user", "content": PROMPT}]
        return client.messages.create(
            model=model, max_tokens=4096, messages=messages, **({"output_config": output} | more)
        )

    with pytest.raises(anthropic.BadRequestError, match="temperature"):
        ask(extra_body={"temperature": 0})
    with pytest.raises(anthropic.BadRequestError, match="forces tool use"):
        ask(tools=[tool("input_schema")], tool_choice={"type": "tool", "name": "answer"})
    with pytest.raises(anthropic.NotFoundError):
        ask(model="claude-opus-5-5")
    with pytest.raises(anthropic.AuthenticationError):
        ask(client.with_options(api_key="sk-wrong"))
    for fault, error in {"429": anthropic.RateLimitError, "529": anthropic.APIStatusError}.items():
        server.set_faults([{"fault": fault}])
        with pytest.raises(error):
            ask()
    server.set_faults([{"fault": "refusal"}])
    assert ask().stop_reason == "refusal"


@pytest.mark.parametrize("version", ["v1", "v1beta"])
@pytest.mark.parametrize("mode", ["enum", "json"])
def test_the_google_client_reads_the_same_label_and_sends_the_same_body(servers, mode: str, version: str):
    genai = pytest.importorskip("google.genai")
    server = servers["gemini_flash"]
    options = {"base_url": server.url, "api_version": version}
    client = genai.Client(api_key=KEY, vertexai=False, http_options=options)
    config: dict[str, Any] = {"response_mime_type": "application/json", "response_json_schema": SCHEMA}
    if mode == "enum":
        config = {"response_mime_type": "text/x.enum", "response_schema": {"type": "STRING", "enum": IDS}}
    done = client.models.generate_content(model="gemini-3.8-flash", contents=PROMPT, config=config)
    theirs = json.loads(server.bodies()[-1])
    usage = done.usage_metadata
    assert (done.model_version, done.candidates[0].finish_reason.value) == ("gemini-3.8-flash", "STOP")
    assert done.response_id
    total = usage.prompt_token_count + usage.candidates_token_count + usage.thoughts_token_count
    assert usage.total_token_count == total
    ours, label = sent_by_us(server, "gemini_flash", mode=mode)
    assert ours == theirs
    assert (done.text if mode == "enum" else object_of(json.loads(done.text)).get("label")) == label


def test_the_google_client_meets_blocks_and_errors_as_its_own(servers):
    genai = pytest.importorskip("google.genai")
    server = servers["gemini_flash"]
    client = genai.Client(api_key=KEY, vertexai=False, http_options={"base_url": server.url})
    config = {"response_mime_type": "text/x.enum", "response_schema": {"type": "STRING", "enum": IDS}}

    def ask(**more: Any) -> Any:
        return client.models.generate_content(model="gemini-3.8-flash", contents=PROMPT, config={**config, **more})

    with pytest.raises(genai.errors.ClientError, match="Logprobs"):
        ask(response_logprobs=True)
    server.set_faults([{"fault": "blocked_prompt"}])
    assert (ask().candidates, ask().prompt_feedback.block_reason.value) == (None, "PROHIBITED_CONTENT")
    server.set_faults([{"fault": "refusal"}])
    assert ask().candidates[0].finish_reason.value == "SAFETY"
    server.set_faults([{"fault": "daily_quota"}])
    with pytest.raises(genai.errors.ClientError) as raised:
        ask()
    assert (raised.value.code, raised.value.status) == (429, "RESOURCE_EXHAUSTED")
    wrong = genai.Client(api_key="AIza-wrong", vertexai=False, http_options={"base_url": server.url})
    with pytest.raises(genai.errors.ClientError, match="API_KEY_INVALID"):
        wrong.models.generate_content(model="gemini-3.8-flash", contents=PROMPT, config=config)


def test_the_first_request_misses_the_cache_and_later_ones_hit_what_they_share(servers):
    of = question({f"label_{index}": f"The text is about subject number {index} of many." for index in range(77)})
    for name, caches in (("deepseek", True), ("opus", False), ("gemini_flash", True)):
        backend = label_backend(name, servers[name].url, of)
        texts = [f"Text number {index}." for index in range(3)]
        readings = [reading for _, reading in ask_all(backend, [presentation(of, text) for text in texts])]
        assert readings[0].cache_hit_tokens == 0
        hits = {reading.cache_hit_tokens for reading in readings[1:]}
        assert len(hits) == 1
        assert (hits != {0}) is caches, "Claude's is used only where a request asks for it"
        for reading in readings:
            assert reading.input_tokens == (reading.cache_hit_tokens or 0) + (reading.cache_miss_tokens or 0)
            assert 0 < (reading.reasoning_tokens or 0) < (reading.output_tokens or 0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_fault_that_a_stand_in_cannot_play_is_refused(servers, name: str):
    import urllib.error

    with pytest.raises(urllib.error.HTTPError):
        servers[name].set_faults([{"fault": "sum_off"}])
