"""The OpenAI Responses API, as Codex uses it."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.agents.model import Conversation, Reply, ToolCall, write_events

USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


class OpenAiResponses:
    """One stream of events for each response."""

    def read(self, path: str, body: dict[str, Any]) -> Conversation | None:
        if not path.endswith("/responses"):
            return None
        items = body["input"]
        said = [item for item in items if item.get("role") == "user" or item["type"] == "agent_message"]
        texts = [part.get("text", "") for item in said for part in item["content"]]
        results = tuple(str(item["output"]) for item in items if item["type"].endswith("call_output"))
        late = [tool for item in items if item["type"] == "additional_tools" for tool in item["tools"]]
        tools = frozenset(str(tool.get("name", tool["type"])) for tool in [*body.get("tools", ()), *late])
        return Conversation("\n".join(texts), tools, results)

    def write(self, path: str, body: dict[str, Any], step: ToolCall | str, number: int) -> Reply:
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        item = _message(step, number) if isinstance(step, str) else _function_call(step, number)
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {
                "type": "response.completed",
                "response": {**response, "status": "completed", "output": [item], "usage": USAGE},
            },
        ]
        return write_events(events, named=True)

    def write_other(self, path: str, body: dict[str, Any]) -> Reply:
        return Reply(b"{}", "application/json")


def _message(text: str, number: int) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}


def _function_call(step: ToolCall, number: int) -> dict[str, Any]:
    """A call with JSON arguments, or with free text if `input` is all there is. `a.b` is b of a."""
    namespace, _, name = step.tool.rpartition(".")
    call = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
    if namespace:
        call["namespace"] = namespace
    if set(step.arguments) == {"input"}:
        return {"type": "custom_tool_call", **call, "input": step.arguments["input"]}
    return {"type": "function_call", **call, "arguments": json.dumps(dict(step.arguments))}
