"""The chat interface with one strict tool: `POST {base}/beta/chat/completions` (DeepSeek).

The tool is the one way to hold DeepSeek to the options: it refuses the response format json_schema, and strict tools
need the path /beta. A forced tool_choice is refused while thinking is on, so the tool is offered with `auto`, and a
reply without a call is the outcome no_call. Neither thinking, effort nor temperature is sent: all stay the provider's
defaults. Source: api-docs.deepseek.com, guides on tool calls and thinking mode.
"""

from __future__ import annotations

from typing import Any

from zs_assets.backends.label_only import LabelOnlyBackend, NoLabel, label_in
from zs_assets.backends.local import Settings
from zs_assets.backends.reply_json import (
    BrokenReply,
    count_of,
    object_of,
    objects_of,
    parse_strictly,
    shown,
    text_of,
)
from zs_assets.protocol.names import Outcome

TOOL = "answer"


class ChatToolsSettings(Settings):
    """`max_tokens` null: the provider's own limit, which leaves room for thinking."""

    max_tokens: int | None = None


class ChatToolsBackend(LabelOnlyBackend):
    """One user message, one strict tool whose only parameter is the label."""

    path = "/beta/chat/completions"
    settings_model = ChatToolsSettings

    def envelope(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        tool = {"name": TOOL, "description": "Gives the chosen option.", "strict": True, "parameters": schema}
        body: dict[str, Any] = {
            "model": self.model_requested,
            "messages": [{"role": "user", "content": prompt}],
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": "auto",
        }
        return body if self.settings.max_tokens is None else body | {"max_tokens": self.settings.max_tokens}

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """completion_tokens holds the reasoning tokens already, prompt_tokens both parts of the cache split."""
        usage = object_of(body.get("usage"))
        return {
            "model": text_of(body.get("model")),
            "input_tokens": count_of(usage.get("prompt_tokens")),
            "output_tokens": count_of(usage.get("completion_tokens")),
            "cache_hit_tokens": count_of(usage.get("prompt_cache_hit_tokens")),
            "cache_miss_tokens": count_of(usage.get("prompt_cache_miss_tokens")),
            "reasoning_tokens": count_of(object_of(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        }

    def label(self, body: dict[str, Any]) -> Any:
        choices = objects_of(body.get("choices"))
        if not choices:
            raise BrokenReply("the reply has no choices")
        message = object_of(choices[0].get("message"))
        finish = choices[0].get("finish_reason")
        if finish == "content_filter":
            raise NoLabel(Outcome.REFUSAL, "the content filter stopped the reply")
        if finish in ("length", "insufficient_system_resource"):
            # What it holds is cut off, even where it happens to parse.
            raise NoLabel(Outcome.INVALID, f"the reply was cut off (finish_reason {finish})")
        calls = objects_of(message.get("tool_calls"))
        if not calls and message.get("refusal"):
            raise NoLabel(Outcome.REFUSAL, "the model refused in words")
        if not calls:
            raise NoLabel(Outcome.NO_CALL, f"the model did not call the tool (finish_reason {shown(finish)})")
        if len(calls) > 1:
            raise BrokenReply(f"the tool was called {len(calls)} times")
        function = object_of(calls[0].get("function"))
        if function.get("name") != TOOL:
            raise BrokenReply(f"the call is of tool {shown(function.get('name'))}, not '{TOOL}'")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            raise BrokenReply("the call has no arguments in JSON")
        return label_in(parse_strictly(arguments, "the call's arguments"), "the call's arguments")
