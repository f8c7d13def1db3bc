"""How long a coding agent waits for its hook: the whole process, service running, against bare Python.

The two are started in turns. Other work on the machine makes both slower, and not alike: so only the calmest
quarter of the pairs counts, and the ratio is the median of what each of them says for itself.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import NamedTuple

import msgspec

from bench.measure import Row, Timing, Watch
from sayso.doors.agents import AGENTS
from sayso.doors.agents.settings.registration import HookSettings, find_python, hook_command, hook_words
from sayso.doors.agents.settings.registration import write_settings_text as write_settings
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.gate.rows.keys import load_or_make_key
from sayso.policy import load_file, load_preset

ROUNDS = 80
AIM = 1.5
AGENT, EVENT = AGENTS["claude"], "PreToolUse"
NOTHING = (find_python(), "-I", "-S", "-c", "pass")


class Spent(NamedTuple):
    """Milliseconds that a process took: by the clock, and of the processor."""

    wall: float
    processor: float


def hook_against_bare_python(watch: Watch) -> list[Row]:
    """A read that is allowed, by the hook alone and in the guard that is registered."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "hook-file"
        with a_service(Path(folder), file):
            return _measure(folder, file, watch)


def _measure(folder: str, file: Path, watch: Watch) -> list[Row]:
    calls = _payloads(folder)
    alone = _run_in_turns("hook, whole process", hook_words(AGENT, EVENT, file), calls, watch)
    command = ["/bin/sh", "-c", hook_command(AGENT, EVENT, file)]
    guarded = _run_in_turns("hook in its sh guard", command, calls, watch)
    return [
        _compare("hook, whole process", [(ours.wall, bare.wall) for ours, bare in alone], AIM),
        _compare("hook, processor time", [(ours.processor, bare.processor) for ours, bare in alone], AIM),
        _compare("hook in its sh guard", [(ours.wall, bare.wall) for ours, bare in guarded], None),
    ]


def _run_in_turns(
    what: str, words: Sequence[str], calls: Iterator[bytes], watch: Watch
) -> list[tuple[Spent, Spent]]:
    """Run the hook and bare Python in turns; return the calmest quarter of the pairs."""
    pairs = []
    for done in range(ROUNDS + 1):
        pairs.append((_run(words, next(calls)), _run(NOTHING, b"")))
        watch(what, done, ROUNDS)
    pairs = sorted(pairs[1:], key=lambda pair: pair[0].wall + pair[1].wall)
    return pairs[: ROUNDS // 4]


def _compare(what: str, pairs: list[tuple[float, float]], aim: float | None) -> Row:
    ours, bare = (Timing(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    return Row(
        what=what,
        against="python -I -S -c pass",
        ours=ours.median,
        theirs=bare.median,
        unit=" ms",
        ratio=ratio,
        aim="none" if aim is None else f"≤ {aim}×",
        met=None if aim is None else ratio <= aim,
        spread=(ours.spread, bare.spread),
    )


def _payloads(folder: str) -> Iterator[bytes]:
    for number in itertools.count():
        yield msgspec.json.encode(
            {
                "session_id": "bench",
                "cwd": folder,
                "permission_mode": "default",
                "hook_event_name": EVENT,
                "tool_name": "Read",
                "tool_use_id": f"toolu_{number}",
                "tool_input": {"file_path": f"{folder}/a.txt"},
            }
        )


def _run(words: Sequence[str], given: bytes) -> Spent:
    """Run a process to its end, and nothing beside it."""
    with TemporaryFile() as asked, TemporaryFile() as said:
        asked.write(given)
        asked.seek(0)
        streams = [(os.POSIX_SPAWN_DUP2, one.fileno(), fd) for fd, one in enumerate((asked, said))]
        began = time.perf_counter()
        process = os.posix_spawn(words[0], [*words], os.environ, file_actions=streams)
        _, status, used = os.wait4(process, 0)
        wall = time.perf_counter() - began
    if status:
        raise RuntimeError(f"{words[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return Spent(1e3 * wall, 1e3 * (used.ru_utime + used.ru_stime))


@contextmanager
def a_service(folder: Path, file: Path, policy: Path | None = None) -> Iterator[None]:
    """A service on a store and a socket of its own, and the file that its hooks read."""
    data = folder / "data" / "sayso"
    data.mkdir(mode=0o700, parents=True)
    store, socket = data / "sayso.db", folder / "s.sock"
    key = load_or_make_key("sayso", data / "gate.key")
    chosen = ("--preset", "coding") if policy is None else ("--policy", str(policy))
    gate = open_gate(
        load_preset("coding") if policy is None else load_file(policy), store, key=key, marks=data
    )
    secret, _ = issue_token(gate, "agent", AGENT.name, by="bench")
    gate.store.close()
    file.write_text(write_settings(AGENT.events, HookSettings(socket, os.getuid(), secret, 60, None, {})))
    words = [
        "-m",
        "sayso",
        "serve",
        *chosen,
        "--port",
        "0",
        "--socket",
        str(socket),
    ]
    names = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "XDG_RUNTIME_DIR": str(folder)}
    with subprocess.Popen(  # noqa: S603  ourselves
        [sys.executable, *words, "--store", str(store)],
        env=os.environ | names,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as service:
        assert service.stdout is not None
        service.stdout.readline()
        try:
            yield
        finally:
            service.terminate()


if __name__ == "__main__":
    for row in hook_against_bare_python(lambda *_: None):
        print(f"{row.what}: {row.ours:.1f} ms against {row.theirs:.1f} ms, {row.ratio:.2f}× (aim {row.aim})")
