"""What happens inside a run: gates that nobody declared, bundles, and what is never done twice."""

from __future__ import annotations

import threading

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired, Result
from sayso.doors.python.session import Session
from sayso.gate.ledger.lease import unpark_call
from tests.support.people import Person, answer_open, calls, questions, states

pytestmark = pytest.mark.each_store


def report(gate: Sayso, *, restartable: bool = False, mail_first: bool = True) -> list[str]:
    """A capability that sends a mail, and then comes to a gate it did not declare."""
    done: list[str] = []

    @gate.requires_consent("mail.send", risk="moderate")
    def mail() -> None:
        done.append("mail")

    @gate.requires_consent("notes.share", risk="high")
    def share() -> None:
        done.append("share")

    @gate.capability(operations="mail.send", restartable=restartable)
    def report() -> str:
        done.append("begun")
        if mail_first:
            mail()
        share()
        return "reported"

    return done


def approved(gate: Sayso, name: str, session: Session | None = None, answer: str = "once") -> Result:
    """Run it, approved from elsewhere, by somebody who waits for nothing further."""
    first = gate.run(name, session=session, wait=0)
    answer_open(gate, answer)
    return gate.retry(first.operation_id or "", session=session, wait=0)


def test_a_gate_that_was_not_declared_waits_in_place(gate: Sayso, person: Person) -> None:
    done = report(gate)
    person.says("once", "once")
    assert gate.run("report").value == "reported"
    assert (done, person.asked) == (["begun", "mail", "share"], ["mail.send", "notes.share"])
    assert {row.state for row in calls(gate)} == {"succeeded"}


def test_a_mail_sent_before_an_undeclared_gate_is_not_sent_twice(gate: Sayso, person: Person) -> None:
    done = report(gate)
    result = approved(gate, "report")
    assert (result.status, result.ran) == ("error", ("mail.send",))
    assert "stopped at notes.share" in (result.reason or "")
    answer_open(gate)
    assert gate.retry(result.operation_id or "").status == "error"
    assert done == ["begun", "mail"]


def test_nobody_else_goes_on_with_a_run_that_has_sent_a_mail_and_waits(gate: Sayso, person: Person) -> None:
    done, found, session = report(gate), [], gate.session()
    person.says("once")
    runner = threading.Thread(target=lambda: found.append(session.run("report")))
    runner.start()
    person.waits_to_be_asked()
    person.waits_to_be_asked()
    call = next(row.id for row in calls(gate) if row.tool == "report")
    other = session.retry(call, wait=0)
    assert (other.status, done) == ("timeout", ["begun", "mail"])
    answer_open(gate)
    runner.join()
    assert found[0].value == session.retry(call).value == "reported"
    assert done == ["begun", "mail", "share"]


def test_a_run_in_which_nothing_had_begun_is_run_again_from_the_top(gate: Sayso, person: Person) -> None:
    done = report(gate, mail_first=False)
    result = approved(gate, "report")
    assert (result.status, done) == ("timeout", ["begun"])
    assert gate.retry(result.operation_id or "", wait=0.01).status == "timeout"
    answer_open(gate)
    assert gate.retry(result.operation_id or "").value == "reported"
    assert done == ["begun", "begun", "share"]


def test_a_restartable_run_is_run_again_at_most_twice(gate: Sayso, person: Person) -> None:
    done: list[str] = []

    @gate.requires_consent("notes.share")
    def share(number: int) -> None: ...

    @gate.capability(restartable=True)
    def report() -> None:
        done.append("begun")
        share(len(done))

    result = gate.run("report", wait=0)
    for _ in range(5):
        for row in questions(gate, "open"):
            gate.answer(row.id, "once", by="ana", seen=row.digest)
        result = gate.retry(result.operation_id or "", wait=0)
    assert (result.status, len(done)) == ("error", 3)


def test_a_run_that_goes_on_elsewhere_is_over_for_who_waited_in_it(gate: Sayso, person: Person) -> None:
    done, found, session = report(gate, mail_first=False), [], gate.session()
    person.says("once")
    runner = threading.Thread(target=lambda: found.append(session.run("report")))
    runner.start()
    person.waits_to_be_asked()
    person.waits_to_be_asked()
    row = next(row for row in calls(gate) if row.tool == "report")
    unpark_call(gate.gate, row.id, holder="another process", fence=row.fence)
    answer_open(gate)
    runner.join()
    assert (found[0].status, done) == ("error", ["begun"])


def test_code_that_goes_on_after_a_refused_gate_passes_no_other(gate: Sayso, person: Person) -> None:
    done: list[str] = []

    @gate.requires_consent("notes.share")
    def share() -> None:
        done.append("share")

    @gate.requires_consent("mail.send")
    def mail() -> None:
        done.append("mail")

    @gate.capability()
    def stubborn() -> str:
        for one in (share, mail, share):
            with pytest.raises(ConsentDenied):
                one()
        return "all well"

    person.says("deny", "once", "once")
    result = gate.run("stubborn")
    assert (result.status, done, len(person.questions)) == ("denied", [], 1)
    assert "stopped at notes.share" in (result.reason or "")


