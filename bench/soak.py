"""`python -m bench.soak [CALLS]`: many calls through one service, to see whether memory and log stay flat.

32 agents make 100,000 calls, or as many as are named, through one service on SQLite. Ten times on the way it
prints the memory of the service, the largest size of the write-ahead log and the size of the mark. The first
two of the ten fill caches and pools; the others may not go far above them. Fewer than 50,000 calls are not
judged: until then the mark fills up to where it is written again. At the end the audit trail is
verified, and must have an entry for each call.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from bench.durable import on_disk
from bench.scale import FILE, Service, add_agents, drive, memory_of, open_bench_gate, running_services
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.audit.verifying.workers import count_cores

CALLS, AGENTS, STEPS = 100_000, 32, 10
ENOUGH = 50_000
FILLING = 2
"""In so many of the steps the service is allowed to grow."""
MORE = 1.1
"""As much as the largest of the later steps may be above the largest of the first."""
SLACK = {"memory": 2.0, "log": 16.0, "mark": 0.1}
"""Megabytes that count for nothing. The log is cut off from 16 MB on, as soon as no reader is in the way."""
LOOK_EVERY = 0.05


class Step(msgspec.Struct, frozen=True):
    """The state after so many calls; sizes in MB, the log at its largest within the step."""

    calls: int
    per_second: float
    p99: float
    memory: float
    log: float
    mark: float
    store: float


class Peak:
    """The largest size a file had while it was looked at."""

    def __init__(self, path: Path) -> None:
        self.size = 0.0
        self._path = path

    @contextmanager
    def watching(self) -> Iterator[None]:
        over = threading.Event()

        def look() -> None:
            while not over.wait(LOOK_EVERY):
                self.size = max(self.size, megabytes(self._path))

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.size = max(self.size, megabytes(self._path))


def megabytes(*paths: Path) -> float:
    """The size of these files together; one that is not there has none."""
    return sum(path.stat().st_size for path in paths if path.exists()) / 2**20


def soak(calls: int) -> Iterator[Step]:
    """Make so many calls; a step for every tenth of them."""
    each = max(1, calls // STEPS // AGENTS)
    with on_disk() as folder:
        who = add_agents(folder, FILE, AGENTS)
        with running_services(folder, FILE, 1) as running:
            for number in range(1, STEPS + 1):
                peak = Peak(folder / "sayso.db-wal")
                with peak.watching():
                    figures = drive(running, who, calls=each)
                yield _look(folder, running[0], peak, number * each * AGENTS, figures.per_second, figures.p99)
        _check_trail(folder, STEPS * (each + 1) * AGENTS)  # each step warms up with a call of each agent


def _look(folder: Path, service: Service, peak: Peak, calls: int, per_second: float, p99: float) -> Step:
    return Step(
        calls=calls,
        per_second=per_second,
        p99=p99,
        memory=memory_of(service.process),
        log=peak.size,
        mark=megabytes(*folder.glob("*.mark")),
        store=megabytes(folder / "sayso.db"),
    )


def _check_trail(folder: Path, calls: int) -> None:
    store, gate = open_bench_gate(folder, FILE)
    with closing(store):
        verified = verify_audit(gate, processes=count_cores())
        if not verified.clean:
            raise AssertionError(f"the audit is not clean: {verified.reports[0].findings[:1]}")
        entries = sum(report.entries for report in verified.reports)
        if entries < calls:
            raise AssertionError(f"{entries:,} entries of {calls:,} calls")


def find_growth(steps: Sequence[Step]) -> list[str]:
    """Say what grew after the first steps; nothing if all stayed flat."""
    first, later = steps[:FILLING], steps[FILLING:]
    grown = []
    for name, slack in SLACK.items():
        before = max(getattr(step, name) for step in first)
        after = max(getattr(step, name) for step in later)
        if after > max(before * MORE, before + slack):
            grown.append(f"{name} grew from {before:.1f} to {after:.1f} MB")
    return grown


def main() -> int:
    """0 if memory, log and mark stayed flat, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak", description="Many calls through one service."
    )
    parser.add_argument("calls", nargs="?", type=int, default=CALLS, help=f"how many ({CALLS:,} without it)")
    calls = parser.parse_args().calls
    print(f"{calls:,} calls of {AGENTS} agents through one service on SQLite", flush=True)
    print("   calls  calls/s   p99 ms  memory MB    log MB   mark MB  store MB  elapsed", flush=True)
    began, steps = time.monotonic(), []
    for step in soak(calls):
        steps.append(step)
        sizes = f"{step.memory:9.1f} {step.log:9.1f} {step.mark:9.3f} {step.store:9.1f}"
        elapsed = time.monotonic() - began
        print(
            f"{step.calls:>8,} {step.per_second:8.0f} {step.p99 * 1e3:8.0f}  {sizes} {elapsed:7.0f}s",
            flush=True,
        )
    print("The audit trail is whole.")
    if calls < ENOUGH:
        print(f"Too few calls to judge whether memory, log and mark stay flat: {ENOUGH:,} are enough.")
        return 0
    grown = find_growth(steps)
    print(f"NOT FLAT: {'; '.join(grown)}." if grown else "Memory, log and mark stayed flat.")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
