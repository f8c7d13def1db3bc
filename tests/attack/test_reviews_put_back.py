"""Whatever becomes of the rows of reviews, no permission that has decayed is fresh again, and it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.model import Operation, Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.check import check_on_store
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.review import load_domain_reviews
from sayso.policy import load_text
from tests.support.by_hand import Place, sqlite_place
from tests.support.gates import Clock

DAY = 86_400.0
BEFORE = load_text("""
extends: [chat]
domains: {post: {trust_level: high, autonomous: [read], requires_approval: [], blocked: []}}
""")
SINCE = load_text("""
extends: [chat]
domains: {post: {trust_level: high, autonomous: [read, list], requires_approval: [], blocked: []}}
""")


def review(gate: Gate, domain: str, at: float) -> None:
    """The operator reviews a domain; at 0 it counts as not reviewed."""
    with gate.store.write() as tx:
        before = next(iter(tx.reviews([domain])), None)
        tx.put_review(gate.sealer.review(domain, at, "ana", before=before))


def runs(gate: Gate, operation: str) -> bool:
    session = open_session(gate, agent="tester", owner="host")
    request = make_request(make_call("read", {}), [Operation(operation)], session=session)
    return authorize(gate, request).decision.verdict is Verdict.ALLOW


def assert_not_runs(place: Place, operation: str) -> None:
    """Neither in the gate that runs on nor in one opened after it; and the review shows that it asks."""
    assert not runs(place.gate, operation)
    assert is_shown_decayed(place.gate)
    for _ in range(2):
        gate = place.restart()
        assert not runs(gate, operation)
        assert is_shown_decayed(gate)


def is_shown_decayed(gate: Gate) -> bool:
    return next(one.decay.decayed for one in load_domain_reviews(gate) if one.domain == "post")


@pytest.fixture
def place(tmp_path: Path, clock: Clock) -> Iterator[Place]:
    with closing(sqlite_place(tmp_path, clock, BEFORE)) as made:
        yield made


Way = Callable[[Place], None]


def deleted(place: Place) -> None:
    place.hand.run("DELETE FROM reviews WHERE name = 'post'")


def changed(place: Place) -> None:
    place.hand.run("UPDATE reviews SET at = at + 86400 * 25 WHERE name = 'post'")


def taken_from_another(place: Place) -> None:
    place.hand.run("UPDATE reviews SET mac = (SELECT mac FROM reviews WHERE name = 'post.read')")


WAYS = [deleted, changed, taken_from_another]


@pytest.mark.parametrize("way", WAYS)
def test_a_permission_newer_than_its_decayed_review_is_not_fresh_once_the_review_is_gone(
    place: Place, clock: Clock, way: Way
) -> None:
    """The review of the domain counts. Without its row, the younger row of the permission must not."""
    review(place.gate, "post", clock.now)
    clock.now += 20 * DAY
    place.policy = SINCE
    assert runs(place.restart(), "post.list")
    clock.now += 11 * DAY
    assert not runs(place.gate, "post.list")
    way(place)
    assert_not_runs(place, "post.list")
    assert place.reported() > 0


@pytest.mark.parametrize("way", WAYS)
def test_a_review_that_was_declared_void_does_not_count_once_its_row_is_gone(
    place: Place, clock: Clock, way: Way
) -> None:
    review(place.gate, "post", 0.0)
    assert not runs(place.gate, "post.read")
    way(place)
    assert_not_runs(place, "post.read")
    assert place.reported() > 0


def test_an_older_review_put_back_does_not_count_and_neither_does_what_is_younger(
    place: Place, clock: Clock
) -> None:
    review(place.gate, "post", clock.now)
    copy = place.hand.copy("reviews")
    review(place.gate, "post", 0.0)
    place.hand.put_back(copy)
    assert_not_runs(place, "post.read")
    assert place.reported() > 0


def test_a_check_without_effects_sees_the_same(place: Place) -> None:
    review(place.gate, "post", 0.0)
    deleted(place)
    request = make_request(make_call("read", {}), [Operation("post.read")], session="")
    assert check_on_store(place.gate, request, in_session=False).decision.verdict is not Verdict.ALLOW


@pytest.mark.parametrize("name", ["post", "post.read"])
def test_a_review_that_was_taken_away_is_reported_by_the_gate_that_runs_on(place: Place, name: str) -> None:
    with place.gate.store.read() as tx:
        now = tx.now
    review(place.gate, "post", now)
    before = place.reported()
    place.hand.run(f"DELETE FROM reviews WHERE name = '{name}'")  # noqa: S608  a name of our own
    runs(place.gate, "post.read")
    assert place.reported() > before
