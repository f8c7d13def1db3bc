"""Rows put back between a commit and its mark: another gate, with the same mark, must not believe them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Risk
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.contract import StoreBusy
from tests.support.by_hand import Copy, Place, postgres_place, sqlite_place
from tests.support.postgres_place import new_schema

POLICY = load_text(
    "extends: [chat]\ndomains:\n  bank: {autonomous: [], requires_approval: [pay], blocked: []}\n"
)
ROWS = ("meta", "sessions", "grants", "spends", "questions", "calls")
PATIENCE = 30.0
A_MOMENT = 0.5
"""So long we look whether somebody goes on who ought to wait. If they are slower, a fault is not found."""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = sqlite_place(tmp_path, policy=POLICY)
    else:
        made = postgres_place(new_schema(request.getfixturevalue("postgres_server")), tmp_path, POLICY)
    yield made
    made.close()


def payment(session: str) -> Request:
    return make_request(
        make_call("pay", {"amount": 7}, door="python", folder="/w", workspace="/w"),
        [Operation("bank.pay", risk=Risk.MODERATE)],
        agent="tester",
        session=session,
    )


def granted_once(place: Place) -> tuple[str, Copy]:
    """A session with consent to pay once, and its rows as they were then."""
    session = open_session(place.gate, agent="tester", owner="host", workspace="/w")
    give_grant(place.gate, session, by="ana", operation="bank.pay", uses=1)
    return session, place.hand.copy(*ROWS)


def pays(gate: Gate, session: str, *, in_batch: bool = False) -> bool:
    """Whether the payment runs. One that is only told to try again tries again, once."""
    for _ in range(2):
        try:
            with gate.marked_store.batch() if in_batch else nullcontext():
                started = start_call(gate, payment(session), holder="one")
            return started.runs
        except StoreBusy:
            continue
        except SaysoError:
            return False
    return False


@contextmanager
def stopped_after_its_commit(gate: Gate, work: Callable[..., Any], *args: Any) -> Iterator[Future[Any]]:
    """Somebody has committed this, and does not come to mark it before the block ends."""
    store: Any = gate.marked_store.unmarked
    commit, committed, goes_on = store._commit, threading.Event(), threading.Event()  # noqa: SLF001

    def commit_and_stop(*given: Any, **options: Any) -> None:
        commit(*given, **options)
        store._commit = commit  # noqa: SLF001  once
        committed.set()
        goes_on.wait(PATIENCE)

    store._commit = commit_and_stop  # noqa: SLF001
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, *args)
        assert committed.wait(PATIENCE)
        try:
            yield done
        finally:
            goes_on.set()


@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
@pytest.mark.parametrize("theirs_in_batch", [False, True], ids=["theirs-alone", "theirs-batch"])
def test_consent_that_another_has_just_used_up_is_not_used_again(
    place: Place, *, in_batch: bool, theirs_in_batch: bool
) -> None:
    session, before = granted_once(place)
    other = place.another()
    with ThreadPoolExecutor(1) as pool:
        with stopped_after_its_commit(
            other, lambda: pays(other, session, in_batch=theirs_in_batch)
        ) as theirs:
            place.hand.put_back(before)
            ours = pool.submit(pays, place.gate, session, in_batch=in_batch)
            wait([ours], timeout=A_MOMENT)
        assert theirs.result(PATIENCE), "who came first was allowed"
        assert not ours.result(PATIENCE)
    assert not pays(place.gate, session)
    assert place.reported()
    other.store.close()
