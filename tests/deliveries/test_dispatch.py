"""Every open question on every surface, every notice at one place, once; whatever is down meanwhile."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sayso.gate.deliveries.answers import AnswerRefused, take_answer
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.outbox import HELD_FOR
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.gate.refusal_limit import RefusalLimit
from tests.support.asking import asked, edit, push
from tests.support.boards import Board
from tests.support.gates import Clock
from tests.support.signing import registered


def dispatching(gate: Gate, *boards: Board, notices_to: str | None = None) -> Dispatcher:
    return Dispatcher(gate, boards, notices_to=lambda: notices_to)


def settle(dispatcher: Dispatcher, *boards: Board) -> None:
    """Do all there is to do now."""
    for board in boards:
        for _ in range(20):
            if not dispatcher.send(board):
                break
        else:
            raise AssertionError(f"{board.name} never comes to rest")
        dispatcher.fetch_answers(board, 0)
        while dispatcher.send(board):
            pass


def state(gate: Gate, question: str) -> str:
    return load_question_now(gate, question).state


def test_a_question_is_on_every_surface_and_closed_on_all_by_the_first_answer(
    gate: Gate, session: str
) -> None:
    desk, phone = Board("desk"), Board("phone")
    dispatcher = dispatching(gate, desk, phone)
    question = asked(gate, edit(session))
    settle(dispatcher, desk, phone)
    assert desk.card(question).body == phone.card(question).body
    phone.press(question, "once")
    settle(dispatcher, phone, desk)
    assert state(gate, question) == "answered"
    assert "ana on phone" in desk.closed[question]
    assert "ana on phone" in phone.closed[question]
    assert len(desk.shown) == len(phone.shown) == 1


def test_an_answer_from_elsewhere_closes_the_cards(gate: Gate, session: str) -> None:
    board = Board()
    dispatcher = dispatching(gate, board)
    question = asked(gate, edit(session))
    settle(dispatcher, board)
    answer_question(gate, question, "deny", by="bo", reason="not now")
    settle(dispatcher, board)
    assert "bo" in board.closed[question]
    assert "not now" in board.closed[question]


def test_a_surface_that_is_down_delays_no_other_and_loses_nothing(
    gate: Gate, session: str, clock: Clock
) -> None:
    dead, board = Board("dead"), Board("board")
    dead.down = True
    dispatcher = dispatching(gate, dead, board)
    question = asked(gate, edit(session))
    dispatcher.send(dead)
    settle(dispatcher, board)
    assert question in board.questions
    assert not dead.shown
    dead.down = False
    dispatcher.send(dead)
    assert not dead.shown  # not before its pause is over
    clock.now += 3
    settle(dispatcher, dead)
    assert question in dead.questions


def test_the_pauses_of_a_surface_that_is_down_grow(gate: Gate, session: str, clock: Clock) -> None:
    dead = Board()
    dead.down = True
    dispatcher = dispatching(gate, dead)
    asked(gate, edit(session))
    for _ in range(600):
        dispatcher.send(dead)
        clock.now += 1
    assert 5 < dead.tries < 15


def test_a_surface_that_is_down_is_tried_no_more_often_for_many_questions_than_for_one(
    gate: Gate, session: str, clock: Clock
) -> None:
    dead = Board()
    dead.down = True
    dispatcher = dispatching(gate, dead)
    questions = {asked(gate, edit(session, f"file-{number}.py")) for number in range(15)}
    for _ in range(120):
        dispatcher.send(dead)
        clock.now += 1
    assert 3 < dead.tries < 10
    dead.down = False
    clock.now += 130
    settle(dispatcher, dead)
    assert dead.questions == questions


def test_what_a_surface_does_not_take_delays_nothing_else_there(gate: Gate, session: str) -> None:
    class Picky(Board):
        def show(self, card: QuestionCard, key: str) -> str:
            if card.question == bad:
                raise ValueError("this one is too odd")
            return super().show(card, key)

    bad, good = asked(gate, edit(session)), asked(gate, edit(session, "b.py"))
    board = Picky()
    settle(dispatching(gate, board), board)
    assert board.questions == {good}


def test_a_question_that_was_closed_before_it_could_be_sent_is_never_sent(
    gate: Gate, session: str, clock: Clock
) -> None:
    dead = Board()
    dead.down = True
    dispatcher = dispatching(gate, dead)
    question = asked(gate, edit(session))
    dispatcher.send(dead)
    answer_question(gate, question, "deny", by="bo")
    dead.down = False
    clock.now += 10
    settle(dispatcher, dead)
    assert not dead.shown


def test_what_a_dead_process_had_taken_comes_up_again(gate: Gate, session: str, clock: Clock) -> None:
    class Dies(Board):
        def show(self, card: object, key: str) -> str:
            raise KeyboardInterrupt

    dying, board = Dies("board"), Board("board")
    question = asked(gate, edit(session))
    with pytest.raises(KeyboardInterrupt):
        dispatching(gate, dying).send(dying)
    dispatcher = dispatching(gate, board)
    dispatcher.send(board)
    assert not board.shown
    clock.now += HELD_FOR + 1
    settle(dispatcher, board)
    assert question in board.questions


def test_two_services_send_a_question_once(gate: Gate, session: str) -> None:
    board = Board()
    first, second = dispatching(gate, board), dispatching(gate, board)
    asked(gate, edit(session))
    for _ in range(3):
        first.send(board)
        second.send(board)
    assert board.tries == 1


@pytest.mark.parametrize("field", ["question", "answer", "token", "by"])
def test_no_answer_counts_whose_parts_were_changed(gate: Gate, session: str, field: str) -> None:
    board = Board()
    dispatcher = dispatching(gate, board)
    first, second = asked(gate, edit(session)), asked(gate, edit(session, "b.py"))
    settle(dispatcher, board)
    right = board.press(first, "deny")
    board.pressed.clear()
    wrong = {"question": second, "answer": "once", "token": "x" * 22, "by": "mallory"}[field]
    with pytest.raises(AnswerRefused):
        take_answer(gate, board, replace(right, **{field: wrong}), RefusalLimit())
    assert state(gate, first) == state(gate, second) == "open"
    assert take_answer(gate, board, right, RefusalLimit()).yours


def test_no_token_of_another_surface_counts(gate: Gate, session: str) -> None:
    desk, phone = Board("desk"), Board("phone")
    dispatcher = dispatching(gate, desk, phone)
    question = asked(gate, edit(session))
    settle(dispatcher, desk, phone)
    stolen = phone.press(question, "once")
    phone.pressed.clear()
    with pytest.raises(AnswerRefused):
        take_answer(gate, desk, stolen, RefusalLimit())
    assert state(gate, question) == "open"


def test_no_answer_counts_where_the_question_was_never_shown(gate: Gate, session: str) -> None:
    board = Board()
    question = asked(gate, edit(session))
    settle(dispatching(gate, board), board)
    right = board.press(question, "once")
    with pytest.raises(AnswerRefused):
        take_answer(gate, Board("other"), right, RefusalLimit())


def test_no_answer_is_used_twice(gate: Gate, session: str) -> None:
    board = Board()
    question = asked(gate, edit(session))
    settle(dispatching(gate, board), board)
    right = board.press(question, "once")
    assert take_answer(gate, board, right, RefusalLimit()).yours
    again = take_answer(gate, board, right, RefusalLimit())
    assert not again.yours
    assert again.by == "ana on board"


def test_nothing_above_moderate_is_allowed_where_the_call_was_not_shown_whole(
    gate: Gate, session: str
) -> None:
    masked, short = Board("masked", detail="masked"), Board("short")
    short.longest = 10
    whole = Board("whole")
    question = asked(gate, push(session))
    settle(dispatching(gate, masked, short, whole), masked, short, whole)
    for board in (masked, short):
        assert "git push" not in board.card(question).body
        dispatching(gate, board).fetch_answers(board, 0)
        board.press(question, "once")
        assert dispatching(gate, board).fetch_answers(board, 0) == 0
        assert state(gate, question) == "open"
    whole.press(question, "once")
    assert dispatching(gate, whole).fetch_answers(whole, 0) == 1
    assert state(gate, question) == "answered"


def test_no_row_written_by_hand_says_that_the_call_was_shown_whole(gate: Gate, session: str) -> None:
    board = Board(detail="masked")
    question = asked(gate, push(session))
    settle(dispatching(gate, board), board)
    with gate.store.write() as tx:
        row = tx.delivery(board.name, question)
        assert row is not None
        assert tx.move_delivery(replace(row, body=b"whole", version=row.version + 1), version=row.version)
    board.press(question, "once")
    assert dispatching(gate, board).fetch_answers(board, 0) == 0
    assert state(gate, question) == "open"


def test_deny_counts_on_a_surface_that_showed_nothing_of_the_call(gate: Gate, session: str) -> None:
    board = Board(detail="masked")
    question = asked(gate, push(session))
    settle(dispatching(gate, board), board)
    board.press(question, "deny")
    assert dispatching(gate, board).fetch_answers(board, 0) == 1
    assert load_question_now(gate, question).answer == "deny"


def test_a_refused_answer_is_recorded(gate: Gate, session: str) -> None:
    board = Board()
    question = asked(gate, edit(session))
    settle(dispatching(gate, board), board)
    forged = GivenAnswer(question, "once", "forged", "ana")
    with pytest.raises(AnswerRefused):
        take_answer(gate, board, forged, RefusalLimit())
    with gate.store.read() as tx:
        assert "ANSWER_REFUSED" in [row.event for row in tx.entries("main", limit=1000)]


def test_no_yes_is_offered_where_it_has_to_be_signed(gate: Gate, session: str) -> None:
    registered(gate)
    board = Board(detail="full")
    dispatcher = dispatching(gate, board)
    risky, plain = asked(gate, push(session)), asked(gate, edit(session))
    settle(dispatcher, board)
    assert [one.answer for one in board.card(risky).buttons] == ["deny"]
    assert "once" in [one.answer for one in board.card(plain).buttons]
    board.press(risky, "deny")
    settle(dispatcher, board)
    assert state(gate, risky) == "answered"


def test_a_question_that_was_closed_is_not_closed_again_later(gate: Gate, session: str, clock: Clock) -> None:
    board = Board()
    dispatcher = dispatching(gate, board)
    question = asked(gate, edit(session))
    settle(dispatcher, board)
    answer_question(gate, question, "deny", by="bo")
    settle(dispatcher, board)
    tries = board.tries
    clock.now += HELD_FOR
    settle(dispatcher, board)
    assert board.tries == tries
