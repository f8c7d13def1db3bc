"""A replay over rows that somebody changed by hand says so, and never lets them speak for a loosening."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.model import Operation, Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.hindsight.decide_again import GRANT_GONE
from sayso.gate.hindsight.recorded import TAMPERED
from sayso.gate.hindsight.replay import replay_decisions
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from tests.support.by_hand import Place, sqlite_place
from tests.support.gates import Clock

POLICY = load_text("""
sayso: 1
domains: {post: {autonomous: [read], requires_approval: [send], blocked: []}}
""")


@pytest.fixture
def place(tmp_path: Path, clock: Clock) -> Iterator[Place]:
    with closing(sqlite_place(tmp_path, clock, POLICY)) as made:
        session = open_session(made.gate, agent="tester", owner="host")
        give_grant(made.gate, session, by="ana", operation="post.send")
        for name in ("post.read", "post.send", "post.send"):
            authorize(made.gate, make_request(make_call(name, {}), [Operation(name)], session=session))
        yield made


def replay(gate: Gate) -> tuple[int, int, dict[str, int]]:
    report = replay_decisions(gate)
    return report.decisions, len(report.loosened) + len(report.tightened), report.not_replayed


def test_nothing_is_missed_before(place: Place) -> None:
    assert replay(place.gate) == (3, 0, {})


def test_an_entry_that_was_changed_is_not_decided_again(place: Place) -> None:
    place.hand.run(
        "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'post.read', 'post.send') AS BLOB) "
        "WHERE event = 'DECIDED' AND instr(body, CAST('post.read' AS BLOB))"
    )
    assert replay(place.gate) == (2, 0, {TAMPERED: 1})


@pytest.mark.parametrize(
    "line", ["DELETE FROM grants", "UPDATE grants SET body = CAST(replace(body, 'send', 'read') AS BLOB)"]
)
def test_a_grant_that_cannot_be_believed_is_not_guessed(place: Place, line: str) -> None:
    place.hand.run(line)
    assert replay(place.restart()) == (1, 0, {GRANT_GONE: 2})


def test_grants_of_an_earlier_epoch_still_tell_the_past(place: Place) -> None:
    """A store that was restored voids its grants; that they were held then is as true as before."""
    before, epoch = place.hand.copy(), place.gate.sealer.epoch
    open_session(place.gate, agent="tester", owner="host")
    place.hand.put_back(before)
    gate = place.restart()
    assert gate.sealer.epoch > epoch
    assert replay(gate) == (3, 0, {})


def test_a_permission_whose_review_was_taken_away_asked_then_and_asks_again(place: Place) -> None:
    """It does not count as just reviewed, as one would that was not autonomous then."""
    place.hand.run("DELETE FROM reviews")
    gate = place.restart()
    session = open_session(gate, agent="tester", owner="host")
    asked = authorize(gate, make_request(make_call("r", {}), [Operation("post.read")], session=session))
    assert asked.decision.verdict is Verdict.ASK
    assert replay(gate) == (4, 0, {})
