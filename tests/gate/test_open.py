"""Who opens a store how: gates that decide, operators that act, and those that only look."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest

from sayso.cli.store_places import find_store_place
from sayso.core.errors import SaysoError
from sayso.gate import open as opening_gates
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.open import NoStore, open_audit, open_gate, open_to_act, open_to_look
from sayso.gate.policy.acting_policy import policy_in_force
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.operator_grants import list_grants
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.asking import edit
from tests.support.gates import KEY


def entries(store: Store) -> list[str]:
    with store.read() as tx:
        return [row.event for row in tx.entries("main", limit=10_000)]


def kept(store: Store) -> tuple[object, ...]:
    with store.read() as tx:
        return list(tx.entries("main", limit=10_000)), tx.meta("policy"), list(tx.reviews())


def asked(gate: Gate) -> str:
    session = open_session(gate, agent="tester", owner="host")
    question = authorize(gate, edit(session)).question
    assert question is not None
    return question.id


@pytest.mark.parametrize("opening", [open_to_look, open_audit, lambda *a, **k: open_to_act(None, *a, **k)])
def test_a_store_that_does_not_exist_is_told_and_not_made(tmp_path: Path, opening: object) -> None:
    with pytest.raises(NoStore, match="there is no store"):
        opening(tmp_path / "deep" / "s.db", key=KEY)  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["host=/tmp dbname=sayso", "dbname=sayso", " user = ana", "service=x"])
def test_parameters_of_a_connection_are_not_taken_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SaysoError, match="postgresql://"):
        open_gate(load_preset("balanced"), where, key=KEY)
    with pytest.raises(SaysoError, match="postgresql://"):
        open_to_look(where, key=KEY)
    with pytest.raises(SaysoError, match="postgresql://"):
        find_store_place(where)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opening", [open_to_look, open_audit, lambda *a, **k: open_to_act(None, *a, **k)])
def test_a_store_no_gate_ever_used_is_told_and_left_as_it_is(tmp_path: Path, opening: object) -> None:
    SqliteStore(tmp_path / "s.db").close()
    with pytest.raises(NoStore, match="nothing was ever written"):
        opening(tmp_path / "s.db", key=KEY)  # type: ignore[operator]
    store = SqliteStore(tmp_path / "s.db")
    with store.read() as tx:
        assert (tx.meta("name"), tx.meta("epoch"), tx.head("main")) == (None, None, None)


def test_an_empty_file_is_not_turned_into_a_store_by_looking(tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    with pytest.raises(SaysoError):
        open_to_look(tmp_path / "s.db", key=KEY)
    assert (tmp_path / "s.db").stat().st_size == 0


def test_neither_looking_nor_acting_says_which_policy_is_in_force(tmp_path: Path) -> None:
    gate = open_gate(load_preset("chat"), tmp_path / "s.db", key=KEY, marks=tmp_path)
    before = kept(gate.store)
    for opened in (
        open_to_look(tmp_path / "s.db", key=KEY, marks=tmp_path),
        open_to_act(load_preset("graph"), tmp_path / "s.db", key=KEY, marks=tmp_path),
    ):
        assert policy_in_force(opened) == load_preset("chat").digest
        opened.store.close()
    assert kept(gate.store) == before
    open_gate(load_preset("graph"), tmp_path / "s.db", key=KEY, marks=tmp_path).store.close()
    assert entries(gate.store)[-1] == "POLICY"
    assert kept(gate.store) != before


def test_an_answer_under_another_policy_is_no_wider_than_what_was_asked(tmp_path: Path) -> None:
    """Preset gateway would leave the arguments free; the offers were worded under chat, which does not."""
    gate = open_gate(load_preset("chat"), tmp_path / "s.db", key=KEY)
    question = asked(gate)
    other = open_to_act(load_preset("gateway"), tmp_path / "s.db", key=KEY)
    assert other.policy.settings.grant_pins == "operation"
    answer_question(other, question, "always", by="ana")
    (standing,) = [one for one in list_grants(gate) if one.kind == "operation"]
    assert (standing.pins.tool, standing.pins.arguments) == ("edit", edit(standing.session).arguments_digest)
    with gate.store.read() as tx:
        row = tx.grant(standing.id)
    assert row is not None
    assert load_preset("gateway").digest.encode() in row.body


def test_under_the_policy_it_was_asked_under_an_answer_gives_what_was_offered(tmp_path: Path) -> None:
    gate = open_gate(load_preset("gateway"), tmp_path / "s.db", key=KEY)
    question = asked(gate)
    answer_question(
        open_to_act(load_preset("gateway"), tmp_path / "s.db", key=KEY), question, "always", by="a"
    )
    (standing,) = [one for one in list_grants(gate) if one.kind == "operation"]
    assert (standing.pins.tool, standing.pins.arguments) == (None, None)


def test_the_mark_of_a_store_in_memory_is_not_left_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would outlast what it is about; that of a file has to."""
    monkeypatch.setattr(opening_gates, "gate_data_folder", lambda: tmp_path)
    marks = []
    for store in (MemoryStore(), SqliteStore(tmp_path / "sayso.db")):
        with closing(store):
            open_session(open_gate(load_preset("chat"), store), agent="tester", owner="host")
            marks.append(len(list(tmp_path.glob("*.mark"))))
    assert marks == [0, 1]


def test_a_store_put_back_from_a_copy_shows_no_grant_to_who_looks_and_starts_anew_for_who_acts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    gate = open_gate(load_preset("chat"), path, key=KEY, marks=tmp_path)
    answer_question(gate, asked(gate), "always", by="ana")
    gate.store.close()
    shutil.copy(path, tmp_path / "copy")
    gate = open_gate(load_preset("chat"), path, key=KEY, marks=tmp_path)
    assert list_grants(gate)
    open_session(gate, agent="later", owner="host")
    gate.store.close()
    for aside in (path, *tmp_path.glob("s.db-*")):
        aside.unlink()
    shutil.copy(tmp_path / "copy", path)
    before = path.read_bytes()
    looked = open_to_look(path, key=KEY, marks=tmp_path)
    assert list_grants(looked) == []
    looked.store.close()
    assert path.read_bytes() == before
    acted = open_to_act(load_preset("chat"), path, key=KEY, marks=tmp_path)
    assert entries(acted.store)[-1] == "EPOCH"
    assert list_grants(acted) == []


def test_looking_while_another_gate_writes_never_shows_a_store_that_went_back(tmp_path: Path) -> None:
    gate = open_gate(load_preset("balanced"), tmp_path / "s.db", key=KEY, marks=tmp_path)
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            open_session(gate, agent="tester", owner="host")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(100):
            looking = open_to_look(tmp_path / "s.db", key=KEY, marks=tmp_path)
            looking.store.close()
            assert looking.sealer.epoch == gate.sealer.epoch
            assert number % 10 or verify_audit(gate).clean
    finally:
        over.set()
        writer.join()
