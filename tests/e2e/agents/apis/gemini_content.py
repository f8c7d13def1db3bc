"""The Gemini API (generateContent, streamGenerateContent), as Gemini CLI uses it."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.agents.model import Conversation, Reply, ToolCall, write_events

USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}


class GeminiContent:
    """One chunk holds the whole answer."""

    def read(self, path: str, body: dict[str, Any]) -> Conversation | None:
        if "enerateContent" not in path:
            return None
        parts = [part for content in body["contents"] for part in content["parts"]]
        texts = [str(part["text"]) for part in parts if "text" in part]
        results = tuple(
            json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part
        )
        tools = frozenset(
            str(one["name"]) for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())
        )
        return Conversation("\n".join(texts), tools, results)

    def write(self, path: str, body: dict[str, Any], step: ToolCall | str, number: int) -> Reply:
        part: dict[str, Any] = (
            {"text": step}
            if isinstance(step, str)
            else {"functionCall": {"name": step.tool, "args": dict(step.arguments), "id": f"call_{number}"}}
        )
        chunk = {
            "candidates": [
                {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": USAGE,
        }
        if "streamGenerateContent" in path:
            return write_events([chunk], named=False)
        return Reply(json.dumps(chunk).encode(), "application/json")

    def write_other(self, path: str, body: dict[str, Any]) -> Reply:
        return Reply(b'{"totalTokens": 1}', "application/json")
