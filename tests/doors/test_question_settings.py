"""The settings of questions in use: each is what the gate goes by, and what its words say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.policy import load_text
from tests.support.gates import KEY, Clock, embedded
from tests.support.people import Person, answer_open, questions, sends

LISTS = "domains: {mail: {autonomous: [], requires_approval: [send], blocked: []}}"


@contextmanager
def opened(tmp_path: Path, clock: Clock, person: Person, settings: str, risk: str = "") -> Iterator[Sayso]:
    text = f"settings: {{{settings}}}\n{LISTS}\n{risk}"
    with embedded("sqlite", tmp_path, clock) as store:
        yield Sayso(open_gate(load_text(text), store, key=KEY), [person])


def test_a_question_lasts_as_long_as_the_policy_says_and_says_so(tmp_path: Path, clock: Clock) -> None:
    person = Person()
    with opened(tmp_path, clock, person, "question_lasts: 3d") as gate:
        sends(gate)
        late = gate.run("send", {"to": "ana"}, wait=0.01)
        (row,) = questions(gate, "open")
        assert row.expires_at == row.opened_at + 3 * 86_400
        assert "open for 3 days" in person.questions[0].text
        assert person.notices == [
            "The agent is no longer waiting for mail.send. A yes within 3 days lets it try again."
        ]
        clock.now += 3 * 86_400 - 1
        answer_open(gate)
        assert gate.retry(late.operation_id or "").ok


def test_a_question_is_over_at_the_second_the_policy_says(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock, Person(), "question_lasts: 90s") as gate:
        sends(gate)
        late = gate.run("send", {"to": "ana"}, wait=0)
        clock.now += 90
        assert gate.retry(late.operation_id or "", wait=0).status == "error"


@pytest.mark.parametrize(("risk", "lasts"), [("", 7_200), ("operations: {mail.send: {risk: high}}", 3_600)])
def test_an_approval_is_used_until_the_second_the_policy_says(
    tmp_path: Path, clock: Clock, risk: str, lasts: int
) -> None:
    with opened(tmp_path, clock, Person(), "approval_lasts: 2h", risk) as gate:
        sent = sends(gate)
        for wait, status in ((lasts - 1, "ok"), (lasts, "timeout")):
            late = gate.run("send", {"to": f"ana{wait}"}, wait=0)
            answer_open(gate)
            clock.now += wait
            assert gate.retry(late.operation_id or "", wait=0).status == status
        assert sent == [f"ana{lasts - 1}"]


def test_flooding_by_open_questions_says_what_was_hit_and_what_to_do(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock, Person(), "open_questions: 2, questions_per_hour: 9") as gate:
        sends(gate)
        for number in range(2):
            assert gate.run("send", {"to": f"ana{number}"}, wait=0).status == "timeout"
        refused = gate.run("send", {"to": "one more"}, wait=0)
        assert refused.status == "denied"
        assert refused.reason == (
            "refused as flooding: 2 questions of this session are still open, and no more may be "
            "(open_questions: 2, questions_per_hour: 9 in the policy's settings); "
            "wait until some are answered, then make the call again"
        )
        gate.answer(questions(gate, "open")[0].id, "deny", by="ana")
        assert gate.run("send", {"to": "one more"}, wait=0).status == "timeout"


def test_flooding_within_an_hour_says_that_and_ends_with_the_hour(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock, Person(), "open_questions: 9, questions_per_hour: 1") as gate:
        sends(gate)
        assert gate.run("send", {"to": "ana"}, wait=0).status == "timeout"
        answer_open(gate, "deny")
        reason = gate.run("send", {"to": "ben"}, wait=0).reason or ""
        assert "refused as flooding: this session has asked 1 question within an hour" in reason
        assert "open_questions: 9, questions_per_hour: 1" in reason
        clock.now += 3_601
        assert gate.run("send", {"to": "ben"}, wait=0).status == "timeout"


def test_a_timeout_says_one_thing_to_do_and_not_to_make_the_call_again(gate: Sayso, person: Person) -> None:
    sends(gate)

    @gate.capability()
    def outer(to: str) -> str:
        return inner(to)

    @gate.requires_consent("mail.send", risk="moderate")
    def inner(to: str) -> str:
        return to

    for name in ("send", "outer"):
        late = gate.run(name, {"to": "ana"}, wait=0.01)
        again = gate.retry(late.operation_id or "", wait=0.01)
        for result in (late, again):
            assert (result.status, result.retry_with) == ("timeout", "retry")
            assert "same call again" not in (result.reason or "")
            assert f"call retry with {result.operation_id}" in (result.reason or "")
