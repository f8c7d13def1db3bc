"""Many threads on one SQLite store: the slowest calls against the usual one.

Each thread has a session of its own and makes one durable decorated call after the other. If writers wait for
each other fairly, p99 stays near p50; if they back off and try again, some of them wait for very long.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from bench.durable import DOMAINS, OPERATION, on_disk
from bench.measure import Row, Timing, Watch
from bench.world import make_world
from sayso.doors.python.session import Session
from sayso.doors.sayso import Sayso
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.operator_grants import give_grant
from sayso.store.sqlite.store import SqliteStore

THREADS = 32
ROUNDS, SECONDS = 5, 2.0
TIMES_P50 = 5.0


def threads_on_sqlite(watch: Watch) -> list[Row]:
    with on_disk() as folder:
        store = SqliteStore(folder / "sayso.db")
        opened = open_gate(make_world(DOMAINS).policy, store, key=make_key("bench"), marks=folder)
        with Sayso(opened) as gate:

            @gate.requires_consent(OPERATION)
            def label(number: int, text: str) -> int:
                return number

            sessions = [gate.session(agent="agent") for _ in range(THREADS)]
            for session in sessions:
                give_grant(opened, session.id, by="operator", operation=OPERATION, minutes=24 * 60)
            rounds = []
            for done in range(ROUNDS + 1):
                rounds.append(_run_threads(sessions, label))
                watch(f"{THREADS} threads on SQLite", done, ROUNDS)
    return [_row(rounds[1:])]  # the first one warmed up


def _run_threads(sessions: list[Session], label: Callable[[int, str], int]) -> tuple[float, float]:
    """The p50 and p99 of all calls, in nanoseconds."""
    took: list[list[int]] = [[] for _ in sessions]
    failed: list[Exception] = []
    start = threading.Barrier(len(sessions))

    def work(number: int) -> None:
        try:
            with sessions[number].active():
                start.wait()
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    began = time.perf_counter_ns()
                    label(len(took[number]), "to be read")
                    took[number].append(time.perf_counter_ns() - began)
        except Exception as error:  # noqa: BLE001  told by the thread that measures
            start.abort()
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(sessions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise AssertionError("a call of a thread failed") from failed[0]
    every = sorted(one for each in took for one in each)
    return statistics.median(every), float(every[int(len(every) * 0.99)])


def _row(rounds: list[tuple[float, float]]) -> Row:
    usual, slow = (Timing(tuple(values)) for values in zip(*rounds, strict=True))
    ratio = statistics.median(p99 / p50 for p50, p99 in rounds)
    return Row(
        what=f"{THREADS} threads on SQLite, p99",
        against="their p50",
        ours=slow.median / 1e6,
        theirs=usual.median / 1e6,
        unit=" ms",
        ratio=ratio,
        aim=f"≤ {TIMES_P50:g}×",
        met=ratio <= TIMES_P50,
        spread=(slow.spread, usual.spread),
    )
