"""The Messages interface: `POST {base}/v1/messages` (Claude Opus 5).

Neither temperature (the API answers 400) nor fallbacks (another model would answer amid a run) is sent. Thinking is on
by default and comes before the answer, so blocks are found by type. Source: types of the anthropic SDK 2.14.0.
"""

from __future__ import annotations

from typing import Any, Literal

from zs_assets.backends.label_only import LabelOnlyBackend, NoLabel, label_in
from zs_assets.backends.local import Settings
from zs_assets.backends.reply_json import (
    BrokenReply,
    count_of,
    object_of,
    objects_of,
    parse_strictly,
    shown,
    sum_of,
    text_of,
)
from zs_assets.protocol.names import Outcome

TOOL = "answer"
# The documented pair: x-api-key with this version. SDK 2.14.0 sends the same key as a bearer token with 2026-10-21.
VERSION = "2023-06-01"
_CUT_OFF = ("max_tokens", "model_context_window_exceeded", "pause_turn")


class AnthropicSettings(Settings):
    """`mode` json: a response format with the options; tool: one strict tool. `max_tokens` covers thinking, too."""

    mode: Literal["json", "tool"] = "json"
    max_tokens: int = 4096
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None  # null: the provider's default


class AnthropicBackend(LabelOnlyBackend):
    """One user message; the answer is a JSON text block, or the input of a tool."""

    path = "/v1/messages"
    request_id_header = "request-id"
    settings_model = AnthropicSettings

    def envelope(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model_requested,
            "max_tokens": self.settings.max_tokens,
            "messages": [{"role": "user", "content": prompt}],
        }
        output: dict[str, Any] = {} if self.settings.effort is None else {"effort": self.settings.effort}
        if self.settings.mode == "json":
            output["format"] = {"type": "json_schema", "schema": schema}
        else:
            tool = {"name": TOOL, "description": "Gives the chosen option.", "input_schema": schema, "strict": True}
            body |= {"tools": [tool], "tool_choice": {"type": "auto"}}  # thinking refuses a forced choice
        return body | {"output_config": output} if output else body

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """input_tokens leaves out what was read from a cache or written to one; both are null or 0 without a cache."""
        usage = object_of(body.get("usage"))
        plain = count_of(usage.get("input_tokens"))
        read = count_of(usage.get("cache_read_input_tokens") or 0)
        written = count_of(usage.get("cache_creation_input_tokens") or 0)
        return {
            "model": text_of(body.get("model")),
            "input_tokens": sum_of(plain, read, written),
            "output_tokens": count_of(usage.get("output_tokens")),
            "cache_hit_tokens": read,
            "cache_miss_tokens": plain,
            "reasoning_tokens": count_of(object_of(usage.get("output_tokens_details")).get("thinking_tokens")),
        }

    def label(self, body: dict[str, Any]) -> Any:
        stop = body.get("stop_reason")
        if stop == "refusal":
            raise NoLabel(Outcome.REFUSAL, "the model refused (stop_reason refusal)")
        if stop in _CUT_OFF:
            # Billed and never asked again; a cut-off answer may still parse.
            raise NoLabel(Outcome.INVALID, f"the reply was cut off (stop_reason {stop}): settings.max_tokens bounds it")
        blocks = objects_of(body.get("content"))
        return self._label_of_tool(blocks, stop) if self.settings.mode == "tool" else _label_of_text(blocks)

    def _label_of_tool(self, blocks: list[dict[str, Any]], stop: Any) -> Any:
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        if not calls:
            raise NoLabel(Outcome.NO_CALL, f"the model did not call the tool (stop_reason {shown(stop)})")
        if len(calls) > 1:
            raise BrokenReply(f"the tool was called {len(calls)} times")
        if calls[0].get("name") != TOOL:
            raise BrokenReply(f"the call is of tool {shown(calls[0].get('name'))}, not '{TOOL}'")
        return label_in(object_of(calls[0].get("input")), "the call's input")

    def _auth_headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def _label_of_text(blocks: list[dict[str, Any]]) -> Any:
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    written = [text for text in texts if isinstance(text, str)]
    if not written:
        raise BrokenReply("the reply has no text block")
    return label_in(parse_strictly("".join(written), "the text block"), "the text block")
