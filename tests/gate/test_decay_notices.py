"""Three days before autonomous permissions decay a notice is given: once, whoever gives it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sayso.core.audit.entry import read_entry
from sayso.core.durations import DAY
from sayso.core.model import Operation, Verdict
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.decay_notices import find_near_decays, give_decay_notices
from sayso.gate.upkeep.review import keep_domain, load_domain_reviews
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY, Clock, embedded

FILE = """
sayso: 1
domains:
  files: {autonomous: [read], requires_approval: [], blocked: []}
  post: {autonomous: [read], requires_approval: [], blocked: [], last_reviewed: "2027-01-10"}
  bank: {autonomous: [], requires_approval: [pay], blocked: []}
"""


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(request.param, tmp_path, clock) as store:
        yield open_gate(load_text(FILE), store, key=KEY)


def given(gate: Gate) -> list[str]:
    return [one.domain for one in give_decay_notices(gate)]


def recorded(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        rows = [row for row in tx.entries("main", limit=1000) if row.event == "DECAY_NEAR"]
    return [read_entry(row.body).details["domain"] for row in rows if row.body is not None]


def at(clock: Clock, days: float) -> None:
    clock.now = 1_800_000_000.0 + days * DAY


@pytest.mark.parametrize("held_before", [False, True])
def test_a_domain_may_be_called_as_a_lock_was(held_before: bool, clock: Clock, tmp_path: Path) -> None:
    with embedded("sqlite", tmp_path, clock) as store:
        gate = open_gate(load_text(FILE.replace("  files:", "  held:")), store, key=KEY)
        if held_before:
            with gate.store.write() as tx:
                tx.set_meta("decay-notice/held", "")
        at(clock, 28)
        assert (given(gate), given(gate)) == (["held"], [])
        assert verify_audit(gate).clean
        with gate.store.read() as tx:
            assert "TAMPERED" not in [row.event for row in tx.entries("main", limit=1000)]


def test_a_notice_is_given_three_days_ahead_and_only_once(gate: Gate, clock: Clock) -> None:
    at(clock, 26.9)
    assert "files" not in given(gate)
    at(clock, 27)
    assert given(gate) == ["files"]
    at(clock, 29.9)
    assert given(gate) == []
    assert recorded(gate).count("files") == 1


def test_each_domain_goes_by_its_own_date(gate: Gate, clock: Clock) -> None:
    """1,800,000,000 is 2027-01-15 at eight; what was reviewed on the 10th decays on the 9th of February."""
    at(clock, 22)
    assert given(gate) == ["post"]
    at(clock, 27)
    assert given(gate) == ["files"]
    assert sorted(recorded(gate)) == ["files", "post"]


def test_after_a_review_the_next_notice_is_for_the_next_date(gate: Gate, clock: Clock) -> None:
    at(clock, 28)
    give_decay_notices(gate)
    keep_domain(gate, "files", by="ana")
    assert "files" not in [one.domain for one in find_near_decays(gate)]
    at(clock, 28 + 27)
    assert "files" in given(gate)
    assert recorded(gate).count("files") == 2


def test_of_several_services_one_gives_the_notice(gate: Gate, clock: Clock) -> None:
    others = [open_gate(gate.policy, gate.store, key=KEY) for _ in range(2)]
    at(clock, 28)
    assert [given(one) for one in (gate, *others, gate)] == [["files"], [], [], []]
    assert recorded(gate) == ["files"]


def test_what_has_decayed_gets_none(gate: Gate, clock: Clock) -> None:
    at(clock, 30)
    assert given(gate) == []
    assert all(one.decay.decayed for one in load_domain_reviews(gate))


def test_a_clock_set_back_gives_none(gate: Gate, clock: Clock) -> None:
    at(clock, 40)
    open_session(gate, agent="claude", owner="me")
    at(clock, 28)
    assert given(gate) == []


def test_no_decay_no_notice(gate: Gate, clock: Clock) -> None:
    off = load_text(FILE + "consent_decay: {enabled: false}\n")
    at(clock, 28)
    assert give_decay_notices(msgspec.structs.replace(gate, policy=off)) == []


@pytest.mark.parametrize("written", ['"soon"', "7", '"2999-01-01"'])
def test_a_date_that_cannot_be_read_or_lies_ahead_has_decayed_everywhere(written: str, clock: Clock) -> None:
    """In decisions, in the review that page and command line show, and there is nothing to give notice of."""
    text = FILE.replace('"2027-01-10"', written)
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me")
    request = make_request(make_call("read", {}), [Operation("post.read")], session=session)
    assert authorize(gate, request).decision.verdict is Verdict.ASK
    assert [one.decay.decayed for one in load_domain_reviews(gate) if one.domain == "post"] == [True]
    assert "post" not in [one.domain for one in find_near_decays(gate)]


@pytest.mark.parametrize("days", [22.0, 24.6, 24.7, 29.9, 30.0])
def test_decisions_and_reviews_agree_on_when_a_dated_domain_decays(
    gate: Gate, clock: Clock, days: float
) -> None:
    """The date in the file counts, and not when the store first saw the permission."""
    session = open_session(gate, agent="claude", owner="me")
    at(clock, days)
    request = make_request(make_call("read", {}), [Operation("post.read")], session=session)
    asked = authorize(gate, request).decision.verdict is Verdict.ASK
    (one,) = [one for one in load_domain_reviews(gate) if one.domain == "post"]
    assert one.decay.decayed == asked == (days > 24.66)
    assert one.decay.decays_at == 1_800_000_000.0 - 5 * DAY - 8 * 3_600 + 30 * DAY


def test_a_permission_newer_than_the_review_of_its_domain_decays_with_the_domain(
    gate: Gate, clock: Clock
) -> None:
    keep_domain(gate, "files", by="ana")
    at(clock, 20)
    more = load_text(FILE.replace("files: {autonomous: [read]", "files: {autonomous: [read, list]"))
    newer = open_gate(more, gate.store, key=KEY)
    at(clock, 31)
    session = open_session(newer, agent="claude", owner="me")
    request = make_request(make_call("list", {}), [Operation("files.list")], session=session)
    assert authorize(newer, request).decision.verdict is Verdict.ASK
    (one,) = [one for one in load_domain_reviews(newer) if one.domain == "files"]
    assert one.decay.decayed
