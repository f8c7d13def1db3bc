"""`python -m sayso`, and programs of the tests, as processes of their own that have our modules loaded.

Loading them takes longer than most of what those processes do. So a server, one for each process that runs
tests, loads them once, and is told by a start what to run: words, environment, folder, streams, session. It
forks a process for that, which becomes a child of whoever started it, is signalled and waited for as any
other, and ends as Python does. With SAYSO_ALL, and in tests that are marked `cold`, every process is started
from nothing instead, as people start it: what a program loads, and when, is tested with such starts only.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import pkgutil
import runpy
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from subprocess import DEVNULL, Popen
from types import ModuleType
from typing import Any

import msgspec

from tests.support.repository import ROOT

LOADED = (
    *("core", "reading", "policy", "store", "gate", "surfaces", "service", "cli"),
    *("doors.mcp", "doors.remote", "doors.python", "doors.agents"),
)
OTHERS = ("mcp", "mcp.server.streamable_http_manager", "uvicorn", "uvloop", "httptools", "psycopg_pool")
ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER: a process whose parent has ended becomes a child of ours."""
_NUMBER = struct.Struct("I")
_one_at_a_time = threading.Lock()


class Start(msgspec.Struct, frozen=True):
    """What is asked of the server. The streams come beside it.

    `how` is `-m` for a module and `-c` for a text, as Python calls them; the words are what comes after it.
    """

    how: str
    what: str
    words: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    path: Sequence[str]
    """The folders in which modules are looked for first."""
    new_session: bool


class WarmProcess(Popen[Any]):
    """A process; if it is Python with a module of ours or a text, one that has our modules loaded."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *more: Any) -> None:
        warm = sys.platform == "linux" and "SAYSO_ALL" not in os.environ
        _, _, cwd, env, *_ = more
        start = _find_start(args, cwd, env, new_session=bool(more[18]))
        if start is None or preexec_fn or executable or not warm:
            super()._execute_child(args, executable, preexec_fn, *more)  # type: ignore[misc]
            return
        pipes = more[7:13]
        streams = [pipes[0], pipes[3], pipes[5]]
        self.pid = _start(start, [own if one == -1 else one for own, one in enumerate(streams)])
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _find_start(args: Any, cwd: Any, env: Any, *, new_session: bool) -> Start | None:
    """What these arguments start; None if it is another program."""
    if isinstance(args, (str, bytes, os.PathLike)):
        return None
    python, *words = map(os.fsdecode, args)
    safe = words[:1] == ["-P"]
    how, what, *rest = [*words[safe:], "", ""]
    ours = how == "-c" or (how == "-m" and what.partition(".")[0] in ("sayso", "tests"))
    if python != sys.executable or not ours:
        return None
    given = dict(os.environ if env is None else env)
    folder = os.path.abspath(cwd or ".")  # noqa: PTH100  no Path: links are not followed
    path = [*([] if safe else [folder]), *filter(None, given.get("PYTHONPATH", "").split(os.pathsep))]
    return Start(how, what, rest[:-2], given, folder, path, new_session)


def _start(start: Start, streams: Sequence[int]) -> int:
    """The number of a new process, which is a child of this one."""
    told = msgspec.json.encode(start)
    with _one_at_a_time, _adopting():
        server = _server()
        socket.send_fds(server, [_NUMBER.pack(len(told))], streams)
        server.sendall(told)
        return int(_NUMBER.unpack(_receive(server, _NUMBER.size))[0])


@contextmanager
def _adopting() -> Any:
    """Meanwhile orphans below this process become its children."""
    control = ctypes.CDLL(None, use_errno=True).prctl
    assert control(ADOPT_ORPHANS, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        control(ADOPT_ORPHANS, 0, 0, 0, 0)


@cache
def _server() -> socket.socket:
    ours, its = socket.socketpair()
    command = [sys.executable, "-m", "tests.support.warm_starts", str(its.fileno())]
    process = Popen(command, cwd=ROOT, pass_fds=[its.fileno()], stdin=DEVNULL)
    its.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _receive(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def _serve(connection: socket.socket) -> None:
    """Fork a process for each start, until nobody asks any more."""
    while True:
        length, streams, *_ = socket.recv_fds(connection, _NUMBER.size, 3)
        if not length:
            return
        start = msgspec.json.decode(_receive(connection, *_NUMBER.unpack(length)), type=Start)
        number = _fork_orphan()
        if number == 0:
            connection.close()
            _become(start, streams)
            _end(_run(start))
        for stream in streams:
            os.close(stream)
        connection.sendall(_NUMBER.pack(number))


def _fork_orphan() -> int:
    """Fork a process whose parent has ended: its number; 0 in the process itself."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        number = os.fork()
        if number == 0:
            os.close(reading)
            os.close(writing)
            return 0
        os.write(writing, _NUMBER.pack(number))
        os._exit(0)
    os.waitpid(between, 0)
    number = int(_NUMBER.unpack(os.read(reading, _NUMBER.size))[0])
    os.close(reading)
    os.close(writing)
    return number


def _become(start: Start, streams: Sequence[int]) -> None:
    """Take on the surroundings of this process."""
    if start.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    os.chdir(start.folder)
    sys.path[:] = [*start.path, *(one for one in sys.path if one not in ("", str(ROOT)))]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115  as long as it runs
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115  the same
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115  the same
    sys.argv = [start.what if start.how == "-m" else "-c", *start.words]


def _run(start: Start) -> int:
    """Run the program; the code that its process ends with."""
    try:
        if start.how == "-m":
            runpy.run_module(start.what, run_name="__main__", alter_sys=True)
        else:
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(start.what, "<string>", "exec", dont_inherit=True), main.__dict__)  # noqa: S102  a test's own
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  the border of the process: it is shown as Python shows it
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """End as Python does, its threads and what is registered for the end first, but unload no module.

    There are two thousand of them, and unloading takes longer than most commands.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  nobody else waits for them
    atexit._run_exitfuncs()  # noqa: SLF001  the same
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _load() -> None:
    for name in LOADED:
        package = import_module(f"sayso.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for name in OTHERS:
        import_module(name)
    gc.collect()
    gc.freeze()  # no process looks for garbage among the modules, nor copies their pages by doing so


if __name__ == "__main__":
    _load()
    assert threading.active_count() == 1, "a process that is forked has none of the other threads"
    _serve(socket.socket(fileno=int(sys.argv[1])))
