"""Stop everything: every open session, those that are opened meanwhile as well, whoever stands in the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from sayso.cli.short_ids import expand_grant_id, live_grants
from sayso.core.errors import MalformedRequest
from sayso.core.model import Assurance
from sayso.core.session import Session
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sessions import stop
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.sessions.stop import StoppedAll, resume_session, stop_all, stop_all_and_tell, stop_session
from sayso.policy import load_preset
from sayso.store.contract import EntryRow, StoreBusy, Writer
from sayso.store.memory.store import MemoryStore
from tests.gate.calling import approved
from tests.support.asking import edit
from tests.support.gates import KEY


def opened(gate: Gate, parent: str | None = None) -> str:
    return open_session(gate, agent="tester", owner="host", parent=parent)


def stopped(gate: Gate, session: str) -> bool:
    with gate.store.read() as tx:
        found = load_session(tx, gate.sealer, session, RowSelection())
    return found is not None and found.session.stopped is not None


def recorded(gate: Gate, event: str = "STOPPED") -> list[EntryRow]:
    with gate.store.read() as tx:
        return [row for row in tx.entries(gate.stream, limit=10_000) if row.event == event]


def state_of(gate: Gate, session: str) -> Session:
    with gate.store.read() as tx:
        found = load_session(tx, gate.sealer, session, RowSelection())
    assert found is not None
    return found.session


def test_every_open_session_is_stopped_and_recorded_and_the_trail_signed(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "AT_ONCE", 2)
    sessions = [opened(gate) for _ in range(5)]
    sessions.append(opened(gate, parent=sessions[0]))
    for session in sessions:
        give_grant(gate, session, by="ana", operation="files.edit")
    ended = opened(gate)
    close_session(gate, ended)
    assert stop_all(gate, by="ana") == StoppedAll(6, 0, settled=True)
    assert all(stopped(gate, session) for session in sessions)
    assert list_grants(gate) == []
    told = [json.loads(row.body or b"")["details"] for row in recorded(gate)]
    assert [row.session for row in recorded(gate)] == sessions
    assert {one["by"] for one in told} == {"ana"}
    verified = verify_audit(gate)
    assert verified.clean
    assert verified.reports[0].held_through == verified.reports[0].entries


def test_nothing_that_a_stop_of_all_takes_goes_untold(gate: Gate) -> None:
    above, alone, empty = opened(gate), opened(gate), opened(gate)
    below = opened(gate, parent=above)
    for session in (above, alone, below):
        give_grant(gate, session, by="ana", operation="files.edit")
    done = stop_all_and_tell(gate, by="ana")
    assert done.stopped == 4
    lost = sorted(line for one in done.cleared for line in one.cleared[1:])
    in_a_child = f"grant for files.edit (in session {below})"
    assert lost in (["grant for files.edit"] * 3, sorted(["grant for files.edit"] * 2 + [in_a_child]))
    assert empty not in {one.session for one in done.cleared}


def test_one_that_was_stopped_by_a_claim_is_stopped_by_the_operator(gate: Gate) -> None:
    session = opened(gate)
    record_message(gate, session, "stop", Assurance.CLAIMED)
    assert stop_all(gate, by="ana").stopped == 1
    record_message(gate, session, "go on with the parser", Assurance.CLAIMED)
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
    assert stop_all(shared, by="ana") == StoppedAll(stop.MOST_PASSES, 0, settled=False)


def test_a_session_that_is_held_is_tried_again_after_the_others(shared: Gate, store: Meanwhile) -> None:
    sessions = [opened(shared) for _ in range(3)]
    held = iter([True])

    def busy_at_first() -> None:
        if next(held, False):
            raise StoreBusy("somebody holds it")

    store.others = busy_at_first
    assert stop_all(shared, by="ana") == StoppedAll(3, 0, settled=True)
    assert [row.session for row in recorded(shared)] == [*sessions[1:], sessions[0]]


def test_one_changed_by_hand_or_ended_meanwhile_keeps_no_other_from_stopping(gate: Gate) -> None:
    sessions = [opened(gate) for _ in range(3)]
    with gate.store.write() as tx:
        row = tx.session(sessions[0])
        assert row is not None
        tx.put_session(replace(row, agent="somebody else"))
    assert stop_all(gate, by="ana") == StoppedAll(2, 1, settled=True)
    assert stopped(gate, sessions[2])


STOPS: tuple[Callable[[Gate, str], object], ...] = (
    lambda gate, session: stop_session(gate, session, by="ana"),
    lambda gate, session: stop_session(gate, session, by="host", assurance=Assurance.CLAIMED),
    lambda gate, session: stop_all(gate, by="ana"),
)


@pytest.mark.parametrize("stop", STOPS)
def test_the_stop_of_an_operator_makes_up_no_message_no_turn_and_no_task(
    gate: Gate, stop: Callable[[Gate, str], object]
) -> None:
    session = opened(gate)
    stop(gate, session)
    assert stopped(gate, session)
    resume_session(gate, session, by="ana")
    after = state_of(gate, session)
    assert (after.turn, after.heard_at, after.task, after.tasks) == (0, None, None, 0)
    assert recorded(gate, "HEARD") == []
    asked = authorize(gate, edit(session))
    assert asked.question is not None
    assert "task" not in [offer.answer for offer in asked.question.offers]


@pytest.mark.parametrize("stop", STOPS)
def test_a_denial_of_the_turn_is_not_forgotten_when_the_operator_stops_and_resumes(
    gate: Gate, stop: Callable[[Gate, str], object]
) -> None:
    session = opened(gate)
    asked = authorize(gate, edit(session)).question
    assert asked is not None
    answer_question(gate, asked.id, "deny", by="ana")
    stop(gate, session)
    assert authorize(gate, edit(session)).decision.rule == "denied_call"
    resume_session(gate, session, by="ana")
    assert authorize(gate, edit(session)).decision.rule == "denied_call"
    assert authorize(gate, edit(session, "b.py")).decision.rule == "ask"


def test_the_stop_of_an_operator_in_a_conversation_leaves_the_turn_as_it_is(gate: Gate) -> None:
    session = opened(gate)
    record_message(gate, session, "/commit the parser")
    stop_session(gate, session, by="ana")
    after = state_of(gate, session)
    assert (after.turn, after.task, after.slash) == (1, None, None)


def test_the_stop_of_an_operator_clears_what_a_stop_clears_below_it_as_well(gate: Gate) -> None:
    session = opened(gate)
    child = opened(gate, parent=session)
    approved(gate, session)
    give_grant(gate, child, by="ana", operation="files.edit")
    told = stop_session(gate, session, by="ana")
    assert (told.session, told.already) == (session, False)
    assert not any("you said" in words for words in told.cleared)
    assert list_grants(gate) == []
    assert authorize(gate, edit(child)).decision.rule == "stopped"


def test_a_second_stop_says_so_and_ends_what_was_approved_since_the_first(gate: Gate) -> None:
    session = opened(gate)
    stop_session(gate, session, by="ana")
    approved(gate, session)
    told = stop_session(gate, session, by="ben")
    assert told.already
    assert authorize(gate, edit(session)).decision.rule == "stopped"


def test_a_stop_that_is_only_claimed_does_not_weaken_the_operators(gate: Gate) -> None:
    session = opened(gate)
    stop_session(gate, session, by="ana")
    stop_session(gate, session, by="host", assurance=Assurance.CLAIMED)
    record_message(gate, session, "go on with the parser", Assurance.CLAIMED)
    assert stopped(gate, session)


def test_a_session_is_never_taken_for_the_only_grant_in_it(gate: Gate) -> None:
    session = opened(gate)
    grant = give_grant(gate, session, by="ana", operation="files.edit")
    for typed in (session, session[:6]):
        with pytest.raises(MalformedRequest, match="is a session") as refused:
            expand_grant_id(gate, typed)
        assert f"--all {typed}" in str(refused.value.hint)
    name = str(list_grants(gate)[0].id)
    assert expand_grant_id(gate, f"{name[:6]}.{name.partition('.')[2]}") == name
    assert grant is not None
    assert [one for one, _ in live_grants(gate)] == [name]
    stop_all(gate, by="ana")
    assert list(live_grants(gate)) == []
