"""Reviews: a domain is kept for another interval by its operator, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sayso.core.durations import DAY
from sayso.core.errors import NotSeen
from sayso.core.model import Operation, Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.passkeys import Signing
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.policy.acting_policy import OtherPolicy
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.review import ReviewDateWrong, UnknownDomain, keep_domain, load_domain_reviews
from sayso.policy import load_preset, load_text
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY, Clock, embedded

READ = "files.read"


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(request.param, tmp_path, clock) as store:
        yield open_gate(load_preset("balanced"), store, key=KEY)


def decide(gate: Gate, session: str) -> Verdict:
    call = make_call("read", {"n": 1})
    request = make_request(call, [Operation(READ)], session=session)
    return authorize(gate, request).decision.verdict


def reviewed(gate: Gate) -> tuple[bool, int]:
    (one,) = [one for one in load_domain_reviews(gate) if one.domain == "files"]
    return one.decay.decayed, round(one.days_left or 0)


def test_permissions_hold_for_the_interval_and_then_ask_until_they_are_reviewed(
    gate: Gate, clock: Clock
) -> None:
    session = open_session(gate, agent="claude", owner="me")
    clock.now += 29 * DAY
    assert (decide(gate, session), reviewed(gate)) == (Verdict.ALLOW, (False, 1))
    clock.now += DAY
    assert (decide(gate, session), reviewed(gate)) == (Verdict.ASK, (True, 0))
    keep_domain(gate, "files", by="ana")
    assert reviewed(gate) == (False, 30)
    assert decide(gate, open_session(gate, agent="claude", owner="me")) is Verdict.ALLOW


def test_using_a_permission_does_not_keep_it(gate: Gate, clock: Clock) -> None:
    session = open_session(gate, agent="claude", owner="me")
    for _ in range(30):
        decide(gate, session)
        clock.now += DAY
    assert reviewed(gate)[0]


def test_a_review_of_one_domain_keeps_no_other(gate: Gate, clock: Clock) -> None:
    clock.now += 30 * DAY
    keep_domain(gate, "files", by="ana")
    others = [one for one in load_domain_reviews(gate) if one.domain != "files"]
    assert all(one.decay.decayed for one in others)


@pytest.mark.parametrize("domain", ["nothing", "", "files.read"])
def test_what_has_no_autonomous_permission_cannot_be_kept(gate: Gate, domain: str) -> None:
    with pytest.raises(UnknownDomain):
        keep_domain(gate, domain, by="ana")


def test_a_clock_set_back_keeps_nothing(gate: Gate, clock: Clock) -> None:
    session = open_session(gate, agent="claude", owner="me")
    clock.now += 40 * DAY
    keep_domain(gate, "files", by="ana")
    clock.now -= 39 * DAY
    assert decide(gate, session) is Verdict.ASK, "time that went back is not trusted"


def test_every_review_is_in_the_trail_and_signed(gate: Gate) -> None:
    keep_domain(gate, "files", by="ana")
    with gate.store.read() as tx:
        (row,) = [row for row in tx.entries("main", limit=100) if row.event == "REVIEWED"]
        (signed,) = tx.checkpoints()
    assert signed.size >= row.seq


def test_whoever_looked_at_another_policy_keeps_nothing_in_the_one_in_force(gate: Gate, clock: Clock) -> None:
    session = open_session(gate, agent="claude", owner="me")
    clock.now += 31 * DAY
    small = "sayso: 1\ndomains:\n  files: {autonomous: [smile], requires_approval: [], blocked: []}\n"
    other = msgspec.structs.replace(gate, policy=load_text(small, name="small"))
    with pytest.raises(OtherPolicy):
        keep_domain(other, "files", by="ana")
    assert decide(gate, session) is Verdict.ASK


def test_what_is_shown_of_a_domain_is_what_decisions_see(gate: Gate, clock: Clock) -> None:
    session = open_session(gate, agent="claude", owner="me")
    clock.now += DAY
    keep_domain(gate, "files", by="ana")
    assert (decide(gate, session), reviewed(gate)) == (Verdict.ALLOW, (False, 30))
    clock.now -= 3 * DAY
    assert (decide(gate, session), reviewed(gate)) == (Verdict.ASK, (True, 0))


@pytest.mark.parametrize("seen", [None, "0" * 64])
def test_a_review_of_something_else_than_was_shown_keeps_nothing(
    gate: Gate, clock: Clock, seen: str | None
) -> None:
    clock.now += 31 * DAY
    (one,) = [one for one in load_domain_reviews(gate) if one.domain == "files"]
    page = Signing(None, ())
    with pytest.raises(NotSeen):
        keep_domain(gate, "files", by="ana", shown=Acknowledgement(seen, page))
    keep_domain(gate, "files", by="ana", shown=Acknowledgement(one.digest, page))
    assert reviewed(gate) == (False, 30)
    clock.now += DAY
    with pytest.raises(NotSeen):  # a review is for once: what proved it then proves nothing now
        keep_domain(gate, "files", by="ana", shown=Acknowledgement(one.digest, page))


def test_what_was_used_is_counted_although_the_date_in_the_file_lies_ahead(clock: Clock) -> None:
    lists = "autonomous: [read], requires_approval: [], blocked: []"
    text = f"domains:\n  files: {{{lists}, last_reviewed: 2999-01-01}}\n"
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    assert decide(gate, open_session(gate, agent="claude", owner="me")) is Verdict.ASK
    (one,) = load_domain_reviews(gate)
    assert [(use.asked, one.decay.decayed) for use in one.permissions] == [(1, True)]


@pytest.mark.parametrize("date", ["2999-01-01", "last spring"])
def test_a_domain_whose_date_in_the_file_is_wrong_is_not_said_to_be_kept(clock: Clock, date: str) -> None:
    lists = "autonomous: [read], requires_approval: [], blocked: []"
    text = f"domains:\n  files: {{{lists}, last_reviewed: {date}}}\n"
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    with pytest.raises(ReviewDateWrong, match="lies ahead or cannot be read"):
        keep_domain(gate, "files", by="ana")
    with gate.store.read() as tx:
        assert "REVIEWED" not in [row.event for row in tx.entries("main", limit=100)]
