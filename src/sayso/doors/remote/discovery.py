"""Finding the service: at the address given, or at this user's own socket, where it is started if missing.

Only a service under the same user is started. Where it was installed under a user of its own, clients check
that it is that user who listens, and never start another.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from sayso.core.errors import SaysoError
from sayso.doors.remote.exchange import NotReached
from sayso.doors.remote.line import ServiceAddress, Unreachable
from sayso.gate.settings import service_user, socket_path

PATIENCE = 20.0
LOOK_AGAIN = 0.05
URLS = ("http://", "https://")
_LIKE_AN_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}(/.*)?")
"""A host and a port without a scheme. It is never the path of a socket that somebody meant."""


class WrongService(SaysoError):
    """Somebody else listens where the service should. Nothing was sent to them."""

    code = "wrong_service"


class NoAddress(SaysoError):
    """The given address of a service is not one."""

    code = "no_address"


def find_service(where: str | Path | None, *, start: bool) -> ServiceAddress:
    """A URL as text, or the path of a socket; without either, the socket of this user's own service."""
    if isinstance(where, str) and where.startswith(URLS):
        return ServiceAddress(_url(where), lambda: None)
    if isinstance(where, str) and (_LIKE_AN_ADDRESS.fullmatch(where) or "://" in where):
        bare = where.rpartition("://")[2]
        right = bare if bare.startswith("/") else f"http://{bare}"
        raise NoAddress(f"{where!r} is not the URL of a service", hint=f"write {right}")
    path = socket_path() if where is None else Path(where)
    if path is None:
        raise Unreachable("this system has no Unix sockets", hint="give the URL of the service")
    return ServiceAddress(path, lambda: _check_listener(path, start and where is None))


def expects_service() -> bool:
    """Return whether calls of this user are a service's to decide: one listens, or another user has it."""
    path, user = socket_path(), service_user()
    if user is not None and user != os.getuid():
        return True
    return path is not None and _listener(path) is not None


def _url(where: str) -> str:
    try:
        parts = urlsplit(where)
        known = bool(parts.hostname) and parts.port != 0 and not parts.query and not parts.fragment
    except ValueError:
        known = False
    if not known:
        raise NoAddress(f"{where!r} is not a URL", hint="it looks like http://127.0.0.1:7333")
    return where.rstrip("/")


def _check_listener(path: Path, start: bool) -> None:
    expected = service_user()
    own = expected is None or expected == os.getuid()
    listener = _listener(path)
    if listener is None and start and own:
        start_service(path)
        listener = _listener(path)
    if listener is None:
        raise NotReached(f"nobody listens on {path}")
    if listener != (os.getuid() if own else expected):
        raise WrongService(
            f"user {listener} listens on {path}, not the service's user",
            hint="see who made that socket; `service_uid` in settings.json says who may",
        )


def start_service(path: Path, options: Sequence[str] = (), patience: float = PATIENCE) -> None:
    """Start `sayso serve` on this socket, in the background, and wait until it listens.

    It outlives this program. Of several that start one at once, one service stays: the others find the socket
    taken and end.
    """
    command = [sys.executable, "-P", "-m", "sayso", "serve", *options, "--socket", str(path)]
    process = subprocess.Popen(  # noqa: S603  our own program, with arguments of our own
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, daemon=True).start()  # should it end before this program does
    until = time.monotonic() + patience
    while _listener(path) is None:
        if process.poll() not in (None, 0) and _listener(path) is None:
            raise Unreachable("the service could not be started", hint="see why with `sayso serve`")
        if time.monotonic() >= until:
            raise Unreachable(f"the service did not start within {patience:.0f} s", hint="run `sayso serve`")
        time.sleep(LOOK_AGAIN)


def _listener(path: Path) -> int | None:
    """The user whose process listens on this socket; None if nobody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return None
        return _peer(probe)


def _peer(connected: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[1])
    found = connected.getsockopt(0, 1, 76)  # macOS: LOCAL_PEERCRED, a struct xucred: version, user, groups
    return int(struct.unpack_from("=2I", found)[1])
