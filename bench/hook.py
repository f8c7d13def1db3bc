"""How long a coding agent waits for its hook: the whole process, service running, against bare Python."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.measure import Row, Side, Watch, race
from sayso.doors.agents import AGENTS
from sayso.doors.agents.settings.registration import HookSettings, find_python, hook_command, hook_words
from sayso.doors.agents.settings.registration import write_settings_text as write_settings
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.gate.rows.keys import load_or_make_key
from sayso.policy import load_preset

ROUNDS = 40
AIM = 1.5
AGENT, EVENT = AGENTS["claude"], "PreToolUse"
NOTHING = (find_python(), "-I", "-S", "-c", "pass")


def hook_against_bare_python(watch: Watch) -> list[Row]:
    """A read that is allowed, by the hook alone and in the guard that is registered."""
    with TemporaryDirectory() as folder, _a_service(Path(folder)) as file:
        calls, nothing = _payloads(folder), Side(lambda _: _run(NOTHING, b""), (None,))
        ways = {
            "hook, whole process": hook_words(AGENT, EVENT, file),
            "hook in its sh guard": ["/bin/sh", "-c", hook_command(AGENT, EVENT, file)],
        }
        return [_measure(what, words, calls, nothing, watch) for what, words in ways.items()]


def _measure(what: str, words: Sequence[str], calls: Iterator[bytes], nothing: Side, watch: Watch) -> Row:
    result = race(what, Side(lambda _: _run(words, next(calls)), (None,)), nothing, ROUNDS, watch)
    ratio = result.left.median / result.right.median
    alone = what.endswith("process")
    return Row(
        what=what,
        against="python -I -S -c pass",
        ours=result.left.median / 1e6,
        theirs=result.right.median / 1e6,
        unit=" ms",
        ratio=ratio,
        aim=f"≤ {AIM}×" if alone else "none",
        met=ratio <= AIM if alone else None,
        spread=(result.left.spread, result.right.spread),
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


def _run(words: Sequence[str], given: bytes) -> None:
    done = subprocess.run(words, input=given, capture_output=True, check=False)  # noqa: S603  ourselves
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


@contextmanager
def _a_service(folder: Path) -> Iterator[Path]:
    """A service on a store and a socket of its own; the file that its hook reads."""
    data = folder / "data" / "sayso"
    data.mkdir(mode=0o700, parents=True)
    store, socket, file = data / "sayso.db", folder / "s.sock", folder / "hook-file"
    key = load_or_make_key("sayso", data / "gate.key")
    gate = open_gate(load_preset("coding"), store, key=key, marks=data)
    secret, _ = issue_token(gate, "agent", AGENT.name, by="bench")
    gate.store.close()
    file.write_text(write_settings(AGENT, HookSettings(socket, os.getuid(), secret, 60, None, {})))
    words = ["-m", "sayso", "serve", "--preset", "coding", "--port", "0", "--socket", str(socket)]
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
            yield file
        finally:
            service.terminate()


if __name__ == "__main__":
    for row in hook_against_bare_python(lambda *_: None):
        print(f"{row.what}: {row.ours:.1f} ms against {row.theirs:.1f} ms, {row.ratio:.2f}× (aim {row.aim})")