def test_a_run_inside_a_run_is_its_own_and_is_not_repeated_with_the_outer_one(
    gate: Sayso, person: Person
) -> None:
    done: list[str] = []

    @gate.capability("inner")
    @gate.requires_consent("mail.send", risk="moderate")
    def mail() -> str:
        done.append("mail")
        return "sent"

    @gate.requires_consent("notes.share", risk="high")
    def share() -> None:
        done.append("share")

    @gate.capability()
    def outer() -> Result:
        inner = gate.run("inner")
        share()
        return inner

    person.says("once")
    result = gate.run("outer", wait=0)
    assert (result.status, result.ran) == ("error", ("mail.send",))
    answer_open(gate)
    assert gate.retry(result.operation_id or "").status == "error"
    assert done == ["mail"]
    person.says("once")
    assert gate.run("inner").ok
    assert states(gate)["outer"] == "failed"


def test_a_mail_sent_deep_inside_is_known_to_every_run_around_it(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("notes.write", risk="moderate")
    def write() -> None: ...

    @gate.requires_consent("notes.share", risk="high")
    def share() -> None: ...

    @gate.capability()
    def inner() -> None:
        write()

    @gate.capability()
    def outer() -> None:
        gate.run("inner")
        share()

    person.says("once")
    result = gate.run("outer", wait=0)
    assert (result.status, result.ran) == ("error", ("notes.write",))


def test_a_refused_run_inside_a_run_is_a_result_there(gate: Sayso, person: Person) -> None:
    @gate.capability("inner")
    @gate.requires_consent("mail.send")
    def mail() -> None: ...

    @gate.capability()
    def outer() -> str:
        return gate.run("inner").status

    person.says("deny")
    assert gate.run("outer").value == "denied"


# --- bundles ---


def bundle(gate: Sayso) -> list[str]:
    done: list[str] = []

    @gate.requires_consent("tasks.create", risk="moderate")
    def create(title: str) -> None:
        done.append(title)

    @gate.requires_consent("notes.write", risk="moderate")
    def write(title: str) -> None:
        done.append(title)

    @gate.requires_consent("mail.send", risk="high")
    def mail(to: str) -> None:
        done.append(to)

    @gate.capability(operations=["tasks.create", "notes.write", "mail.send"])
    def plan_day(title: str) -> None:
        create(title)
        write(title)
        mail("ana")

    return done


def test_what_a_capability_declares_is_asked_in_one_question_and_high_risk_when_it_is_reached(
    gate: Sayso, person: Person
) -> None:
    done = bundle(gate)
    person.says("once", "once")
    assert gate.run("plan_day", {"title": "x"}).ok
    assert person.asked == ["tasks.create notes.write", "mail.send"]
    assert (person.questions[0].bundle, person.questions[0].later) == ("bundle:plan_day", ("mail.send",))
    assert done == ["x", "x", "ana"]


def test_the_grants_of_a_bundle_land_on_each_operation_and_its_name_stays_in_the_audit(
    gate: Sayso, person: Person
) -> None:
    bundle(gate)
    person.says("always", "deny")
    session = gate.session()
    assert session.run("plan_day", {"title": "x"}).status == "denied"
    granted = {one.value for one in gate.list_consents(session) if one.kind == "operation"}
    assert granted == {"tasks.create", "notes.write"}
    with gate.gate.store.read() as tx:
        told = {
            row.event for row in tx.entries("main", limit=1000) if b"bundle:plan_day" in (row.body or b"")
        }
    assert {"ASKED", "ANSWERED"} <= told
    session.hear("try again")
    person.says("once")
    assert session.run("plan_day", {"title": "y"}).ok
    assert person.asked[-1] == "mail.send"


def test_items_are_answered_one_by_one_and_one_no_refuses_the_call(gate: Sayso, person: Person) -> None:
    done = bundle(gate)
    session = gate.session()
    for answers, status in ({"1": "once", "2": "deny"}, "denied"), ({"1": "always", "2": "once"}, "error"):
        session = gate.session()
        first = session.run("plan_day", {"title": "x"}, wait=0)
        (row,) = questions(gate, "open")
        assert gate.answer(row.id, answers, by="ana", seen=row.digest).yours
        assert session.retry(first.operation_id or "", wait=0).status == status
    assert done == ["x", "x"]
    assert [one.value for one in gate.list_consents(session) if one.kind == "operation"] == ["tasks.create"]


def test_an_item_consented_to_in_a_bundle_ends_with_the_run(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("tasks.create", risk="moderate")
    def create() -> None: ...

    @gate.capability(operations="tasks.create")
    def plan_day() -> None:
        create()

    person.says("once")
    assert gate.run("plan_day").ok
    with pytest.raises(ConsentRequired):
        create()
