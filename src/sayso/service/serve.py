"""Running the service: its sockets, its housekeeping, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import gc
import logging
import os
import signal
import socket
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette

from sayso.core.durations import HOUR, MINUTE
from sayso.core.errors import SaysoError
from sayso.gate.audit.operator_transaction import sign_in_turn, sign_off
from sayso.gate.audit.streams import claim_stream
from sayso.gate.decoding import prepare_loaded_types
from sayso.gate.deliveries.dispatch import Dispatcher, forget_deliveries
from sayso.gate.deliveries.remote_surface import RemoteSurface
from sayso.gate.gate import Gate, current_gate
from sayso.gate.ledger.recovery import forget_results, recover_calls
from sayso.gate.ledger.workflows import reconcile_runs
from sayso.gate.proposals.carry_out import carry_on_here
from sayso.gate.questions.expiry import expire_questions
from sayso.gate.rows.webauthn import host_of
from sayso.gate.trusted.receive import RefusalLog, record_missed
from sayso.gate.upkeep.decay_notices import give_decay_notices
from sayso.gate.upkeep.faults import try_to_write
from sayso.reading.paths.own_places import guard_socket
from sayso.reading.urls import LOOPBACK
from sayso.service.app import make_app
from sayso.service.http.connections import LARGEST_HEAD, Strangers, protocol_for
from sayso.service.http.state import ServiceSettings, ServiceState
from sayso.service.logs import AccessLog
from sayso.service.pages import page_routes
from sayso.service.provider_pages import provider_routes
from sayso.service.providers.provider import make_providers
from sayso.service.providers.settings_file import ProviderSettings
from sayso.surfaces.remote.browser import CONTACT, browser_surfaces
from sayso.wire import SOCKET_HOST, HookDialect

log = logging.getLogger("sayso.service")
PORT = 7333
GRACE = 5
BACKLOG = 2_048
AT_ONCE = 256
"""How many connections are taken in before those that are there are heard."""
MOST_FILES = 8_192
CHORE_THREADS = 2
"""Threads for what the service does by itself: each keeps memory of its own, however seldom it is needed."""
COLLECT_AFTER = 20_000
"""How many more objects there are than before when garbage is looked for."""


Chore = tuple[float, Callable[[Gate], object]]
"""What is done again and again, after so many seconds."""


class CannotListen(SaysoError):
    """The address is taken, or may not be used."""

    code = "cannot_listen"


class Address(msgspec.Struct, frozen=True):
    """The address of the service: a host and port, and a Unix socket where the system has them."""

    host: str = "127.0.0.1"
    port: int = PORT
    path: Path | None = None
    origin: str | None = None
    """Where browsers find the page, if that is elsewhere: behind a proxy that speaks TLS."""
    open_socket: bool = False
    """Whether other users of this machine may connect to the socket. They need a token all the same."""
    any_port: bool = False
    """Whether another port serves as well if this one is taken."""

    @property
    def page(self) -> str:
        """Return where people open the page. Passkeys need a name, so on this machine it is localhost."""
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


def serve_gate(
    gate: Gate,
    address: Address,
    *,
    settings: ServiceSettings | None = None,
    agents: Mapping[str, HookDialect] | None = None,
    surfaces: Sequence[RemoteSurface] = (),
    providers: Sequence[ProviderSettings] = (),
    started: Callable[[Address], object] = lambda address: None,
) -> None:
    """Serve until told to stop. Callers that wait are let go with an answer they can come back after."""
    wanted = fit_to_file_limit(settings or ServiceSettings(), _allow_many_files())
    strangers = Strangers(wanted.strangers, wanted.stranger_stays)
    with contextlib.ExitStack() as held:
        sockets = open_sockets(address, held)
        gate = claim_stream(gate)
        known = {one.name: one.identity_provider for one in providers}
        gate = msgspec.structs.replace(gate, providers=known)
        if gate.live is not None:
            gate.live.follow(gate)
        held.callback(sign_off, gate)
        real = msgspec.structs.replace(address, port=sockets[0].getsockname()[1])
        wanted = msgspec.structs.replace(wanted, origins=real.origins)
        pages = [*page_routes(gate), *provider_routes(gate, make_providers(providers), real.origins)]
        app = make_app(gate, hosts=real.names, pages=pages, settings=wanted, agents=agents, remote=surfaces)
        refused = app.state.running.refused_messages
        held.callback(record_missed, gate, refused)
        prepare_loaded_types()  # before there are threads
        held.enter_context(_dispatching(gate, surfaces, real))
        app.router.lifespan_context = _lifespan(gate, strangers, refused, lambda: started(real))
        _spare_collections()
        _Server(_config(app, strangers), app.state.running).run(sockets=list(sockets))


@contextlib.contextmanager
def _dispatching(gate: Gate, surfaces: Sequence[RemoteSurface], address: Address) -> Iterator[None]:
    """Send questions and notices to the surfaces, for as long as this lasts."""
    dispatcher = Dispatcher(
        gate,
        surfaces,
        notices_to=lambda: current_gate(gate).notices_to,
        link=lambda question: f"{address.page}/#/question/{question}",
        joining=partial(browser_surfaces, gate, _contact(address)),
    )
    dispatcher.start()
    try:
        yield
    finally:
        dispatcher.stop()


def _contact(address: Address) -> str:
    """Return how the operators of push services reach us, if they ever want to."""
    return address.page if address.page.startswith("https://") else CONTACT


def _spare_collections() -> None:
    """Look less often for garbage that only a search finds, and not among what lives as long as the service.

    A call makes next to none of it, and each search stops every caller.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)


