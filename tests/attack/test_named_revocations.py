"""Taking consent back by name reaches what was begun with it: a run that waits, and a yes not used yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from sayso import ConsentRequired, Sayso, Step
from sayso.doors.python.session import Session
from sayso.gate.ledger.lease import release_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.sessions.operator_grants import UnknownGrant
from sayso.store.contract import Store
from tests.attack.test_parked_calls import NAMES, POLICY, RETRIES, Program, Retry, in_python, parked
from tests.support.gates import no_settings
from tests.support.people import answer_open, calls, events, questions, states

__all__ = ["no_settings"]

NAMED = POLICY.replace(
    "mail.send: {risk: moderate}", "mail.send: {risk: moderate, category: outbox}"
).replace("extends: [gateway]", "extends: [gateway]\ncategories: {outbox: outgoing mail}")
SPELLINGS = ["mail.send", "mail send", "outbox", "outgoing mail", "mail", "Mail.Send", "mail operations"]
SPELLINGS += [
    "approval of mail.send",
    "the mail.send please",
    "mail.send and git push",
    "git push, mail.send",
]


def by_phrase(gate: Sayso, session: Session, name: str) -> None:
    session.hear(f"Revoke consent for: {name}")


def by_the_operator(gate: Sayso, session: Session, name: str) -> None:
    for one in name.split(", "):
        with suppress(UnknownGrant):
            gate.revoke(one, session=session, by="ana")


WAYS = [by_phrase, by_the_operator]
Way = Callable[[Sayso, Session, str], None]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("allowed", [True, False], ids=["inner allowed", "inner open"])
@pytest.mark.parametrize("name", NAMES)
def test_no_run_goes_on_after_it_was_named_in_a_revocation(
    store: Store, name: str, allowed: bool, retry: Retry, way: Way
) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, name)
    if allowed:
        answer_open(program.gate, "once")
    way(program.gate, session, name)
    assert retry(program.gate, session, call) == "denied"
    assert retry(program.gate, session, call) == "denied"
    assert program.entered == [name]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["send", "digest"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_run_goes_on_after_what_it_does_was_named_however_that_is_spelled(
    store: Store, name: str, spelling: str, way: Way
) -> None:
    program = Program(store, NAMED)
    session = program.gate.session()
    call = parked(program, session, name)
    answer_open(program.gate, "once")
    way(program.gate, session, spelling)
    assert in_python(program.gate, session, call) == "denied"
    assert program.entered == [name]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_no_run_goes_on_after_it_was_named_by_its_id(store: Store, way: Way) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    way(program.gate, session, call)
    assert in_python(program.gate, session, call) == "denied"


@pytest.mark.parametrize(
    "command", ["git push origin", "git push", "Git  Push origin", "run_line", "tools.run_line"]
)
@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_no_run_of_a_command_goes_on_after_the_command_was_named(
    store: Store, command: str, way: Way
) -> None:
    program = Program(
        store, POLICY + "tools:\n  - {tool: run_line, operation: tools.run_line, command: args.line}\n"
    )
    gate, session = program.gate, program.gate.session()

    @gate.capability(restartable=True)
    @gate.requires_consent("tools.run_line", risk="moderate")
    def run_line(line: str) -> str:
        program.entered.append(line)
        return program.share()

    asked = session.run("run_line", {"line": "git push origin"}, wait=0)
    answer_open(gate, "once")
    call = session.retry(asked.operation_id or "", wait=0).operation_id or ""
    assert program.entered == ["git push origin"]
    answer_open(gate, "once")
    way(gate, session, command)
    assert in_python(gate, session, call) == "denied"
    assert program.entered == ["git push origin"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_a_run_that_was_not_named_goes_on(store: Store, way: Way) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    way(program.gate, session, "calendar.read")
    assert in_python(program.gate, session, call) == "ok"


def test_a_name_that_means_nothing_is_told_to_the_operator(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    parked(program, session, "send")
    with pytest.raises(UnknownGrant):
        program.gate.revoke("calendar.read", session=session, by="ana")


def test_a_run_of_another_session_goes_on(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    program.gate.session().hear("Revoke consent for: mail.send")
    assert in_python(program.gate, session, call) == "ok"


def test_the_user_is_told_which_run_does_not_go_on_and_it_is_recorded(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    heard = session.hear("Revoke consent for: mail.send")
    assert any("send" in line and "under way" in line for line in heard.cleared)
    assert not any("Nothing was revoked" in line for line in heard.announced)
    assert any("does not go on" in line for line in heard.announced)
    with store.read() as tx:
        bodies = [row.body for row in tx.entries("main", limit=1_000) if row.event == "REVOKED"]
    assert any(body is not None and call.encode() in body for body in bodies)
    again = session.hear("Revoke consent for: mail.send")
    assert any("Nothing was revoked" in line for line in again.announced)


def test_a_named_run_does_not_go_on_when_its_row_was_taken_away_meanwhile(store: Store) -> None:
    """Whatever cannot be read when something is revoked by name counts as named."""
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    with store.write() as tx:
        row = tx.call(call)
        assert row is not None
        away = b"?" + row.body[1:]
        tx.put_call(type(row)(**{**{f: getattr(row, f) for f in row.__struct_fields__}, "body": away}))
    session.hear("Revoke consent for: mail.send")
    with store.write() as tx:
        tx.put_call(row)
    assert in_python(program.gate, session, call) == "denied"
    assert program.entered == ["send"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("spelling", ["mail.send", "mail", "send", "approval of mail.send"])
def test_no_yes_that_came_too_late_for_its_caller_serves_after_it_was_named(
    store: Store, spelling: str, way: Way
) -> None:
    program = Program(store)
    session = program.gate.session()
    asked = session.run("send", wait=0)
    answer_open(program.gate, "once")
    way(program.gate, session, spelling)
    for tried in (session.retry(asked.operation_id or "", wait=0), session.run("send", wait=0)):
        assert tried.status == "timeout"
    assert len(questions(program.gate, "open")) == 1
    assert program.entered == []


def test_no_call_that_was_given_back_starts_after_it_was_named(store: Store) -> None:
    program = Program(store)
    gate, session = program.gate, program.gate.session()
    asked = session.run("send", wait=0)
    answer_open(gate, "once")
    attempt = retry_call(gate.gate, asked.operation_id or "", holder="another process", entered=False)
    assert attempt.runs
    session.hear("Revoke consent for: mail.send")
    release_call(gate.gate, attempt.call, attempt.fence)
    again = retry_call(gate.gate, attempt.call, holder="a third")
    assert (again.runs, again.state) == (False, "pending")
    assert program.entered == []


def test_a_run_that_was_named_goes_on_once_it_was_agreed_to_again(store: Store) -> None:
    program = Program(store)
    gate, session = program.gate, program.gate.session()
    waiting = parked(program, session, "gather")  # so that something is under way all the time
    asked = session.run("send", wait=0)
    gate.answer(asked_of(gate, "send"), "once", by="ana")
    first = retry_call(gate.gate, asked.operation_id or "", holder="another process", entered=False)
    session.hear("Revoke consent for: mail.send")
    release_call(gate.gate, first.call, first.fence)
    assert retry_call(gate.gate, first.call, holder="another process").state == "pending"
    gate.answer(asked_of(gate, "send"), "once", by="ana")
    assert session.retry(first.call, wait=0).status == "timeout"
    share = asked_of(gate, "share")
    gate.answer(share, "once", by="ana", seen=digest_of(gate, share))
    assert in_python(gate, session, first.call) == "ok"
    assert states(gate)["gather"] == "waiting"
    assert waiting


def asked_of(gate: Sayso, tool: str) -> str:
    """The open question about this tool."""
    asked = {row.question: row for row in calls(gate) if row.tool == tool}
    (found,) = [row.id for row in questions(gate, "open") if row.id in asked]
    return found


def digest_of(gate: Sayso, question: str) -> str:
    return next(row.digest for row in questions(gate) if row.id == question)


def test_an_outer_call_that_was_named_while_it_runs_carries_nothing(store: Store) -> None:
    program = Program(store)
    gate, session, passed = program.gate, program.gate.session(), []

    @gate.requires_consent("mail.read", risk="low")
    def read() -> None:
        passed.append("read")

    @gate.requires_consent("mail.send", risk="moderate", wait=60)
    def outer() -> None:
        read()
        heard = session.hear("Revoke consent for: mail.send")
        assert any("passes no further gate" in line for line in heard.announced)
        with pytest.raises(ConsentRequired):
            read()

    program.person.says("once")
    with session.active():
        outer()
    assert passed == ["read"]


def test_a_run_that_ended_is_not_named_any_more(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    assert in_python(program.gate, session, call) == "ok"
    heard = session.hear("Revoke consent for: send")
    assert any("Nothing was revoked" in line for line in heard.announced)
    assert events(program.gate, session.id)[-1] != "REVOKED"


@pytest.mark.parametrize("words", ["Revoke consent for: weekly", "Revoke consent for: workflow weekly"])
def test_a_run_that_was_revoked_by_name_carries_no_further_step(store: Store, words: str) -> None:
    program = Program(store)
    gate, ran = program.gate, list[str]()
    session = gate.session()

    @gate.requires_consent("mail.send", risk="moderate")
    def post() -> str:
        ran.append("post")
        return "posted"

    def first() -> None:
        ran.append("first")
        session.hear(words)

    gate.workflow("weekly", [Step("first", first), Step("then", post, operations=("mail.send",))])
    started = session.run("weekly", wait=0)
    answer_open(gate)
    session.retry(started.operation_id or "", wait=0)
    assert ran == ["first"]
