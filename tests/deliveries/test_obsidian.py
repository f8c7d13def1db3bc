"""The surface that fetches its questions: late, twice, forged, the wrong person, closed elsewhere."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec
import pytest

from sayso.core.signed_messages import BadMessage, encode_secret, sign_message
from sayso.gate.deliveries.answers import AnswerRefused, take_answer
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.fetching import MOST_CARDS, open_cards
from sayso.gate.deliveries.remote_surface import QuestionCard
from sayso.gate.deliveries.trial import try_surface
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import QuestionStanding, answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.gate.refusal_limit import RefusalLimit
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.surfaces.remote.exchange import SendingFailed
from sayso.surfaces.remote.obsidian import Obsidian, ObsidianSettings
from sayso.surfaces.remote.settings_file import SurfacesRefused, add_surface, notice_places
from tests.support.asking import asked, edit, push
from tests.support.boards import Board
from tests.support.chat_services import SECRET
from tests.support.gates import Clock
from tests.support.teams import under


@pytest.fixture
def vault() -> Obsidian:
    return Obsidian(ObsidianSettings("vault", encode_secret(SECRET), ("ana",)), time.time)


def fetch(gate: Gate, vault: Obsidian) -> list[QuestionCard]:
    """What the plugin gets, once the service has put on the surface what waits."""
    dispatcher = Dispatcher(gate, (vault,), notices_to=lambda: None)
    while dispatcher.send(vault):
        pass
    return open_cards(gate, vault, lambda question: None)


def signed(body: bytes, secret: bytes = SECRET, at: float | None = None) -> dict[str, str]:
    sent = int(time.time() if at is None else at)
    signature = sign_message(secret, "m1", sent, body)
    return {"webhook-id": "m1", "webhook-timestamp": str(sent), "webhook-signature": signature}


def give(gate: Gate, vault: Obsidian, card: QuestionCard, answer: str, **changed: str) -> QuestionStanding:
    token = next(one.token for one in card.answers if one.answer == answer)
    body = msgspec.json.encode(
        {"question": card.question, "answer": answer, "token": token, "by": "ana", **changed}
    )
    given = vault.receive(signed(body), body)
    return take_answer(gate, vault, given, RefusalLimit())


def test_a_question_is_fetched_answered_and_gone(gate: Gate, session: str, vault: Obsidian) -> None:
    question = asked(gate, push(session))
    (card,) = fetch(gate, vault)
    assert (card.question, card.whole, "git push" in card.body) == (question, True, True)
    assert give(gate, vault, card, "once").yours
    assert load_question_now(gate, question).by == "ana on vault"
    assert fetch(gate, vault) == []


def test_a_second_a_late_and_a_foreign_answer_do_not_count(
    gate: Gate, session: str, vault: Obsidian, clock: Clock
) -> None:
    first, second = asked(gate, edit(session, "a.py")), asked(gate, edit(session, "b.py"))
    cards = {one.question: one for one in fetch(gate, vault)}
    for changed in ({"by": "mallory"}, {"token": "AAAA"}, {"token": cards[second].answers[0].token}):
        with pytest.raises(AnswerRefused):
            give(gate, vault, cards[first], "once", **changed)
    answer_question(gate, first, "deny", by="bo")
    assert not give(gate, vault, cards[first], "once").yours
    assert [one.question for one in fetch(gate, vault)] == [second]
    clock.now += 3 * 3600
    assert not give(gate, vault, cards[second], "once").yours
    assert fetch(gate, vault) == []


@pytest.mark.parametrize("fault", ["secret", "time", "body"])
def test_a_request_that_was_not_signed_just_now_gets_nothing(vault: Obsidian, fault: str) -> None:
    body = b'{"fetch": "questions"}'
    headers = {
        "secret": signed(body, b"x" * 32),
        "time": signed(body, at=time.time() - 1_000),
        "body": signed(b'{"fetch": "other"}'),
    }[fault]
    with pytest.raises(BadMessage):
        vault.check_fetch(headers, body)
    assert vault.check_fetch(signed(body), body) == "m1"


def test_it_is_told_no_notices_and_they_go_to_the_next_surface(vault: Obsidian) -> None:
    assert notice_places([vault, Board("phone")]) == ("phone",)
    assert notice_places([vault]) == ()
    with pytest.raises(SendingFailed):
        vault.tell(None, "x")  # type: ignore[arg-type]  # it does not look at it


def test_it_can_be_tried_though_it_is_told_no_notice(gate: Gate, vault: Obsidian) -> None:
    said: list[str] = []

    def answer_there(line: str) -> None:
        said.append(line)
        for card in open_cards(gate, vault, lambda question: None):
            give(gate, vault, card, "once")

    told = try_surface(gate, vault, 5.0, said=answer_there)
    assert (told.answered, told.text) == (True, "vault works: once by ana on vault.")
    assert len(said) == 1
    assert "notice" not in said[0]


def test_a_secret_that_is_none_is_refused(tmp_path: object) -> None:
    with pytest.raises((SurfacesRefused, BadMessage)):
        add_surface("obsidian", {"name": "vault", "secret": "short"})


def test_many_questions_that_are_held_back_hide_none_that_is_sent(
    gate: Gate, vault: Obsidian, clock: Clock
) -> None:
    gate = under(gate, load_text('extends: [chat]\nquiet_hours: {from: "22:00", to: "07:00"}\n'))
    clock.now = datetime(2027, 1, 15, 23, 30, tzinfo=UTC).timestamp()
    sessions = [open_session(gate, agent="claude", owner="host") for _ in range(3)]
    held = [asked(gate, edit(session, f"{number}.py")) for session in sessions for number in range(18)]
    assert len(held) > MOST_CARDS
    urgent = asked(gate, push(open_session(gate, agent="claude", owner="host")))
    assert [card.question for card in fetch(gate, vault)] == [urgent]
