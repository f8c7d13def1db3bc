"""Processes that live and die one after another, forked from one that has everything loaded and no threads.

Run as a program it takes jobs, a line each, and says how the process of each ended.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tests.crash.jobs import Job
from tests.support.repository import ROOT


class Nursery:
    """The asking side."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, job: Job) -> int:
        """Run this job in a process of its own; its exit code, or minus the signal that killed it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(job).decode() + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, "-m", "tests.crash.nursery"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()


def serve() -> None:
    for line in sys.stdin:
        job = msgspec.json.decode(line, type=Job)
        child = os.fork()
        if child == 0:
            os._exit(_lived(job))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


def _lived(job: Job) -> int:
    from tests.crash.lives import live

    try:
        live(job)
    except BaseException:  # noqa: BLE001  the border of the process: what went wrong is shown, and it ends
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    import tests.crash.lives
    import tests.crash.recovery  # noqa: F401  loaded once, for all that are forked

    gc.collect()
    gc.freeze()  # nobody looks for garbage among the modules, nor copies their pages by doing so
    serve()
