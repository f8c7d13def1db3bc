"""Eight programs that start at once on a store that is not there yet: one store, one epoch, no alarm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sayso.gate.audit.read import load_newest_entries
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.open import open_gate
from sayso.gate.sessions.operator_grants import list_grants
from sayso.policy import load_preset
from tests.support.postgres_place import new_url
from tests.support.repository import ROOT

EVERY = bool(os.environ.get("SAYSO_ALL"))
PROCESSES = 8
ROUNDS = 40 if EVERY else 3
PROGRAM = """
import os, sys
from sayso.core.errors import SaysoError
from sayso.gate.sessions.messages import record_message
from sayso.gate.open import open_gate, open_to_act
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset

def opened(store, policy):
    gate = open_gate(policy, store)
    session = open_session(gate, agent="tester", owner="host")
    record_message(gate, session, "Grant standing consent for: git push")
    gate.store.close()
    operators = open_to_act(policy, store)
    operators.store.close()
    return f"{gate.sealer.epoch} {session}"

policy = load_preset("coding")
print("ready", flush=True)
for line in sys.stdin:
    folder, store = line.rstrip("\\n").split("\\t")
    os.environ["XDG_DATA_HOME"] = folder
    try:
        print(opened(store, policy), flush=True)
    except SaysoError as error:
        print(f"{type(error).__name__}: {error.message}", flush=True)
"""


@contextmanager
def starting() -> Iterator[Callable[[str], list[str]]]:
    """Eight processes that all do what they are told at the same moment; what each says."""
    pipe = subprocess.PIPE
    with ExitStack() as all_of_them:
        running = [
            all_of_them.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PROGRAM], cwd=ROOT, stdin=pipe, stdout=pipe, text=True
                )
            )
            for _ in range(PROCESSES)
        ]

        def said(process: subprocess.Popen[str]) -> str:
            assert process.stdout is not None
            return process.stdout.readline().strip()

        def told(line: str) -> list[str]:
            for process in running:
                assert process.stdin is not None
                process.stdin.write(f"{line}\n")
                process.stdin.flush()
            return [said(process) for process in running]

        assert [said(process) for process in running] == ["ready"] * PROCESSES
        yield told


@pytest.fixture(params=["sqlite", "postgres"])
def new_store(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    """The address of a store that nobody has opened yet."""
    if request.param == "sqlite":
        return lambda folder: str(folder / "store.db")
    server: str = request.getfixturevalue("postgres_server")
    return lambda folder: new_url(server)


def test_eight_that_start_at_once_do_not_make_two_epochs_or_cry_wolf(
    new_store: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = load_preset("coding")
    with starting() as told:
        for number in range(ROUNDS):
            folder = tmp_path / str(number)
            folder.mkdir()
            store = new_store(folder)
            said = told(f"{folder}\t{store}")
            assert [line.partition(" ")[0] for line in said] == ["1"] * PROCESSES, said
            monkeypatch.setenv("XDG_DATA_HOME", str(folder))
            gate = open_gate(policy, store)
            try:
                assert gate.sealer.epoch == 1
                events = [entry.event for entry in load_newest_entries(gate, 1_000)]
                assert not {"EPOCH", "TAMPERED"} & set(events)
                assert events.count("POLICY") == 1
                for line in said:
                    assert list_grants(gate, line.split()[1]), "what was granted at the start is void"
                assert verify_audit(gate).clean
            finally:
                gate.store.close()
            marks = list((folder / "sayso").glob("*.mark"))
            assert len(marks) == 1
