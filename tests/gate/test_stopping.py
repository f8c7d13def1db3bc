"""Stop everything: every open session, those that are opened meanwhile as well, whoever stands in the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from sayso.core.model import Assurance
from sayso.gate import stopping
from sayso.gate.audit import verify_audit
from sayso.gate.conversation import hear_message
from sayso.gate.gate import Gate
from sayso.gate.grants import give_grant, list_grants
from sayso.gate.open import open_gate
from sayso.gate.sessions import end_session, open_session
from sayso.gate.state import Wanted, load
from sayso.gate.stopping import StoppedAll, stop_all
from sayso.policy import load_preset
from sayso.store.base import EntryRow, StoreBusy, Writer
from sayso.store.memory import MemoryStore
from tests.gate.conftest import KEY


def opened(gate: Gate, parent: str | None = None) -> str:
    return open_session(gate, agent="tester", owner="host", parent=parent)


def stopped(gate: Gate, session: str) -> bool:
    with gate.store.read() as tx:
        found = load(tx, gate.sealer, session, Wanted(keys=()))
    return found is not None and found.session.stopped is not None


def heard(gate: Gate) -> list[EntryRow]:
    with gate.store.read() as tx:
        return [row for row in tx.entries(gate.stream, limit=10_000) if row.event == "HEARD"]


def test_every_open_session_is_stopped_and_recorded_and_the_trail_signed(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "AT_ONCE", 2)
    sessions = [opened(gate) for _ in range(5)]
    sessions.append(opened(gate, parent=sessions[0]))
    for session in sessions:
        give_grant(gate, session, by="ana", operation="files.edit")
    ended = opened(gate)
    end_session(gate, ended)
    assert stop_all(gate, by="ana") == StoppedAll(6, 0, settled=True)
    assert all(stopped(gate, session) for session in sessions)
    assert list_grants(gate) == []
    told = [json.loads(row.body or b"")["details"] for row in heard(gate)]
    assert [row.session for row in heard(gate)] == sessions
    assert {(one["kind"], one["by"]) for one in told} == {("stop", "ana")}
    verified = verify_audit(gate)
    assert verified.clean
    assert verified.reports[0].held_through == verified.reports[0].entries


def test_one_that_was_stopped_by_a_claim_is_stopped_by_the_operator(gate: Gate) -> None:
    session = opened(gate)
    hear_message(gate, session, "stop", Assurance.CLAIMED)
    assert stop_all(gate, by="ana").stopped == 1
    hear_message(gate, session, "go on with the parser", Assurance.CLAIMED)
    assert stopped(gate, session)


class Meanwhile(MemoryStore):
    """A store in which others do something before each transaction that writes."""

    def __init__(self) -> None:
        super().__init__()
        self.others: Callable[[], object] | None = None

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        act, self.others = self.others, None
        if act is not None:
            try:
                act()
            finally:
                self.others = act
        with super().write(durable=durable) as tx:
            yield tx


@pytest.fixture
def store() -> Meanwhile:
    return Meanwhile()


@pytest.fixture
def shared(store: Meanwhile) -> Gate:
    return open_gate(load_preset("chat"), store, key=KEY)


def test_a_session_opened_while_it_works_is_stopped_too(shared: Gate, store: Meanwhile) -> None:
    late: list[str] = []
    opened(shared)
    store.others = lambda: late.extend([opened(shared)] if len(late) < 3 else [])
    assert stop_all(shared, by="ana") == StoppedAll(4, 0, settled=True)
    assert all(stopped(shared, session) for session in late)


def test_it_ends_and_says_so_although_sessions_never_stop_being_opened(
    shared: Gate, store: Meanwhile
) -> None:
    opened(shared)
    store.others = lambda: opened(shared)
    assert stop_all(shared, by="ana") == StoppedAll(stopping.MOST_PASSES, 0, settled=False)


def test_a_session_that_is_held_is_tried_again_after_the_others(shared: Gate, store: Meanwhile) -> None:
    sessions = [opened(shared) for _ in range(3)]
    held = iter([True])

    def busy_at_first() -> None:
        if next(held, False):
            raise StoreBusy("somebody holds it")

    store.others = busy_at_first
    assert stop_all(shared, by="ana") == StoppedAll(3, 0, settled=True)
    assert [row.session for row in heard(shared)] == [*sessions[1:], sessions[0]]


def test_one_changed_by_hand_or_ended_meanwhile_keeps_no_other_from_stopping(gate: Gate) -> None:
    sessions = [opened(gate) for _ in range(3)]
    with gate.store.write() as tx:
        row = tx.session(sessions[0])
        assert row is not None
        tx.put_session(replace(row, agent="somebody else"))
    assert stop_all(gate, by="ana") == StoppedAll(2, 1, settled=True)
    assert stopped(gate, sessions[2])
