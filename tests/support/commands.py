"""Commands of the program as processes of their own, forked from one that has its modules loaded.

Loading them takes longer than most commands do. Each command has its own environment, folder, session and
output, and ends as a process does. With SAYSO_ALL every command is started from nothing instead, as people
start it; what a command loads, and when, is tested with such starts only.

Run as a program it takes commands, a line each, and says how each ended.
"""

from __future__ import annotations

import atexit
import gc
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import msgspec

from tests.support.repository import ROOT

PATIENCE = 180
LOADED = ("core", "reading", "policy", "store.sql", "store.sqlite", "store.memory", "gate", "surfaces", "cli")
LOCALE = "C.UTF-8"


class Command(msgspec.Struct, frozen=True):
    """A command with its surroundings; what it writes goes into two files of this folder."""

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    written: str


def run_forked(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `sayso` with these words and nothing but this environment, without a terminal."""
    with tempfile.TemporaryDirectory(prefix="sayso-command-") as folder:
        command = Command(words, environment, str(Path.cwd()), folder)
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(msgspec.json.encode(command).decode() + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, errors = (Path(folder, name).read_text(encoding="utf-8") for name in ("out", "errors"))
    return subprocess.CompletedProcess(words, code, out, errors)


@cache
def _server() -> subprocess.Popen[str]:
    """The process that commands are forked from: one for each process that runs tests."""
    pipe, environment = subprocess.PIPE, {**os.environ, "LC_ALL": LOCALE}
    command = [sys.executable, "-m", "tests.support.commands"]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)
    return server


def _next_command() -> Command | None:
    """In the server, None once nobody asks any more; in each process that it forks, what to run there."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return msgspec.json.decode(line, type=Command)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()
    return None


def _become(command: Command) -> None:
    """Take on the surroundings of this command; a command that hangs is killed."""
    os.setsid()
    signal.alarm(PATIENCE)
    os.environ.clear()
    os.environ.update(command.environment)
    time.tzset()
    os.chdir(command.folder)
    sys.path[:] = [command.folder if one in ("", str(ROOT)) else one for one in sys.path]
    files = [os.open(os.devnull, os.O_RDONLY)]
    files += [
        os.open(Path(command.written, name), os.O_WRONLY | os.O_CREAT, 0o600) for name in ("out", "errors")
    ]
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115  as long as it runs
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115  the same
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115  the same
    sys.argv = ["sayso", *command.words]


def _load() -> None:
    for name in LOADED:
        package = import_module(f"sayso.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def _run() -> int:
    """Run the command; the code that its process ends with."""
    try:
        runpy.run_module("sayso", run_name="__main__", alter_sys=True)
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

    There are a thousand of them, and unloading takes three times as long as a command.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  nobody else waits for them
    atexit._run_exitfuncs()  # noqa: SLF001  the same
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _load()
    gc.collect()
    gc.freeze()  # no command looks for garbage among the modules, nor copies their pages by doing so
    wanted = _next_command()
    if wanted is not None:
        _become(wanted)
        _end(_run())
