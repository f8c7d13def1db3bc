"""The Anthropic Messages API, as Claude Code and opencode use it."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.agents.model import Conversation, Reply, ToolCall, write_events

USAGE = {"input_tokens": 1, "output_tokens": 1}


class AnthropicMessages:
    """One stream of events for each message."""

    def read(self, path: str, body: dict[str, Any]) -> Conversation | None:
        if "/messages" not in path or "count_tokens" in path:
            return None
        blocks = [block for message in body["messages"] for block in _blocks(message)]
        texts = [str(block["text"]) for block in blocks if block["type"] == "text"]
        results = tuple(_text_of(block) for block in blocks if block["type"] == "tool_result")
        tools = frozenset(str(tool["name"]) for tool in body.get("tools", ()))
        return Conversation("\n".join(texts), tools, results)

    def write(self, path: str, body: dict[str, Any], step: ToolCall | str, number: int) -> Reply:
        block: dict[str, Any]
        if isinstance(step, str):
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": step}
            why = "end_turn"
        else:
            block = {"type": "tool_use", "id": f"toolu_{number:024}", "name": step.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(dict(step.arguments))}
            why = "tool_use"
        message = {
            "id": f"msg_{number:024}", "type": "message", "role": "assistant", "model": body["model"],
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE,
        }  # fmt: skip
        if not body.get("stream"):
            whole = (
                {"type": "text", "text": step}
                if isinstance(step, str)
                else {**block, "input": step.arguments}
            )
            return _as_json({**message, "content": [whole], "stop_reason": why})
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": USAGE},
            {"type": "message_stop"},
        ]
        return write_events(events, named=True)

    def write_other(self, path: str, body: dict[str, Any]) -> Reply:
        return _as_json({"input_tokens": 1})


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text_of(block: dict[str, Any]) -> str:
    content = block.get("content", "")
    return content if isinstance(content, str) else "\n".join(str(one.get("text", "")) for one in content)


def _as_json(value: object) -> Reply:
    return Reply(json.dumps(value).encode(), "application/json")
