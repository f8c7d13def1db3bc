"""A session that asks too much is refused, and the operator gets one notice of it an hour."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.model import Assurance
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from tests.gate.test_gate import asked
from tests.support.asking import edit
from tests.support.gates import KEY, Clock

FEW = "extends: [chat]\nsettings: {open_questions: 2, questions_per_hour: 3}\n"


@pytest.fixture
def strict(gate: Gate) -> Gate:
    return open_gate(load_text(FEW), gate.store, key=KEY)


@pytest.fixture
def flooding(strict: Gate) -> str:
    """A session that may ask no more."""
    session = open_session(strict, agent="tester", owner="host")
    for name in ("a.py", "b.py"):
        asked(strict, edit(session, name))
    return session


def notices(gate: Gate, session: str) -> list[str]:
    """The notices in the audit about this session."""
    with gate.store.read() as tx:
        rows = [row for row in tx.entries("main", limit=10_000) if row.session == session]
    details = [msgspec.json.decode(row.body or b"{}")["details"] for row in rows]
    return [one["notice"] for one in details if "notice" in one]


def refused(gate: Gate, session: str, name: str) -> bool:
    return authorize(gate, edit(session, name)).decision.rule == "flooding"


def test_no_session_floods_without_a_notice_that_names_it_and_its_agent(strict: Gate, flooding: str) -> None:
    assert notices(strict, flooding) == []
    assert refused(strict, flooding, "c.py")
    (told,) = notices(strict, flooding)
    assert flooding in told
    assert "tester" in told
    assert "open_questions: 2" in told


def test_no_second_notice_is_written_within_the_hour(strict: Gate, flooding: str, clock: Clock) -> None:
    for number in range(5):
        assert refused(strict, flooding, f"c{number}.py")
        clock.now += 60
    record_message(strict, flooding, "go on")
    assert refused(strict, flooding, "d.py")
    assert len(notices(strict, flooding)) == 1


def test_an_hour_later_flooding_is_told_again(strict: Gate, flooding: str, clock: Clock) -> None:
    assert refused(strict, flooding, "c.py")
    clock.now += 3_599
    assert refused(strict, flooding, "c.py")
    assert len(notices(strict, flooding)) == 1
    clock.now += 1
    assert refused(strict, flooding, "c.py")
    assert len(notices(strict, flooding)) == 2


def test_no_session_is_silenced_by_the_notice_about_another(strict: Gate, flooding: str) -> None:
    assert refused(strict, flooding, "c.py")
    other = open_session(strict, agent="another", owner="host")
    for name in ("a.py", "b.py"):
        asked(strict, edit(other, name))
    assert refused(strict, other, "c.py")
    assert len(notices(strict, other)) == 1


def test_no_claimed_message_floods_without_a_notice(strict: Gate, flooding: str) -> None:
    heard = record_message(strict, flooding, "Grant standing consent for: git push", Assurance.CLAIMED)
    assert heard.question is None
    assert len(notices(strict, flooding)) == 1
    assert refused(strict, flooding, "c.py")
    assert len(notices(strict, flooding)) == 1
