"""Consent from another session, or from before a policy was tightened, runs nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso import Sayso
from sayso.core.model import Mode
from sayso.core.policy import with_mode
from sayso.doors.python.session import Session
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.contract import Store
from tests.attack.test_parked_calls import ALWAYS_ASK, BLOCKED, POLICY, RISKIER, TRUSTED, UNLISTED
from tests.support.gates import KEY, no_settings
from tests.support.people import Person, answer_open, questions

__all__ = ["no_settings"]


class Program:
    """One gated function, under a policy."""

    def __init__(self, store: Store, policy: str = POLICY, mode: Mode | None = None) -> None:
        self.gate = Sayso(open_gate(with_mode(load_text(policy), mode), store, key=KEY), [Person()])
        self.sent: list[str] = []

        @self.gate.requires_consent("mail.send", risk="moderate")
        def send() -> str:
            self.sent.append("mail")
            return "sent"


Ending = Callable[[Sayso, Session, Session], None]


def stop_the_maker(gate: Sayso, maker: Session, later: Session) -> None:
    maker.hear("stop")


def end_the_maker(gate: Sayso, maker: Session, later: Session) -> None:
    maker.end()


def stop_the_makers_parent(gate: Sayso, maker: Session, later: Session) -> None:
    gate.session_by_id(gate.door.row(maker.id).parent or "").hear("stop")


def end_the_makers_parent(gate: Sayso, maker: Session, later: Session) -> None:
    gate.end_session(gate.door.row(maker.id).parent or "")


def stop_the_later(gate: Sayso, maker: Session, later: Session) -> None:
    later.hear("stop")


def stop_the_laters_parent(gate: Sayso, maker: Session, later: Session) -> None:
    gate.session_by_id(gate.door.row(later.id).parent or "").hear("stop")


def end_the_laters_parent(gate: Sayso, maker: Session, later: Session) -> None:
    gate.end_session(gate.door.row(later.id).parent or "")


ENDINGS = [stop_the_maker, end_the_maker, stop_the_makers_parent, end_the_makers_parent]
ENDINGS += [stop_the_later, stop_the_laters_parent, end_the_laters_parent]


def sessions(gate: Sayso) -> tuple[Session, Session]:
    """A session that makes a call and one that replays it, each with one above it."""
    maker, later = (gate.session(parent=gate.session().id) for _ in range(2))
    return maker, later


def made(program: Program, maker: Session, answer: str) -> str:
    first = maker.run("send", wait=0)
    answer_open(program.gate, answer)
    assert maker.retry(first.operation_id or "").status == "ok"
    program.sent.clear()
    return first.operation_id or ""


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda one: one.__name__)
def test_no_replay_runs_while_a_session_of_it_is_stopped_or_over(store: Store, ending: Ending) -> None:
    program = Program(store)
    maker, later = sessions(program.gate)
    call = made(program, maker, "always")
    ending(program.gate, maker, later)
    assert later.replay(call, wait=0).status == "denied"
    assert program.sent == []
    assert questions(program.gate, "open") == []


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda one: one.__name__)
def test_no_yes_to_a_replay_counts_once_a_session_of_it_is_stopped_or_over(
    store: Store, ending: Ending
) -> None:
    program = Program(store)
    maker, later = sessions(program.gate)
    call = made(program, maker, "once")
    waiting = later.replay(call, wait=0)
    assert waiting.status == "timeout"
    if ending not in (stop_the_later, stop_the_laters_parent):
        answer_open(program.gate, "once")
    ending(program.gate, maker, later)
    assert later.retry(waiting.operation_id or "", wait=0).status in ("denied", "error")
    assert program.sent == []


def test_a_replay_in_its_own_stopped_session_does_not_run(store: Store) -> None:
    program = Program(store)
    maker, _ = sessions(program.gate)
    call = made(program, maker, "always")
    maker.hear("stop")
    assert maker.replay(call, wait=0).status == "denied"
    assert program.sent == []


def test_a_replay_runs_while_its_sessions_go_on(store: Store) -> None:
    program = Program(store)
    maker, later = sessions(program.gate)
    call = made(program, maker, "always")
    assert later.replay(call, wait=0).status == "ok"
    assert program.sent == ["mail"]


@pytest.mark.parametrize(
    ("policy", "mode"),
    [
        (ALWAYS_ASK, None),
        (RISKIER, None),
        (UNLISTED, None),
        (BLOCKED, None),
        (TRUSTED, None),
        (POLICY, Mode.PARANOID),
    ],
    ids=["always_ask", "riskier", "unlisted", "blocked", "trusted channel", "paranoid"],
)
def test_no_approval_serves_under_a_policy_that_was_tightened_since(
    store: Store, policy: str, mode: Mode | None
) -> None:
    program = Program(store)
    session = program.gate.session()
    asked = session.run("send", wait=0)
    answer_open(program.gate, "once")
    later = Program(store, policy, mode)
    for tried in (
        later.gate.session_by_id(session.id).retry(asked.operation_id or "", wait=0),
        later.gate.session_by_id(session.id).run("send", wait=0),
    ):
        assert tried.status in ("timeout", "blocked")
    assert (program.sent, later.sent) == ([], [])


@pytest.mark.parametrize(
    ("policy", "mode"), [(POLICY + "  mail.read: {risk: low}\n", None), (POLICY, Mode.TRUSTING)]
)
def test_an_approval_serves_under_a_policy_that_is_no_stricter(
    store: Store, policy: str, mode: Mode | None
) -> None:
    program = Program(store)
    session = program.gate.session()
    asked = session.run("send", wait=0)
    answer_open(program.gate, "once")
    later = Program(store, policy, mode)
    assert later.gate.session_by_id(session.id).retry(asked.operation_id or "", wait=0).status == "ok"
