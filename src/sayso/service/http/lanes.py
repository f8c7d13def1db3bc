"""Threads for what blocks: lanes of their own for operators, for strangers, and for looking at tokens.

So that whoever comes with nothing, or asks a lot, keeps nobody who answers or stops waiting behind them.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Lane = Literal["operators", "strangers", "tokens", "others"]
THREADS: dict[Lane, int] = {"operators": 4, "strangers": 2, "tokens": 4, "others": 8}


class Lanes:
    """One pool of threads a lane. A thread is made when it is first needed."""

    def __init__(self) -> None:
        self._pools = {lane: ThreadPoolExecutor(most, f"sayso-{lane}") for lane, most in THREADS.items()}

    async def run(self, lane: Lane, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do this in a thread of the lane."""
        here = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[lane], lambda: here.run(work, *args, **kwargs))

    def close(self) -> None:
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
