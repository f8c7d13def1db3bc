"""Kinds of starts and ends of calls, and how many words to the server each of them takes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from sayso.gate.sessions.operator_grants import give_grant
from sayso.service.http.batches import BatchedStep, Batches
from tests.support.service import READ, WIPE, WRITE, Service

OK, TAKEN = 200, 409
LONGEST = 60.0
"""After so many seconds one of those that were to share a batch is known not to come to it."""
HOOKS = "/v1/hooks/claude"
HERE = str(Path(__file__).parent)
ALLOWED_HOOK, DENIED_HOOK = '"permissionDecision":"allow"', '"permissionDecision":"deny"'
NOTE = {"tool": "write_note", "args": {}}
POLICY = """
sayso: 1
settings: {safe: auto}
domains:
  files: {trust_level: high, autonomous: [read], requires_approval: [write], blocked: [wipe]}
  notes: {trust_level: high, autonomous: [], requires_approval: [write], blocked: []}
tools:
  - {tool: read_file, operation: files.read}
  - {tool: write_file, operation: files.write}
  - {tool: write_note, operation: notes.write}
  - {tool: wipe, operation: files.wipe}
"""


class Asked(NamedTuple):
    """One request, who makes it, and what it has to be answered with."""

    who: str
    path: str
    body: dict[str, Any]
    status: int = OK
    told: str = "allowed"
    headers: dict[str, str] | None = None


Prepare = Callable[[Service, str, str, str], Asked]
"""Makes a request of this kind: who asks, in which session, and under a name that only this one has."""


def _body(who: str, session: str, call: dict[str, Any], name: str) -> dict[str, Any]:
    """The call with arguments of its own; an agent has one session and does not name it."""
    body = {**call, "args": {**call["args"], "path": f"{name}.txt"}}
    return body if who == "agent" else {**body, "session": session}


def _ask(who: str, body: dict[str, Any], told: str = "allowed", key: str | None = None) -> Asked:
    return Asked(who, "/v1/calls", body, OK, told, None if key is None else {"Idempotency-Key": key})


def _made(service: Service, asked: Asked) -> dict[str, Any]:
    made: dict[str, Any] = service.told(
        asked.who, "POST", asked.path, asked.body, headers=asked.headers or {}
    )
    return made


def _end_of(service: Service, who: str, made: dict[str, Any], end: dict[str, Any]) -> Asked:
    path = f"/v1/calls/{made['operation_id']}/outcome"
    return Asked(who, path, {"fence": made["fence"], **end}, told=end["state"])


def plain(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, _body(who, session, READ, name))


def with_call_id(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, {**_body(who, session, READ, name), "call_id": name})


def with_key(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, _body(who, session, READ, name), key=name)


def with_id_and_key(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, {**_body(who, session, READ, name), "call_id": name}, key=name)


def with_effect(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, {**_body(who, session, READ, name), "effect_key": f"effect {name}"})


def with_effect_again(service: Service, who: str, session: str, name: str) -> Asked:
    """The one before it failed."""
    asked = with_effect(service, who, session, name)
    _end(service, _end_of(service, who, _made(service, asked), {"state": "failed"}))
    return asked


def with_effect_taken(service: Service, who: str, session: str, name: str) -> Asked:
    asked = with_effect(service, who, session, name)
    _made(service, asked)
    return asked._replace(status=TAKEN, told="")


def using_an_approval(service: Service, who: str, session: str, name: str) -> Asked:
    asked = _ask(who, _body(who, session, WRITE, name))
    service.answer(_made(service, asked)["question"], "once")
    return asked


def using_a_grant(service: Service, who: str, session: str, name: str) -> Asked:
    """The first call of a session asks, and the operator gives a grant for all that come after it."""
    made = _made(service, _ask(who, _body(who, session, NOTE, name)))
    if made["status"] == "pending":
        give_grant(service.gate, made["session"], by="operator", operation="notes.write", minutes=60)
    return _ask(who, _body(who, session, NOTE, f"{name}-again"))


def asking(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, _body(who, session, WRITE, name), "pending")


def joining_a_question(service: Service, who: str, session: str, name: str) -> Asked:
    asked = asking(service, who, session, name)
    _made(service, asked)
    return asked


def blocked(service: Service, who: str, session: str, name: str) -> Asked:
    return _ask(who, _body(who, session, WIPE, name), "blocked")


def denied_before(service: Service, who: str, session: str, name: str) -> Asked:
    asked = _ask(who, _body(who, session, WRITE, name), "denied")
    service.answer(_made(service, asked)["question"], "deny")
    return asked


def _retry_of(asked: dict[str, Any], who: str, told: str = "allowed") -> Asked:
    return Asked(who, f"/v1/calls/{asked['operation_id']}/retry", {}, told=told)


def retried_when_approved(service: Service, who: str, session: str, name: str) -> Asked:
    made = _made(service, asking(service, who, session, name))
    service.answer(made["question"], "once")
    return _retry_of(made, who)


def retried_when_denied(service: Service, who: str, session: str, name: str) -> Asked:
    made = _made(service, asking(service, who, session, name))
    service.answer(made["question"], "deny")
    return _retry_of(made, who, "denied")


def retried_too_soon(service: Service, who: str, session: str, name: str) -> Asked:
    return _retry_of(_made(service, asking(service, who, session, name)), who, "pending")


def retried_with_effect(service: Service, who: str, session: str, name: str) -> Asked:
    made = _made(service, _ask(who, {**_body(who, session, WRITE, name), "effect_key": f"effect {name}"}))
    service.answer(made["question"], "once")
    return _retry_of(made, who)


def ungated(service: Service, who: str, session: str, name: str) -> Asked:
    body = {**_body(who, session, {"tool": "helper", "args": {}}, name), "ungated": True}
    return _ask(who, body)


def repeated_by_id(service: Service, who: str, session: str, name: str) -> Asked:
    asked = with_call_id(service, who, session, name)
    _made(service, asked)
    return asked._replace(told="running")


def repeated_by_key(service: Service, who: str, session: str, name: str) -> Asked:
    asked = with_key(service, who, session, name)
    _end(service, _end_of(service, who, _made(service, asked), {"state": "succeeded", "result": 1}))
    return asked._replace(told="succeeded")


def repeated_while_asked(service: Service, who: str, session: str, name: str) -> Asked:
    asked = _ask(who, {**_body(who, session, WRITE, name), "call_id": name}, "pending")
    _made(service, asked)
    return asked


def repeated_after_answer(service: Service, who: str, session: str, name: str) -> Asked:
    asked = _ask(who, {**_body(who, session, WRITE, name), "call_id": name}, "pending")
    service.answer(_made(service, asked)["question"], "once")
    return asked


def reusing_an_id(service: Service, who: str, session: str, name: str) -> Asked:
    """An id that stands for another call."""
    asked = with_call_id(service, who, session, name)
    _made(service, asked)
    other = {**asked.body, "args": {"path": f"{name}-other.txt"}}
    return asked._replace(body=other, status=TAKEN, told="")


STARTS: dict[str, Prepare] = {
    each.__name__: each
    for each in (
        plain, with_call_id, with_key, with_id_and_key, using_an_approval, using_a_grant, asking,
        joining_a_question, blocked, denied_before, repeated_by_id, repeated_by_key, repeated_while_asked,
        repeated_after_answer, reusing_an_id, retried_when_approved, retried_when_denied, retried_too_soon,
    )
}  # fmt: skip
HOST_STARTS: dict[str, Prepare] = {
    each.__name__: each
    for each in (with_effect, with_effect_again, with_effect_taken, retried_with_effect, ungated)
}
RUNNING: dict[str, Prepare] = {
    each.__name__: each
    for each in (plain, with_call_id, using_an_approval, using_a_grant, retried_when_approved)
}
ENDS: dict[str, dict[str, Any]] = {
    "succeeded": {"state": "succeeded"},
    "succeeded_with_result": {"state": "succeeded", "result": {"lines": 3}},
    "failed": {"state": "failed"},
    "failed_with_reason": {"state": "failed", "unkept": "no space left"},
    "ambiguous": {"state": "ambiguous"},
}


def end_after(start: Prepare, end: dict[str, Any]) -> Prepare:
    """The end of a call that was started so."""

    def ending(service: Service, who: str, session: str, name: str) -> Asked:
        return _end_of(service, who, _made(service, start(service, who, session, name)), end)

    return ending


def _hook(session: str, call: dict[str, Any], name: str, told: str = ALLOWED_HOOK, id_: str = "") -> Asked:
    """What Claude Code reports of this call, in its session of this name."""
    body = {
        "session_id": session, "cwd": HERE, "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": call["tool"], "tool_input": {**call["args"], "path": f"{name}.txt"},
        "tool_use_id": id_ or name,
    }  # fmt: skip
    return Asked("agent", f"{HOOKS}/PreToolUse", body, told=told)


def open_hooks(service: Service, session: str) -> None:
    """The first thing a host reports opens its session."""
    _send_hook(service, _hook(session, READ, "first"))


def _send_hook(service: Service, asked: Asked) -> None:
    check(asked, service.post(asked.who, asked.path, asked.body))


def _answer_hook(service: Service, asked: Asked, given: str) -> None:
    """The operator answers the question that this hook has opened."""
    path = asked.body["tool_input"]["path"]
    questions = service.told("operator", "GET", "/v1/questions")
    service.answer(next(one["id"] for one in questions if path in str(one)), given)


def hook_allowed(service: Service, who: str, session: str, name: str) -> Asked:
    open_hooks(service, session)
    return _hook(session, READ, name)


def hook_asked(service: Service, who: str, session: str, name: str) -> Asked:
    open_hooks(service, session)
    return _hook(session, WRITE, name, "Pending approval")


def hook_joining_a_question(service: Service, who: str, session: str, name: str) -> Asked:
    asked = hook_asked(service, who, session, name)
    _send_hook(service, asked)
    return _hook(session, WRITE, name, "Pending approval", id_=f"{name} again")


def hook_blocked(service: Service, who: str, session: str, name: str) -> Asked:
    open_hooks(service, session)
    return _hook(session, WIPE, name, DENIED_HOOK)


def hook_denied_before(service: Service, who: str, session: str, name: str) -> Asked:
    asked = hook_asked(service, who, session, name)
    _send_hook(service, asked)
    _answer_hook(service, asked, "deny")
    return _hook(session, WRITE, name, DENIED_HOOK, id_=f"{name} again")


def hook_using_an_approval(service: Service, who: str, session: str, name: str) -> Asked:
    asked = hook_asked(service, who, session, name)
    _send_hook(service, asked)
    _answer_hook(service, asked, "once")
    return _hook(session, WRITE, name, id_=f"{name} again")


def hook_using_a_grant(service: Service, who: str, session: str, name: str) -> Asked:
    """The first call of a session asks, and the operator gives a grant for all that come after it."""
    open_hooks(service, session)
    first = service.post(who, f"{HOOKS}/PreToolUse", _hook(session, NOTE, name).body)
    if "Pending approval" in first.text:
        questions = service.told("operator", "GET", "/v1/questions")
        mine = next(one["session"] for one in questions if f"{name}.txt" in str(one))
        give_grant(service.gate, mine, by="operator", operation="notes.write", minutes=60)
    return _hook(session, NOTE, f"{name}-again")


def hook_repeated(service: Service, who: str, session: str, name: str) -> Asked:
    """The same host id again, as when two hooks see one call."""
    asked = hook_allowed(service, who, session, name)
    _send_hook(service, asked)
    return asked


def hook_repeated_while_asked(service: Service, who: str, session: str, name: str) -> Asked:
    asked = hook_asked(service, who, session, name)
    _send_hook(service, asked)
    return asked


def hook_repeated_after_denial(service: Service, who: str, session: str, name: str) -> Asked:
    asked = hook_asked(service, who, session, name)
    _send_hook(service, asked)
    _answer_hook(service, asked, "deny")
    return asked._replace(told=DENIED_HOOK)


def hook_repeated_after_end(service: Service, who: str, session: str, name: str) -> Asked:
    """A host that counts its calls from the beginning again: it is another call."""
    asked = hook_allowed(service, who, session, name)
    _send_hook(service, asked)
    _send_hook(service, with_event(asked, "PostToolUse"))
    return asked


def hook_reusing_an_id(service: Service, who: str, session: str, name: str) -> Asked:
    asked = hook_allowed(service, who, session, name)
    _send_hook(service, asked)
    return _hook(session, READ, f"{name}-other", id_=name)


def hook_of_prompt(service: Service, who: str, session: str, name: str) -> Asked:
    """The host would show its own prompt about a call that was allowed just now."""
    asked = hook_allowed(service, who, session, name)
    _send_hook(service, asked)
    return with_event(asked, "PermissionRequest")


def with_event(asked: Asked, event: str) -> Asked:
    """Another event about the same call, to which the host wants no answer."""
    body = {**asked.body, "hook_event_name": event}
    return asked._replace(path=f"{HOOKS}/{event}", body=body, told="sayso-hook 0 0 0")


def hook_end_of(start: Prepare, event: str) -> Prepare:
    """The host reports how a call ended that was started so."""

    def ending(service: Service, who: str, session: str, name: str) -> Asked:
        asked = start(service, who, session, name)
        _send_hook(service, asked)
        return with_event(asked, event)

    return ending


def hook_end_of_no_call(service: Service, who: str, session: str, name: str) -> Asked:
    return with_event(hook_allowed(service, who, session, name), "PostToolUse")


def hook_end_with_output(service: Service, who: str, session: str, name: str) -> Asked:
    """The host tells what the tool returned as well, however long that is."""
    asked = hook_end_of(hook_allowed, "PostToolUse")(service, who, session, name)
    return asked._replace(body={**asked.body, "tool_response": {"text": "x" * 100_000}})


HOOK_STARTS: dict[str, Prepare] = {
    each.__name__: each
    for each in (
        hook_allowed, hook_asked, hook_joining_a_question, hook_blocked, hook_denied_before,
        hook_using_an_approval, hook_using_a_grant, hook_repeated, hook_repeated_while_asked,
        hook_repeated_after_denial, hook_repeated_after_end, hook_reusing_an_id, hook_of_prompt,
    )
}  # fmt: skip
HOOK_ENDS: dict[str, Prepare] = {
    f"{each.__name__}, {event}": hook_end_of(each, event)
    for each in (hook_allowed, hook_using_an_approval, hook_using_a_grant)
    for event in ("PostToolUse", "PostToolUseFailure")
} | {each.__name__: each for each in (hook_end_with_output, hook_end_of_no_call)}


def _beat_of(service: Service, asked: Asked) -> Asked:
    made = _made(service, asked)
    path = f"/v1/calls/{made['operation_id']}/heartbeat"
    return Asked(asked.who, path, {"fence": made["fence"]}, told="running")


def beat(service: Service, who: str, session: str, name: str) -> Asked:
    asked = plain(service, who, session, name)
    return _beat_of(service, asked._replace(body={**asked.body, "beats": True}))


def first_beat(service: Service, who: str, session: str, name: str) -> Asked:
    """Its holder has promised none."""
    return _beat_of(service, plain(service, who, session, name))


def beat_of_approved(service: Service, who: str, session: str, name: str) -> Asked:
    return _beat_of(service, using_an_approval(service, who, session, name))


def beat_of_another(service: Service, who: str, session: str, name: str) -> Asked:
    """Whoever sends it does not hold the call."""
    return beat(service, who, session, name)._replace(body={"fence": 7}, status=TAKEN)


BEATS: dict[str, Prepare] = {
    each.__name__: each for each in (beat, first_beat, beat_of_approved, beat_of_another)
}


def _end(service: Service, asked: Asked) -> None:
    service.told(asked.who, "POST", asked.path, asked.body)


async def send(service: Service, asked: Asked) -> httpx.Response:
    return await service.ask(asked.who, "POST", asked.path, asked.body, headers=asked.headers or {})


def check(asked: Asked, response: httpx.Response) -> None:
    assert response.status_code == asked.status, response.text
    if asked.path.startswith(HOOKS):
        assert asked.told in response.text
    elif asked.status == OK:
        assert response.json()["status"] == asked.told, response.text


def send_together(service: Service, asked: Sequence[Asked]) -> list[httpx.Response]:
    """All of them come while another batch is under way, and so are in one."""
    batches: Batches = service.running.batches
    begun, all_there = threading.Event(), threading.Event()
    came: list[None] = []
    run = batches.run

    def wait_for_all() -> BatchedStep:
        begun.set()
        all_there.wait()
        return BatchedStep(lambda: None)

    async def run_counted(*wanted: Any) -> Any:
        answer = asyncio.ensure_future(run(*wanted))
        await asyncio.sleep(0)  # now it waits for the next batch
        came.append(None)
        if len(came) == len(asked):
            all_there.set()
        return await answer

    async def send_all() -> list[httpx.Response]:
        first = asyncio.ensure_future(run(wait_for_all))
        await asyncio.to_thread(begun.wait)
        try:
            async with asyncio.timeout(LONGEST):
                answers = await asyncio.gather(*[send(service, one) for one in asked])
        finally:
            all_there.set()
        await first
        return answers

    batches.run = run_counted  # type: ignore[assignment,method-assign]
    try:
        return service.runner.run(send_all())
    finally:
        batches.run = run  # type: ignore[method-assign]
