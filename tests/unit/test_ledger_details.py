"""The ledger's states one by one: what may follow which, who holds a call, and when nobody does."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from sayso.core.ledger import (
    ENDED,
    LEASE,
    NEXT,
    NotNow,
    Standing,
    State,
    beat,
    finish,
    held,
    lapse,
    move,
    park,
    release,
    resolve,
    resume,
    start,
)

NOW = 1_800_000_000.0
STATES: tuple[State, ...] = get_args(State)
PAIRS = list(itertools.product(STATES, STATES))
AGAIN: tuple[State, ...] = ("running", "waiting", "allowed")
FOLLOWING: dict[State, str] = {
    "pending": "allowed denied expired cancelled",
    "allowed": "running pending expired cancelled",
    "running": "succeeded failed ambiguous waiting allowed",
    "waiting": "running failed denied expired cancelled ambiguous",
    "ambiguous": "succeeded failed",
}
RUNNING = Standing("running", 3, "one", NOW + LEASE)


@pytest.mark.parametrize(("state", "to"), PAIRS)
def test_a_call_moves_only_along_the_table_and_keeps_its_fence_but_no_lease(state: State, to: State) -> None:
    before = Standing(state, 3, "one", NOW)
    if to in FOLLOWING.get(state, "").split():
        assert move(before, to) == Standing(to, 3, None, None)
        return
    with pytest.raises(NotNow) as refused:
        move(before, to)
    assert refused.value.code == "ledger"


def test_what_nothing_follows_has_ended() -> None:
    assert set(NEXT) == set(STATES)
    assert {"succeeded", "failed", "denied", "expired", "cancelled"} == ENDED


def test_a_call_stands_without_holder_lease_or_start_until_it_is_started() -> None:
    assert Standing("allowed") == Standing("allowed", 0, None, None)


@pytest.mark.parametrize("state", STATES)
def test_a_start_takes_an_allowed_or_waiting_call_with_the_next_fence_and_a_lease(state: State) -> None:
    before = Standing(state, 3)
    if state in ("allowed", "waiting"):
        assert start(before, "two", NOW) == Standing("running", 4, "two", NOW + 30)
        assert start(before, "two", NOW, lease=5.0).lease_until == NOW + 5
        return
    with pytest.raises(NotNow):
        start(before, "two", NOW)


def test_a_sign_of_life_moves_the_end_of_the_lease_and_nothing_else() -> None:
    assert beat(RUNNING, 3, NOW + 10) == Standing("running", 3, "one", NOW + 40)
    assert beat(RUNNING, 3, NOW + 10, lease=5.0).lease_until == NOW + 15


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("fence", [2, 3, 4])
def test_only_who_holds_the_running_start_is_heard(state: State, fence: int) -> None:
    standing = Standing(state, 3, "one", NOW)
    if (state, fence) == ("running", 3):
        assert beat(standing, fence, NOW).state == "running"
        assert finish(standing, fence, "failed") == Standing("failed", 3)
        return
    with pytest.raises(NotNow):
        beat(standing, fence, NOW)
    if (state, fence) != ("ambiguous", 3):
        with pytest.raises(NotNow):
            finish(standing, fence, "failed")


def test_the_holder_whose_lease_ran_out_may_still_say_how_it_ended_but_not_run_it_again() -> None:
    ambiguous = Standing("ambiguous", 3)
    assert finish(ambiguous, 3, "succeeded") == Standing("succeeded", 3)
    for to in AGAIN:
        with pytest.raises(NotNow):
            finish(ambiguous, 3, to)


@pytest.mark.parametrize(("late", "lapsed"), [(-1.0, False), (0.0, True), (1.0, True)])
def test_a_lease_is_over_at_its_very_end(late: float, lapsed: bool) -> None:
    after = lapse(RUNNING, NOW + LEASE + late)
    assert after == (Standing("ambiguous", 3) if lapsed else RUNNING)


@pytest.mark.parametrize("state", STATES)
def test_what_does_not_run_or_has_no_lease_does_not_lapse(state: State) -> None:
    if state != "running":
        held = Standing(state, 3, "one", NOW)
        assert lapse(held, NOW + 60) is held
    free = Standing(state, 3)
    assert lapse(free, NOW + 60) is free


@pytest.mark.parametrize(("state", "to"), PAIRS)
def test_only_an_ambiguous_call_is_resolved_and_only_as_succeeded_or_failed(state: State, to: State) -> None:
    if state == "ambiguous" and to in ("succeeded", "failed"):
        assert resolve(Standing(state, 3), to) == Standing(to, 3)
        return
    with pytest.raises(NotNow):
        resolve(Standing(state, 3), to)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("fence", [2, 3, 4])
def test_only_who_holds_a_running_call_gives_it_back_or_parks_it(state: State, fence: int) -> None:
    standing = Standing(state, 3, "one", NOW)
    if (state, fence) == ("running", 3):
        assert release(standing, fence) == Standing("allowed", 3, None, None)
        assert park(standing, fence) == Standing("waiting", 3, None, None)
        held(standing, fence)
        return
    for act in (release, park, held):
        with pytest.raises(NotNow):
            act(standing, fence)


@pytest.mark.parametrize("state", STATES)
def test_only_a_parked_call_is_resumed_and_under_the_next_fence_with_a_lease(state: State) -> None:
    standing = Standing(state, 3)
    if state == "waiting":
        assert resume(standing, "two", NOW) == Standing("running", 4, "two", NOW + LEASE)
        assert resume(standing, "two", NOW, 5.0).lease_until == NOW + 5.0
        return
    with pytest.raises(NotNow, match="not parked"):
        resume(standing, "two", NOW)


def test_a_parked_call_never_lapses() -> None:
    parked = park(RUNNING, 3)
    assert lapse(parked, NOW + 1_000 * LEASE) == parked
