"""A gateway as a process, a server that writes down what reaches it, and a scripted service in between."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from sayso.doors.agents.settings.registration import HookSettings, write_settings_text
from tests.support.repository import ROOT

PATIENCE = 180.0
RECORDER = Path(__file__).with_name("recording_server.py")
Decide = Callable[[str, dict[str, Any]], bytes | None]
"""What the service answers to an event; nothing at all for None."""


def hook_answer(code: int, out: str = "", err: str = "") -> bytes:
    body = f"sayso-hook {code} {len(out)} {len(err)}\n{out}{err}".encode()
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def allow(event: str, payload: dict[str, Any]) -> bytes:
    return hook_answer(0, f"allow {payload['id']}" if event == "call" else "")


def deny(event: str, payload: dict[str, Any]) -> bytes:
    return hook_answer(2, err="you may not")


def stay_silent(event: str, payload: dict[str, Any]) -> None:
    return None


class ScriptedService:
    """Listens where the service would, and decides as it is told. What it heard is kept."""

    def __init__(self, path: Path, decide: Decide) -> None:
        self.decide = decide
        self.heard: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.answered: queue.Queue[str] = queue.Queue()
        self._lines: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, serve: Callable[..., None], *given: socket.socket) -> None:
        thread = threading.Thread(target=serve, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_until_answered(self, event: str) -> None:
        """Wait for the next event of this kind that is answered."""
        while self.answered.get(timeout=PATIENCE) != event:
            pass

    def next(self, event: str) -> dict[str, Any]:
        """Return the next event of this kind that is heard."""
        while True:
            name, payload = self.heard.get(timeout=PATIENCE)
            if name == event:
                return payload

    def _accept(self) -> None:
        with suppress(OSError), self._listener:
            while True:
                line, _ = self._listener.accept()
                self._lines.append(line)
                self._begin(self._serve, line)

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError, ValueError, IndexError), line.makefile("rb") as reader:
            while head := reader.readline():
                size = 0
                while (header := reader.readline().strip()) != b"":
                    if header.lower().startswith(b"content-length:"):
                        size = int(header.split(b":")[1])
                event = head.split()[1].decode().partition("?")[0].rpartition("/")[2]
                payload = json.loads(reader.read(size))
                self.heard.put((event, payload))
                answer = self.decide(event, payload)
                if answer is not None:
                    line.sendall(answer)
                    self.answered.put(event)


class Client:
    """Whoever has started the gateway: sends lines, and reads what comes back."""

    def __init__(self, process: subprocess.Popen[bytes], record: Path) -> None:
        self.process, self.record = process, record
        self._lines: queue.Queue[bytes] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, *lines: bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for line in lines:
            raw = json.dumps(line).encode() if isinstance(line, dict) else line
            self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message."""
        line = self.read_line()
        assert line, "the gateway has ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def read_line(self) -> bytes:
        return self._lines.get(timeout=PATIENCE)

    def read_answer(self, known: object) -> dict[str, Any]:
        """Return the next answer to this request."""
        while True:
            found = self.read()
            if "method" not in found and found.get("id") == known:
                return found

    def leave(self) -> int:
        """Close the line, and return how the gateway ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    @property
    def reached(self) -> list[str]:
        """The lines that have reached the server."""
        return self.record.read_text(encoding="utf-8").splitlines() if self.record.exists() else []

    def settle(self) -> None:
        """Wait until the server has read everything that was sent before."""
        self.send(request(999_999, "ping"))
        self.read_answer(999_999)


def request(id_: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def tool_call(id_: object, tool: str = "touch", **more: Any) -> dict[str, Any]:
    return request(id_, "tools/call", name=tool, arguments={"path": "a"}, **more)


def is_denied(answer: dict[str, Any]) -> bool:
    return bool(answer.get("error")) or answer["result"]["isError"] is True


class GatewayPlace:
    """A folder with the gateway's file and socket."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.socket, self.record = folder, folder / "s.sock", folder / "record"
        self.file = folder / "config" / "sayso" / "hooks" / "mcp"
        self.file.parent.mkdir(mode=0o700, parents=True)
        self.write_file()

    def write_file(self, wait: int = 60, uid: int | None = None, start: str | None = None) -> None:
        user = os.getuid() if uid is None else uid
        settings = HookSettings(self.socket, user, "sayso_agent_x", wait, start, {})
        self.file.write_text(write_settings_text((), settings))

    @contextmanager
    def serving(self, decide: Decide) -> Iterator[ScriptedService]:
        service = ScriptedService(self.socket, decide)
        try:
            yield service
        finally:
            service.close()
            self.socket.unlink()

    def gateway(self, quirk: str = "", *words: str) -> AbstractContextManager[Client]:
        """Start a gateway in front of the server that writes down what reaches it, or of another."""
        server = words or (sys.executable, str(RECORDER), str(self.record), quirk)
        return self._started("--", *server)

    def gateway_to(self, url: str) -> AbstractContextManager[Client]:
        """Start a gateway in front of a server at an address."""
        return self._started("--url", url)

    @contextmanager
    def _started(self, *server: str) -> Iterator[Client]:
        command = [sys.executable, "-P", "-m", "sayso", "mcp", "wrap", "--name", "files", *server]
        names = {"XDG_CONFIG_HOME": str(self.folder / "config"), "PYTHONPATH": str(ROOT / "src")}
        with subprocess.Popen(
            command, cwd=self.folder, env=os.environ | names, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            client = Client(process, self.record)
            try:
                yield client
            finally:
                process.kill()
                client.reader.join(PATIENCE)
