"""Hooks share batches with others. Nothing of that can be seen from outside, but that they come sooner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sayso.gate.deciding.request import request_in_session
from sayso.gate.people.tokens import revoke_token
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.service.api import hooks
from sayso.service.http.endpoints import SOON_READ
from sayso.store.contract import Batch, StoreError
from tests.support import round_trips
from tests.support.round_trips import (
    ALLOWED_HOOK,
    hook_allowed,
    hook_asked,
    send_together,
    with_event,
)
from tests.support.service import Service

pytestmark = pytest.mark.each_store
SESSION = "session-1"


def under_way(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.told("operator", "GET", "/v1/calls")
    return [one for one in found if "first" not in str(one)]


@contextmanager
def no_commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every batch fails when all of it is done."""
    before = MarkedStore.batch

    @contextmanager
    def batch(self: MarkedStore) -> Iterator[Batch]:
        with before(self) as one:
            yield one
            raise StoreError("it cannot be stored")

    with monkeypatch.context() as patched:
        patched.setattr(MarkedStore, "batch", batch)
        yield


def test_two_hooks_of_one_call_in_one_batch_are_one_call(service: Service) -> None:
    asked = hook_allowed(service, "agent", SESSION, "one")
    answers = send_together(service, [asked, asked])
    assert [ALLOWED_HOOK in one.text for one in answers] == [True, True]
    assert len(under_way(service)) == 1


def test_two_hooks_of_one_call_in_one_batch_ask_once(service: Service) -> None:
    asked = hook_asked(service, "agent", SESSION, "one")
    answers = send_together(service, [asked, asked])
    assert ["Pending approval" in one.text for one in answers] == [True, True]
    assert len(service.told("operator", "GET", "/v1/questions")) == 1


def test_a_hook_whose_token_is_revoked_is_refused_in_its_batch_and_no_other(service: Service) -> None:
    first, other = (hook_allowed(service, "agent", SESSION, name) for name in ("one", "two"))
    other = other._replace(who="other_agent")
    assert service.post(other.who, other.path, other.body).status_code == 200
    revoke_token(service.gate, service.tokens["other_agent"].id, by="test")
    answers = send_together(service, [other, first])
    assert [one.status_code for one in answers] == [401, 200]
    assert ALLOWED_HOOK in answers[1].text


def test_a_hook_in_a_batch_that_cannot_be_stored_is_not_allowed_nor_remembered(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = hook_allowed(service, "agent", SESSION, "one")
    with no_commits(monkeypatch):
        refused = service.post(asked.who, asked.path, asked.body)
    assert refused.status_code == 503
    assert not under_way(service)
    prompt = with_event(asked, "PermissionRequest")
    round_trips.check(prompt, service.post(prompt.who, prompt.path, prompt.body))


def test_an_end_in_a_batch_that_cannot_be_stored_can_be_reported_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = hook_allowed(service, "agent", SESSION, "one")
    round_trips.check(asked, service.post(asked.who, asked.path, asked.body))
    end = with_event(asked, "PostToolUse")
    del end.body["tool_use_id"]  # it is known by what it is, as long as that is remembered
    with no_commits(monkeypatch):
        assert service.post(end.who, end.path, end.body).status_code == 503
    assert len(under_way(service)) == 1
    assert service.post(end.who, end.path, end.body).status_code == 200
    assert not under_way(service)


def test_ends_in_one_batch_end_their_calls(service: Service) -> None:
    asked = [hook_allowed(service, "agent", SESSION, f"name{number}") for number in range(4)]
    send_together(service, asked)
    assert len(under_way(service)) == 4
    send_together(service, [with_event(one, "PostToolUse") for one in asked])
    assert not under_way(service)


def test_a_large_call_is_read_where_nobody_waits_behind_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[str] = []

    def read(*args: Any) -> Any:
        readers.append(threading.current_thread().name)
        return request_in_session(*args)

    small = hook_allowed(service, "agent", SESSION, "small")
    large = hook_allowed(service, "agent", SESSION, "large")
    large.body["tool_input"]["text"] = "x" * SOON_READ
    monkeypatch.setattr(hooks, "request_in_session", read)
    for asked in (small, large):
        round_trips.check(asked, service.post(asked.who, asked.path, asked.body))
    assert readers[0] == "sayso-batches"
    assert readers[1] != "sayso-batches"