def _config(app: Starlette, strangers: Strangers) -> uvicorn.Config:
    return uvicorn.Config(
        AccessLog(app),
        http=protocol_for(strangers),
        ws="none",
        backlog=AT_ONCE,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )


class _Server(uvicorn.Server):
    """Ends cleanly when it is told to: first whoever waits is let go, then what is under way is finished."""

    def __init__(self, config: uvicorn.Config, running: ServiceState) -> None:
        super().__init__(config)
        self._running = running

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._running.let_go()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal ends the service, and not also the program: there is something left to sign."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def open_sockets(address: Address, held: contextlib.ExitStack) -> Sequence[socket.socket]:
    """The sockets, bound and listening: TCP first, then the Unix socket, its owner's unless it is shared.

    The Unix socket is claimed before anything else: of several that start at once, one alone takes the port.
    """
    if address.path is not None:
        _claim_socket(address.path, held, shared=address.open_socket)
    tcp = _open_port(address, held)
    if address.path is None:
        return [tcp]
    return [tcp, _open_unix_socket(address.path, held, shared=address.open_socket)]


def _open_port(address: Address, held: contextlib.ExitStack) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named: only then does asyncio send every answer at once, and not 40 ms later.
    tcp = held.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((address.host, address.port))
        tcp.listen(BACKLOG)
    except OSError as error:
        if address.any_port and error.errno == errno.EADDRINUSE:
            return _open_port(msgspec.structs.replace(address, port=0, any_port=False), held)
        raise CannotListen(
            f"cannot listen on {address.url}: {error.strerror}",
            hint="another service may run there already; choose a port with --port",
        ) from error
    return tcp


def _claim_socket(path: Path, held: contextlib.ExitStack, *, shared: bool) -> None:
    """Make sure that the socket's folder is fit for it and no other service has it."""
    guard_socket(path)
    path.parent.mkdir(mode=0o755 if shared else 0o700, parents=True, exist_ok=True)
    _check_folder(path.parent)
    _lock(path, held)
    _remove_stale_socket(path)


def _open_unix_socket(path: Path, held: contextlib.ExitStack, *, shared: bool) -> socket.socket:
    unix = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    before = os.umask(0o111 if shared else 0o177)
    try:
        unix.bind(str(path))
        unix.listen(BACKLOG)
    except OSError as error:
        raise CannotListen(f"cannot make the socket {path}: {error.strerror or error}") from error
    finally:
        os.umask(before)
    held.callback(path.unlink, missing_ok=True)
    return unix


def fit_to_file_limit(settings: ServiceSettings, files: int) -> ServiceSettings:
    """The settings, so that strangers and those who wait leave room for operators and the store."""
    return msgspec.structs.replace(
        settings,
        strangers=max(1, min(settings.strangers, files // 4)),
        all_waits=max(1, min(settings.all_waits, files // 2)),
    )


def _allow_many_files() -> int:
    """Everybody who waits holds a connection, and a connection is a file: how many the system grants."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_FILES
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def _check_folder(folder: Path) -> None:
    """Refuse a folder in which somebody else could put a socket of their own in the place of ours."""
    found = folder.stat()
    shared = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    if shared or found.st_uid not in (0, os.getuid()):
        raise CannotListen(f"others can write to {folder}", hint="choose another place with --socket")


def _lock(path: Path, held: contextlib.ExitStack) -> None:
    """One service a socket, from before it is made until after it is gone: so none takes another's away."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    held.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise _socket_taken_error(path) from None


def _remove_stale_socket(path: Path) -> None:
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
    raise _socket_taken_error(path)


def _socket_taken_error(path: Path) -> CannotListen:
    return CannotListen(
        f"a service runs on {path} already",
        hint="`sayso serve --stop` stops your own; --socket FILE names another socket",
    )


def _lifespan(
    gate: Gate, strangers: Strangers, refused: RefusalLog, started: Callable[[], object]
) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        threads = ThreadPoolExecutor(CHORE_THREADS, "sayso-chores")
        jobs: tuple[Chore, ...] = (*CHORES, (MINUTE, partial(record_missed, log=refused)))
        chores = [asyncio.create_task(_repeat(seconds, job, gate, threads)) for seconds, job in jobs]
        chores.append(asyncio.create_task(strangers.keep_sweeping()))
        started()
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            await asyncio.to_thread(threads.shutdown)

    return lifespan


async def _repeat(seconds: float, job: Callable[[Gate], object], gate: Gate, threads: Executor) -> None:
    """A chore, again and again; one that fails is told and tried again."""
    here = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(seconds)
        try:
            gate = await here.run_in_executor(threads, current_gate, gate)  # which looks at its file, too
            await here.run_in_executor(threads, job, gate)
        except SaysoError as error:
            log.warning("%s failed: %s", _name(job), error)
        except Exception:
            log.exception("%s failed", _name(job))


def _name(job: Callable[[Gate], object]) -> str:
    return (job.func if isinstance(job, partial) else job).__name__


CHORES: tuple[Chore, ...] = (
    (1.0, sign_in_turn),
    (5.0, try_to_write),
    (5.0, expire_questions),
    (10.0, recover_calls),
    (30.0, reconcile_runs),
    (60.0, carry_on_here),
    (60.0, give_decay_notices),
    (HOUR, forget_results),
    (HOUR, forget_deliveries),
)
"""What the service does by itself: sign the trail when there is news, and tidy up what time has ended."""
