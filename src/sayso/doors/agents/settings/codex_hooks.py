"""Ask Codex itself which hooks it would run here: only it knows whether it trusts them as they are now.

Codex trusts a hook by its content, skips the others without a word, and runs none where a project's own file
says so. `codex app-server` lists what it found, one JSON message a line; it ends when its input does.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE = 30
WANTED = 2
REQUESTS = (
    {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "sayso", "version": "1"}}},
    {"method": "initialized"},
)


def is_trusted(program: str, folder: Path, hooks: Path) -> bool | None:
    """Return whether Codex runs the hook of this file before tools in this folder; None if it cannot tell."""
    found = list_hooks(program, folder)
    if found is None:
        return None
    return any(
        one.get("eventName") == "preToolUse"
        and one.get("sourcePath") == str(hooks)
        and one.get("enabled") is True
        and one.get("trustStatus") in ("trusted", "managed")
        and "/hook.py" in str(one.get("command"))
        for one in found
    )


def list_hooks(program: str, folder: Path) -> list[dict[str, Any]] | None:
    """Return the hooks that Codex finds in this folder; None without an answer."""
    asked = [*REQUESTS, {"id": WANTED, "method": "hooks/list", "params": {"cwds": [str(folder)]}}]
    try:
        server = subprocess.Popen(  # noqa: S603  the user's own agent, asked for its hooks
            [program, "app-server"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return None
    with server:
        late = threading.Timer(PATIENCE, server.kill)
        late.start()
        try:
            return _exchange(server, b"".join(json.dumps(one).encode() + b"\n" for one in asked))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        finally:
            late.cancel()
            server.kill()


def _exchange(server: subprocess.Popen[bytes], asked: bytes) -> list[dict[str, Any]] | None:
    if server.stdin is None or server.stdout is None:
        return None
    server.stdin.write(asked)
    server.stdin.flush()
    for answer in _read_messages(server.stdout):
        if answer.get("id") == WANTED:
            found: list[dict[str, Any]] = answer["result"]["data"][0]["hooks"]
            return [one for one in found if isinstance(one, dict)]
    return None


def _read_messages(lines: Any) -> Iterator[dict[str, Any]]:
    for line in lines:
        message = json.loads(line)
        if isinstance(message, dict):
            yield message
