"""Which services run on this machine for this user: each says so in a file that it holds locked meanwhile.

The files lie in the operator's data folder, which no agent may write to. A file that nobody holds is what is
left of a service that died, and counts for nothing.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from sayso.gate.decoding import decode_json

try:
    import fcntl
except ImportError:  # a system without such locks: there nobody is told where the service is
    fcntl = None  # type: ignore[assignment]

FOLDER = "services"
MOST_BYTES = 10_000
PATIENCE = 30.0
"""How many seconds a service that is told to stop may take to finish what is under way."""
LOOK_AGAIN = 0.05


class AnnouncedService(msgspec.Struct, frozen=True):
    """A running service: where its page is, the store it serves, and the folder of that store's key."""

    page: str
    name: str
    """The name of the store, which is written in the store."""
    data: str
    path: str | None = None
    """The store's file, if it is one."""
    socket: str | None = None
    """Its Unix socket, where the system has them."""
    process: int = 0
    """The id of its process."""
    since: float = 0.0


@contextmanager
def announce_service(served: AnnouncedService, folder: Path) -> Iterator[None]:
    """Say that this service runs, for as long as this lasts."""
    if fcntl is None:
        yield
        return
    place = folder / FOLDER
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = place / f"{os.getpid()}.json"
    with os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        opened.write(msgspec.json.encode(served))
        opened.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                file.unlink()


def await_announcement(socket: Path, folder: Path, patience: float = PATIENCE) -> AnnouncedService | None:
    """Return the service on this socket once it is announced, which it is soon after it listens."""
    until = time.monotonic() + patience
    while True:
        found = next((one for one in list_running_services(folder) if one.socket == str(socket)), None)
        if found is not None or time.monotonic() >= until:
            return found
        time.sleep(LOOK_AGAIN)


def stop_service(served: AnnouncedService, folder: Path, patience: float = PATIENCE) -> bool:
    """Tell a service to end, and wait until it has; return whether it did.

    Only a service that holds its file is told: the id of one that died may be another program's by now.
    """
    if served not in list_running_services(folder):
        return False
    os.kill(served.process, signal.SIGTERM)
    until = time.monotonic() + patience
    while served in list_running_services(folder):
        if time.monotonic() >= until:
            return False
        time.sleep(LOOK_AGAIN)
    return True


def list_running_services(folder: Path) -> list[AnnouncedService]:
    """The services that run now, and were announced in this folder."""
    if fcntl is None:
        return []
    files = sorted((folder / FOLDER).glob("*.json")) if (folder / FOLDER).is_dir() else []
    found = (_read_if_running(file) for file in files)
    return [one for one in found if one is not None]


def _read_if_running(file: Path) -> AnnouncedService | None:
    """Return what a file says if a process holds it; a file that nobody holds is removed."""
    try:
        with file.open("rb") as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return decode_json(opened.read(MOST_BYTES), AnnouncedService)
            file.unlink()
    except (OSError, msgspec.MsgspecError):
        return None
    return None
