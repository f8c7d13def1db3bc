"""A small MCP server on stdin and stdout. Its one tool writes a file: `python mcp_server.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOL = {
    "name": "touch",
    "description": "Write a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def answer(request: dict[str, Any]) -> Any:
    params = request.get("params") or {}
    if request["method"] == "initialize":
        about = {"serverInfo": {"name": "files", "version": "1"}, "capabilities": {"tools": {}}}
        return {"protocolVersion": params["protocolVersion"], **about}
    if request["method"] == "tools/list":
        return {"tools": [TOOL]}
    if request["method"] == "tools/call":
        Path(params["arguments"]["path"]).write_text("made\n", encoding="utf-8")
        return {"content": [{"type": "text", "text": "written"}]}
    return {}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            told = {"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}
            sys.stdout.write(f"{json.dumps(told)}\n")
            sys.stdout.flush()
