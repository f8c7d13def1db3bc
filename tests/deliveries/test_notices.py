"""Notices: told at one place, once, also by several services and after a crash."""

from __future__ import annotations

from typing import NoReturn

import msgspec
import pytest

from sayso.core.model import Operation
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.notices import QUEUE
from sayso.gate.deliveries.outbox import HELD_FOR
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.contract import DeliveryRow
from tests.support.boards import Board, Down
from tests.support.gates import KEY, Clock


def blocked(gate: Gate, session: str, number: int = 1) -> None:
    """Somebody tries what is never allowed."""
    call = make_call("edit", {"number": number})
    request = make_request(call, [Operation("self_modification.modify_soul_md")], session=session)
    assert authorize(gate, request).decision.rule == "blocked"


def graph(gate: Gate) -> tuple[Gate, str]:
    opened = open_gate(load_preset("graph"), gate.store, key=KEY)
    return opened, open_session(opened, agent="tester", owner="host")


def dispatching(gate: Gate, *boards: Board, notices_to: str | None = "board") -> Dispatcher:
    made = Dispatcher(gate, boards, notices_to=lambda: notices_to)
    made.send_notices()  # from here on
    return made


def settle(*dispatchers: Dispatcher) -> None:
    for one in dispatchers:
        while one.send_notices():
            pass


def test_a_blocked_attempt_is_told_at_one_place_once(gate: Gate) -> None:
    opened, session = graph(gate)
    board, other = Board(), Board("other")
    dispatcher = dispatching(opened, board, other)
    blocked(opened, session)
    settle(dispatcher, dispatcher)
    assert not other.told
    (notice,) = board.told.values()
    assert "self_modification.modify_soul_md" in notice.text
    assert (notice.agent, notice.session) == ("agent", session)


def test_two_services_tell_a_notice_once(gate: Gate) -> None:
    opened, session = graph(gate)
    board = Board()
    first, second = dispatching(opened, board), dispatching(opened, board)
    for number in range(5):
        blocked(opened, session, number)
    settle(first, second, first)
    assert board.tries == len(board.told) == 5


def test_a_new_process_goes_on_where_the_last_one_was(gate: Gate) -> None:
    opened, session = graph(gate)
    board = Board()
    dispatching(opened, board)
    blocked(opened, session, 1)
    again = dispatching(opened, board)
    settle(again)
    blocked(opened, session, 2)
    settle(dispatching(opened, board))
    assert board.tries == len(board.told) == 2


def test_the_past_before_the_first_start_is_not_told(gate: Gate) -> None:
    opened, session = graph(gate)
    blocked(opened, session)
    board = Board()
    settle(dispatching(opened, board))
    assert not board.told


def test_a_service_that_dies_as_it_starts_has_begun_the_queue(gate: Gate) -> None:
    """Its threads did nothing yet; what it decided is told by the next one."""
    opened, session = graph(gate)
    board = Board()
    died = Dispatcher(opened, (board,), notices_to=lambda: "board")
    died.stop()
    died.start()
    blocked(opened, session)
    settle(Dispatcher(opened, (board,), notices_to=lambda: "board"))
    assert len(board.told) == 1


def test_all_that_one_call_has_to_be_told_of_is_in_its_notice(gate: Gate) -> None:
    opened, session = graph(gate)
    opened = msgspec.structs.replace(opened, surfaces=("board",))
    board = Board()
    dispatcher = dispatching(opened, board)
    both = ("email.send", "calendar.create_event"), ("calendar.invite_external", "files.modify_secrets")
    for names in both:
        operations = [Operation(name) for name in names]
        authorize(opened, make_request(make_call("do", {}), operations, session=session, confidence=0.95))
    settle(dispatcher)
    told = [notice.text for notice in board.told.values()]
    for names, text in zip(both, told, strict=True):
        assert all(name in text for name in names), text


def test_a_notice_waits_for_a_place_that_is_down(gate: Gate, clock: Clock) -> None:
    opened, session = graph(gate)
    board = Board()
    dispatcher = dispatching(opened, board)
    board.down = True
    blocked(opened, session)
    settle(dispatcher)
    board.down = False
    clock.now += HELD_FOR
    settle(dispatcher)
    assert len(board.told) == 1


def test_a_notice_for_a_place_that_moved_goes_to_the_new_one_only(gate: Gate, clock: Clock) -> None:
    opened, session = graph(gate)
    old, new = Board("old"), Board("new")
    place = ["old"]
    dispatcher = Dispatcher(opened, (old, new), notices_to=lambda: place[0])
    dispatcher.send_notices()
    old.down = True
    blocked(opened, session)
    settle(dispatcher)
    place[0] = "new"
    clock.now += HELD_FOR
    settle(dispatcher)
    assert (len(old.told), len(new.told)) == (0, 1)


def test_without_a_place_notices_wait(gate: Gate) -> None:
    opened, session = graph(gate)
    board = Board()
    dispatcher = dispatching(opened, board, notices_to=None)
    blocked(opened, session)
    settle(dispatcher)
    assert not board.told
    settle(dispatching(opened, board))
    assert len(board.told) == 1


def test_no_row_puts_words_into_a_notice(gate: Gate, clock: Clock) -> None:
    """Somebody writes the queue: another text for what is due, and a notice of something that never was."""
    opened, session = graph(gate)
    board = Board()
    dispatcher = dispatching(opened, board)
    board.down = True
    blocked(opened, session)
    dispatcher.send_notices()
    forged = msgspec.json.encode({"id": "main.9", "at": 0.0, "event": "BLOCKED", "text": "All is well"})
    with opened.store.write() as tx:
        (row,) = tx.deliveries_due(QUEUE, by=tx.now + 2 * HELD_FOR, limit=10)
        changed = msgspec.structs.replace(row, body=forged, version=row.version + 1)
        assert tx.move_delivery(changed, version=row.version)
        for subject in ("main.1000000", "elsewhere.1", "main.", "nonsense"):
            assert tx.add_delivery(DeliveryRow(QUEUE, subject, "notice", "due", tx.now, body=forged))
    board.down = False
    clock.now += 2 * HELD_FOR
    settle(dispatcher)
    (notice,) = board.told.values()
    assert "self_modification.modify_soul_md" in notice.text


def test_no_notice_is_lost_with_a_write_that_failed(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is busy, or its connection is gone, at the moment in which notices are queued."""
    opened, session = graph(gate)
    board = Board()
    dispatcher = dispatching(opened, board)
    blocked(opened, session, 1)

    def fail(*args: object, **how: object) -> NoReturn:
        raise Down("the store is gone")

    with monkeypatch.context() as broken:
        broken.setattr(type(opened.store), "write", fail)
        with pytest.raises(Down):
            dispatcher.send_notices()
    blocked(opened, session, 2)
    settle(dispatcher)
    assert len(board.told) == board.tries == 2


def test_a_notice_that_was_told_is_not_told_again_later(gate: Gate, clock: Clock) -> None:
    opened, session = graph(gate)
    board = Board()
    dispatcher = dispatching(opened, board)
    blocked(opened, session)
    settle(dispatcher)
    clock.now += HELD_FOR
    settle(dispatcher, dispatching(opened, board))
    assert board.tries == 1
