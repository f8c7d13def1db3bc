"""Is a server really behind the gateway? Its command is started, and asked for what must be blocked.

The call would write Sayso's own policy, by a tool that no server has. Only the service's own word for this
very call proves that it was decided.
"""

from __future__ import annotations

import json
import subprocess
import threading
from tempfile import TemporaryFile
from typing import IO

from sayso.doors.agents.doctor.canary import PATIENCE, Diagnosis, make_session_name
from sayso.doors.agents.mcp_servers.addresses import AddressServer
from sayso.doors.agents.mcp_servers.found import StdioServer
from sayso.doors.agents.mcp_servers.gating import read_servers
from sayso.doors.agents.mcp_servers.places import ServerFile
from sayso.doors.agents.mcp_servers.words import is_wrapped, wrap_words
from sayso.gate.settings import gate_config_folder
from sayso.wire import canary_word

LONGEST_END = 200


def examine_server(file: ServerFile, server: StdioServer | AddressServer) -> Diagnosis:
    """Return whether this server is gated."""
    about = f"{server.name} in {file.path}"
    if not is_wrapped(server.words):
        return Diagnosis(about, good=False, text="not gated: its tools run unasked; sayso install mcp")
    called = read_servers(file).called.get(server.name, server.name)
    if server.words != wrap_words(called, server.words):
        text = "behind a gateway of another installation or name: sayso install mcp"
        return Diagnosis(about, good=False, text=text)
    return _try_canary(about, server.words)


def _try_canary(about: str, words: tuple[str, ...]) -> Diagnosis:
    session = make_session_name()
    said = _call(words, session)
    if canary_word(session) in said:
        return Diagnosis(about, good=True, text="the gateway blocked a call that must be blocked, as decided")
    shown = " ".join(said.split())[:200] or "no answer"
    return Diagnosis(about, good=False, text=f"the canary was not blocked by a decision: {shown}")


def _call(words: tuple[str, ...], tool: str) -> str:
    """Return what is answered to the call; the server is started for that, and told nothing."""
    arguments = {"path": str(gate_config_folder() / "policy.yaml"), "content": ""}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    try:
        with (
            TemporaryFile() as errors,
            subprocess.Popen(  # noqa: S603  the registered command, as its client runs it
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            ) as gateway,
        ):
            late = threading.Timer(PATIENCE, gateway.kill)
            late.start()
            try:
                said = _exchange(gateway, json.dumps(call).encode() + b"\n")
                return said or _read_end(errors)
            finally:
                late.cancel()
    except OSError as error:
        return f"{words[0]}: {error.strerror}"


def _read_end(errors: IO[bytes]) -> str:
    """Return the last of what was said on stderr."""
    errors.seek(0)
    return errors.read()[-LONGEST_END:].decode("utf-8", "replace").strip()


def _exchange(gateway: subprocess.Popen[bytes], line: bytes) -> str:
    """Send the line and return the answer to it, past whatever the server says by itself."""
    if gateway.stdin is None or gateway.stdout is None:
        return ""
    gateway.stdin.write(line)
    gateway.stdin.flush()
    for answer in gateway.stdout:
        if b'"id":1' in answer:
            gateway.stdin.close()
            return answer.decode("utf-8", "replace")
    return ""
