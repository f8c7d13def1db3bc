"""Running the service: its sockets, its housekeeping, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette

from sayso.core.errors import SaysoError
from sayso.doors.python.door import Door
from sayso.gate.acts import sign_off
from sayso.gate.expiry import expire_questions
from sayso.gate.gate import Gate
from sayso.gate.proofs import host_of
from sayso.gate.recovery import forget_results, recover_calls
from sayso.gate.workflows import reconcile
from sayso.service.app import make_app
from sayso.service.pages import pages
from sayso.service.running import Settings
from sayso.surfaces.inbox import Inbox

log = logging.getLogger("sayso.service")
PORT = 7333
SOCKET_HOST = "sayso"
"""What clients call the service by over its Unix socket."""
GRACE = 5
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class CannotListen(SaysoError):
    """The address is taken, or may not be used."""

    code = "cannot_listen"


class Address(msgspec.Struct, frozen=True):
    """Where the service is reached: a host and port, and a Unix socket where the system has them."""

    host: str = "127.0.0.1"
    port: int = PORT
    path: Path | None = None
    origin: str | None = None
    """Where browsers find the page, if that is elsewhere: behind a proxy that speaks TLS."""

    @property
    def page(self) -> str:
        """Where people open the page. Passkeys need a name, so on this machine it is localhost."""
        return self.origin or (f"http://localhost:{self.port}" if self.host in LOOPBACK else self.url)

    @property
    def origins(self) -> tuple[str, ...]:
        """The pages on which browsers keep and use passkeys for us."""
        local = (f"http://localhost:{self.port}",) if self.host in LOOPBACK else ()
        return tuple(one for one in dict.fromkeys((self.page, *local)) if host_of(one) is not None)

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names the service answers to; a request for any other was led here by somebody else."""
        hosts = {self.host, *(LOOPBACK if self.host in LOOPBACK else ())}
        written = [f"[{host}]" if ":" in host else host for host in hosts]
        behind = () if self.origin is None else (self.origin.partition("://")[2],)
        return (*(f"{host}:{self.port}" for host in written), *behind, SOCKET_HOST)


def serve(
    gate: Gate, address: Address, *, started: Callable[[Address], object] = lambda address: None
) -> None:
    """Serve until told to stop. Callers that wait are let go with an answer they can come back after."""
    door = Door(gate, [Inbox()])
    sockets = listen(address)
    real = msgspec.structs.replace(address, port=sockets[0].getsockname()[1])
    settings = Settings(origins=real.origins)
    app = make_app(door, hosts=real.names, pages=pages(door), settings=settings)
    app.router.lifespan_context = _lifespan(gate, lambda: started(real))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=4_000,
    )
    try:
        uvicorn.Server(config).run(sockets=list(sockets))
    finally:
        for one in sockets:
            one.close()
        if address.path is not None:
            with contextlib.suppress(FileNotFoundError):
                address.path.unlink()
        sign_off(gate)


def listen(address: Address) -> Sequence[socket.socket]:
    """The sockets, bound and ready: TCP first, then the Unix socket, which only its owner can open."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    tcp = socket.socket(family, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((address.host, address.port))
    except OSError as error:
        tcp.close()
        raise CannotListen(
            f"cannot listen on {address.url}: {error.strerror}",
            hint="another service may run there already; choose a port with --port",
        ) from error
    return [tcp] if address.path is None else [tcp, _unix(address.path)]


def _unix(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _clear(path)
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        unix.bind(str(path))
    except OSError as error:
        unix.close()
        raise CannotListen(f"cannot make the socket {path}: {error.strerror}") from error
    finally:
        os.umask(before)
    return unix


def _clear(path: Path) -> None:
    """Take away a socket that nobody listens on any more; refuse one that somebody does, or another file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise CannotListen(f"{path} is not a socket", hint="move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink()
            return
    raise CannotListen(f"a service runs on {path} already", hint="stop it first, or choose another socket")


def _lifespan(
    gate: Gate, started: Callable[[], object]
) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        chores = [asyncio.create_task(_every(seconds, job, gate)) for seconds, job in CHORES]
        started()
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)

    return lifespan


async def _every(seconds: float, job: Callable[[Gate], object], gate: Gate) -> None:
    """A chore, again and again; one that fails is told and tried again."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await asyncio.to_thread(job, gate)
        except SaysoError as error:
            log.warning("%s failed: %s", job.__name__, error)
        except Exception:
            log.exception("%s failed", job.__name__)


CHORES: tuple[tuple[float, Callable[[Gate], object]], ...] = (
    (1.0, sign_off),
    (5.0, expire_questions),
    (10.0, recover_calls),
    (30.0, reconcile),
    (3_600.0, forget_results),
)
"""What the service does by itself: sign the trail when there is news, and tidy up what time has ended."""
