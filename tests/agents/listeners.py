"""What may listen on the hook's socket instead of the service: each answers in its own way, or not at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
ALLOW = b"sayso-hook 0 20 0\n" + b'{"decision":"allow"}'
Behaviour = Callable[[socket.socket], None]


@contextmanager
def listening(path: Path, behave: Behaviour) -> Iterator[list[bytes]]:
    """Somebody listens at this path, and behaves so with every caller; what they were sent is kept."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(8)
        thread = threading.Thread(target=_serve, args=(listener, behave, heard), daemon=True)
        thread.start()
        try:
            yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def _serve(listener: socket.socket, behave: Behaviour, heard: list[bytes]) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line, suppress(OSError):  # the hook may be gone before it is answered
            heard.append(line.recv(65536))
            behave(line)


def answering(raw: bytes) -> Behaviour:
    """Say this, and hang up."""
    return lambda line: line.sendall(raw)


def never_answering(line: socket.socket) -> None:
    """Say nothing until the other end is gone."""
    while line.recv(65536):
        pass


def hanging_up(line: socket.socket) -> None:
    """Say nothing, and go."""
