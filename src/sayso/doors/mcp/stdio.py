"""Stdin and stdout as the wire of the protocol, and of nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

log = logging.getLogger("sayso")
LONGEST_LINE = 4 * 1024 * 1024


def take_stdio() -> tuple[int, int]:
    """Stdin and stdout under other numbers, for the rest of this process.

    Whatever else reads, reads nothing; whatever else prints, children too, prints to stderr.
    """
    sys.stdout.flush()
    wire = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return wire


async def read_lines(descriptor: int) -> AsyncIterator[bytes]:
    """The lines that come in, until the other side closes. A line too long ends it as well.

    They are read by a thread that nobody waits for: a read cannot be interrupted, and a server must stop when
    it is told to.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue(1)

    def read() -> None:
        with suppress(RuntimeError), open(descriptor, "rb", closefd=False) as wire:
            while line := wire.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    log.error("the client sent a line of more than %s bytes", LONGEST_LINE)
                    break
                asyncio.run_coroutine_threadsafe(arrived.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(arrived.put(b""), loop).result()

    threading.Thread(target=read, name="sayso-mcp-stdin", daemon=True).start()
    while line := await arrived.get():
        yield line
