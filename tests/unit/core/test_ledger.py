"""The ledger's states one by one: what may follow which, who holds a call, and when nobody does."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from sayso.core.ledger import (
    ENDED,
    LEASE,
    NEXT,
    CallStanding,
    NotNow,
    State,
    check_holder,
    expire_lease,
    finish_running,
    move_to_state,
    park_running,
    release_running,
    renew_lease,
    resolve_ambiguous,
    resume_parked,
    start_running,
)
from tests.support.rows import each_row

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
RUNNING = CallStanding("running", 3, "one", NOW + LEASE)


@each_row(("state", "to"), PAIRS)
def test_a_call_moves_only_along_the_table_and_keeps_its_fence_but_no_lease(state: State, to: State) -> None:
    before = CallStanding(state, 3, "one", NOW)
    if to in FOLLOWING.get(state, "").split():
        assert move_to_state(before, to) == CallStanding(to, 3, None, None)
        return
    with pytest.raises(NotNow) as refused:
        move_to_state(before, to)
    assert refused.value.code == "ledger"


def test_what_nothing_follows_has_ended() -> None:
    assert set(NEXT) == set(STATES)
    assert {"succeeded", "failed", "denied", "expired", "cancelled"} == ENDED


def test_a_call_stands_without_holder_lease_or_start_until_it_is_started() -> None:
    assert CallStanding("allowed") == CallStanding("allowed", 0, None, None)


@pytest.mark.parametrize("state", STATES)
def test_a_start_takes_an_allowed_or_waiting_call_with_the_next_fence_and_a_lease(state: State) -> None:
    before = CallStanding(state, 3)
    if state in ("allowed", "waiting"):
        assert start_running(before, "two", NOW) == CallStanding("running", 4, "two", NOW + 30)
        assert start_running(before, "two", NOW, lease=5.0).lease_until == NOW + 5
        return
    with pytest.raises(NotNow):
        start_running(before, "two", NOW)


def test_a_sign_of_life_moves_the_end_of_the_lease_and_nothing_else() -> None:
    assert renew_lease(RUNNING, 3, NOW + 10) == CallStanding("running", 3, "one", NOW + 40)
    assert renew_lease(RUNNING, 3, NOW + 10, lease=5.0).lease_until == NOW + 15


@each_row("state", STATES)
@each_row("fence", [2, 3, 4])
def test_only_who_holds_the_running_start_is_heard(state: State, fence: int) -> None:
    standing = CallStanding(state, 3, "one", NOW)
    if (state, fence) == ("running", 3):
        assert renew_lease(standing, fence, NOW).state == "running"
        assert finish_running(standing, fence, "failed") == CallStanding("failed", 3)
        return
    with pytest.raises(NotNow):
        renew_lease(standing, fence, NOW)
    if (state, fence) != ("ambiguous", 3):
        with pytest.raises(NotNow):
            finish_running(standing, fence, "failed")


def test_the_holder_whose_lease_ran_out_may_still_say_how_it_ended_but_not_run_it_again() -> None:
    ambiguous = CallStanding("ambiguous", 3)
    assert finish_running(ambiguous, 3, "succeeded") == CallStanding("succeeded", 3)
    for to in AGAIN:
        with pytest.raises(NotNow):
            finish_running(ambiguous, 3, to)


@pytest.mark.parametrize(("late", "lapsed"), [(-1.0, False), (0.0, True), (1.0, True)])
def test_a_lease_is_over_at_its_very_end(late: float, lapsed: bool) -> None:
    after = expire_lease(RUNNING, NOW + LEASE + late)
    assert after == (CallStanding("ambiguous", 3) if lapsed else RUNNING)


@pytest.mark.parametrize("state", STATES)
def test_what_does_not_run_or_has_no_lease_does_not_lapse(state: State) -> None:
    if state != "running":
        held = CallStanding(state, 3, "one", NOW)
        assert expire_lease(held, NOW + 60) is held
    free = CallStanding(state, 3)
    assert expire_lease(free, NOW + 60) is free


@each_row(("state", "to"), PAIRS)
def test_only_an_ambiguous_call_is_resolved_and_only_as_succeeded_or_failed(state: State, to: State) -> None:
    if state == "ambiguous" and to in ("succeeded", "failed"):
        assert resolve_ambiguous(CallStanding(state, 3), to) == CallStanding(to, 3)
        return
    with pytest.raises(NotNow):
        resolve_ambiguous(CallStanding(state, 3), to)


@each_row("state", STATES)
@each_row("fence", [2, 3, 4])
def test_only_who_holds_a_running_call_gives_it_back_or_parks_it(state: State, fence: int) -> None:
    standing = CallStanding(state, 3, "one", NOW)
    if (state, fence) == ("running", 3):
        assert release_running(standing, fence) == CallStanding("allowed", 3, None, None)
        assert park_running(standing, fence) == CallStanding("waiting", 3, None, None)
        check_holder(standing, fence)
        return
    for act in (release_running, park_running, check_holder):
        with pytest.raises(NotNow):
            act(standing, fence)


@pytest.mark.parametrize("state", STATES)
def test_only_a_parked_call_is_resumed_and_under_the_next_fence_with_a_lease(state: State) -> None:
    standing = CallStanding(state, 3)
    if state == "waiting":
        assert resume_parked(standing, "two", NOW) == CallStanding("running", 4, "two", NOW + LEASE)
        assert resume_parked(standing, "two", NOW, 5.0).lease_until == NOW + 5.0
        return
    with pytest.raises(NotNow, match="not parked"):
        resume_parked(standing, "two", NOW)


def test_a_parked_call_never_lapses() -> None:
    parked = park_running(RUNNING, 3)
    assert expire_lease(parked, NOW + 1_000 * LEASE) == parked
