"""A policy that gives less time, or pins grants more tightly, ends what an earlier one gave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sayso import Inbox, Sayso
from sayso.doors.python.session import Session
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate, open_to_act, open_to_look
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.expiry import ends_at
from sayso.gate.sessions.messages import ask_in_conversation
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.attack.opening import a_service, open_questions
from tests.support.gates import KEY, Clock

MINUTE, HOUR = 60, 3_600


class Place:
    """One store with two policies after each other. `risk` is that of the only tool there is."""

    def __init__(self, risk: str = "moderate") -> None:
        self.clock = Clock()
        self.store = MemoryStore(clock=self.clock)
        self.risk = risk
        self.ran: list[str] = []

    def gate(self, settings: str, preset: str = "balanced") -> Sayso:
        policy = load_text(f"extends: [{preset}]\nsettings: {{{settings}}}\n")
        gate = Sayso(open_gate(policy, self.store, key=KEY), (Inbox(),))

        @gate.requires_consent("notes.write", risk=self.risk)
        def save(text: str) -> None:
            self.ran.append(text)

        return gate

    def session(self, gate: Sayso) -> Session:
        return gate.session(key="the same")

    def asked(self, gate: Sayso, answer: str | None = None) -> tuple[str, str]:
        """The call and its question."""
        session = self.session(gate)
        call = session.run("save", {"text": "a"}, wait=0).operation_id or ""
        question = open_questions(gate, session.id)[-1]
        if answer is not None:
            answer_question(gate.gate, question.id, answer, by="ana", seen=question.request.digest)
        return call, question.id


@pytest.mark.parametrize(
    ("before", "after", "risk", "seconds"),
    [
        ("24h", "15m", "moderate", HOUR),
        ("24h", "15m", "moderate", 15 * MINUTE),
        ("15m", "1m", "moderate", MINUTE),
        ("24h", "1m", "high", 5 * MINUTE),
        ("24h", "15m", "high", 10 * MINUTE),
        ("1h", "59m", "high", 59 * MINUTE),
    ],
)
def test_no_approval_outlives_a_shortened_time(before: str, after: str, risk: str, seconds: int) -> None:
    place = Place(risk)
    call, _ = place.asked(place.gate(f"approval_lasts: {before}"), "once")
    place.clock.now += seconds
    now = place.gate(f"approval_lasts: {after}")
    assert list(place.session(now).consents()) == []
    assert now.retry(call, wait=0).status == "timeout"
    assert place.session(now).run("save", {"text": "a"}, wait=0).status == "timeout"
    assert place.ran == []


@pytest.mark.parametrize(("after", "seconds"), [("15m", 14 * MINUTE), ("24h", HOUR), ("7m", 6 * MINUTE)])
def test_an_approval_within_the_time_of_now_serves(after: str, seconds: int) -> None:
    place = Place()
    call, _ = place.asked(place.gate("approval_lasts: 24h"), "once")
    place.clock.now += seconds
    assert place.gate(f"approval_lasts: {after}").retry(call, wait=0).status == "ok"


def test_no_approval_comes_back_when_its_time_is_lengthened() -> None:
    place = Place()
    call, _ = place.asked(place.gate("approval_lasts: 15m"), "once")
    place.clock.now += HOUR
    assert place.gate("approval_lasts: 24h").retry(call, wait=0).status == "timeout"


@pytest.mark.parametrize(("before", "after", "seconds"), [("7d", "1h", 3 * HOUR), ("2h", "1m", MINUTE)])
def test_no_question_is_answered_after_a_shortened_time(before: str, after: str, seconds: int) -> None:
    place = Place()
    call, question = place.asked(place.gate(f"question_lasts: {before}"))
    place.clock.now += seconds
    now = place.gate(f"question_lasts: {after}")
    assert answer_question(now.gate, question, "once", by="ana").state == "expired"
    assert now.retry(call, wait=0).status == "error"
    assert place.ran == []


def test_no_call_waits_again_for_a_question_that_is_over_by_now() -> None:
    place = Place()
    call, _ = place.asked(place.gate("question_lasts: 7d"))
    place.clock.now += 3 * HOUR
    assert place.gate("question_lasts: 1h").retry(call, wait=0).status == "error"


def test_no_identical_call_joins_a_question_that_is_over_by_now() -> None:
    place = Place()
    _, question = place.asked(place.gate("question_lasts: 7d"))
    place.clock.now += 3 * HOUR
    assert place.asked(place.gate("question_lasts: 1h"))[1] != question


def test_no_yes_in_the_conversation_answers_a_question_that_is_over_by_now() -> None:
    place = Place()
    before = place.gate("question_lasts: 7d")
    place.session(before).hear("Write the notes")
    call, question = place.asked(before)
    ask_in_conversation(before.gate, question)
    place.clock.now += 3 * HOUR
    now = place.gate("question_lasts: 1h")
    place.session(now).hear("yes")
    assert now.retry(call, wait=0).status == "error"
    assert place.ran == []


def test_no_list_shows_a_question_as_open_that_is_over_by_now() -> None:
    place = Place()
    _, question = place.asked(place.gate("question_lasts: 7d"))
    place.clock.now += 3 * HOUR
    with a_service(place.gate("question_lasts: 1h")) as service:
        assert service.told("operator", "GET", "/v1/questions") == []
        assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "expired"


@pytest.mark.parametrize("answer", ["temporary", "always"])
def test_no_grant_with_free_arguments_serves_once_grants_are_pinned(answer: str) -> None:
    place = Place()
    before = place.gate("grant_pins: operation", "gateway")
    place.asked(before, answer)
    assert place.session(before).run("save", {"text": "a"}, wait=0).status == "ok"
    now = place.gate("grant_pins: exact", "gateway")
    for text in ("a", "b"):
        assert place.session(now).run("save", {"text": text}, wait=0).status == "timeout"
    assert place.ran == ["a"]


@pytest.mark.parametrize("answer", ["temporary", "always"])
def test_a_pinned_grant_serves_when_grants_are_free_again(answer: str) -> None:
    place = Place()
    place.asked(place.gate("grant_pins: exact", "gateway"), answer)
    now = place.gate("grant_pins: operation", "gateway")
    assert place.session(now).run("save", {"text": "a"}, wait=0).status == "ok"
    assert place.session(now).run("save", {"text": "b"}, wait=0).status == "timeout"


def test_what_the_operator_grants_by_hand_serves_as_it_was_given() -> None:
    place = Place()
    gate = place.gate("grant_pins: exact")
    session = place.session(gate)
    give_grant(gate.gate, session.id, operation="notes.write", by="ana")
    assert session.run("save", {"text": "b"}, wait=0).status == "ok"


@pytest.mark.parametrize("open_again", [open_to_look, open_to_act], ids=lambda one: one.__name__)
def test_no_gate_opened_without_a_policy_shortens_what_the_one_in_force_gives(
    tmp_path: Path, open_again: Callable[..., Gate]
) -> None:
    """The operator's lists and a denial open the store without its policy."""
    settings = "{question_lasts: 7d, approval_lasts: 24h, grant_pins: operation}"
    policy = load_text(f"extends: [balanced]\nsettings: {settings}")
    gate = Sayso(open_gate(policy, tmp_path / "s.db", key=KEY), (Inbox(),))

    @gate.requires_consent("notes.write", risk="moderate")
    def save(text: str) -> None: ...

    with gate:
        session = gate.session()
        for text in ("a", "b"):
            session.run("save", {"text": text}, wait=0)
        first, second = open_questions(gate, session.id)
        answer_question(gate.gate, first.id, "always", by="ana")
        again = open_again(store=tmp_path / "s.db", key=KEY)
        with again.store.read() as tx:
            row = tx.question(second.id)
        assert row is not None
        assert ends_at(again, row) == row.expires_at == row.opened_at + 7 * 24 * HOUR
        assert [one.kind for one in list_grants(again, session.id)] == ["call", "operation"]
        again.store.close()
