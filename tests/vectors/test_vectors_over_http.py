"""Every vector, replayed through the service: a host tells what is said and called, an operator answers.

A vector names operations; over HTTP a call names a tool, and the policy says what that does. So for each call
the policy's tools are made to say what the vector says, and nothing else of it is changed. What SPEC 2 and 16
keep from HTTP goes another way, and is counted: `BESIDE` are calls that a door in this process makes, with
all that is said and answered around them going over HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import msgspec
import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Origin, Request, Risk
from sayso.core.policy import Policy, Tool
from sayso.gate.as_json import decision_to_json
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.explain import preview_decision
from sayso.gate.rows.keys import make_key
from sayso.reading.resolve import add_content_digest
from sayso.service.api.call_body import describe_call as tell_call
from sayso.service.http.state import ServiceSettings
from sayso.store.memory.store import MemoryStore
from tests.support.service import Service
from tests.vectors.test_vectors import OF_THE_PROGRAM, VECTORS, as_call, door_share, hold, in_mode, named
from tests.vectors.vector_files import Step, Vector

KEY = make_key("vectors")
NO_REPOSITORY = TemporaryDirectory()
"""Where the calls are made: a folder without a repository, whose configuration could run programs."""
for script in ("tidy.sh", "deploy.sh", "migrate.sh"):
    Path(NO_REPOSITORY.name, script).write_text("echo done\n")
FREE = ServiceSettings(rate=1e9, burst=1_000_000)
BESIDE = {
    "origin": 15,  # set by the door, never by a request (SPEC 2)
    "reading": 17,  # what a reading of the call found; only scripts may give it (SPEC 16)
    "operations": 21,  # none or several at once: a tool's declaration names one
    "target": 10,  # named in the script without standing in an argument
}
"""Why a call goes through the door beside HTTP, and in how many vectors."""
STRICTER = {
    # SPEC 12: a line that no shell can read is not understood, and over HTTP a call is read as it stands.
    'git commit -m "fix, npm test': {"rule": "risky"},
    "git Status": {"rule": "risky"},  # no command of git
}
"""Command lines that are asked for a stricter reason over HTTP."""
UNTOLD = {("call", "cleared_has"): 2}
"""What a script tells and HTTP does not, and in how many vectors: what an ask itself cleared."""


def why_beside(call: Mapping[str, Any]) -> str | None:
    if call.get("origin", "agent") != "agent":
        return "origin"
    if "reading" in call:
        return "reading"
    if len(call["operations"]) != 1:
        return "operations"
    return "target" if "target" in call and target_argument(call) is None else None


def target_argument(call: Mapping[str, Any]) -> str | None:
    """The argument that holds the target."""
    return next((name for name, value in call.get("args", {}).items() if value == call["target"]), None)


def command_argument(call: Mapping[str, Any]) -> str:
    """The argument that holds the command; a script may leave it out."""
    held = (name for name, value in call.get("args", {}).items() if value == call["command"])
    return next(held, "command")


class Ticking:
    """A clock that begins at 0, as a script's does, and moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class HttpPlayer:
    """A script played over HTTP, with the results a script would have."""

    def __init__(self, policy: Policy, runner: asyncio.Runner) -> None:
        self.clock = Ticking()
        self._policy = policy
        gate = open_gate(policy, MemoryStore(clock=self.clock), key=KEY)
        self.service = Service(msgspec.structs.replace(gate, surfaces=("phone",)), runner, FREE)
        self.session = self.service.opened(workspace=NO_REPOSITORY.name)
        self.question: str | None = None
        self.allowed: tuple[str, int] | None = None

    def step(self, step: Step) -> dict[str, Any]:
        try:
            return {
                "hear": self.hear,
                "plan": self.plan,
                "call": self.call,
                "answer": self.answer,
                "outcome": self.outcome,
                "advance": self.advance,
                "begin_task": self.begin_task,
                "end_task": self.end_task,
            }[step.kind](step.value)
        except (RefusedByService, SaysoError) as error:
            return {"refused": True, "error": str(error)}

    def hear(self, text: Any) -> dict[str, Any]:
        told = self._host("POST", "messages", {"text": text})
        return told | {"answered": {"answer": told["answered"]} if told["answered"] else None}

    def plan(self, plan: Any) -> dict[str, Any]:
        return self._host("POST", "plans", {"plan": plan})

    def call(self, call: Any) -> dict[str, Any]:
        decided, told = self._beside(call) if why_beside(call) else self._over_http(call)
        assert (told["rule"], told["reason"]) == (decided["rule"], decided["reason"]), "check and call agree"
        assert (told["status"] == "allowed") == (decided["verdict"] == "allow")
        decided["question"] = None
        if told["status"] == "allowed":
            self.allowed = (told["operation_id"], told["fence"])
        elif told["status"] == "pending":
            self._asked(told["question"], decided)
        return decided

    def check(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """A check in a session of its own, as the command of that name."""
        session = self.service.opened(workspace=NO_REPOSITORY.name)
        try:
            self._declare(call)
            told = self._sent("host", "POST", "/v1/check", {**self._body(call), "session": session})
        except RefusedByService as error:
            return {"refused": True, "error": str(error)}
        checked: dict[str, Any] = told
        return checked

    def answer(self, given: Any) -> dict[str, Any]:
        if self.question is None:
            raise RefusedByService("there is no question")
        name, self.question = self.question, None
        seen = self._sent("operator", "GET", f"/v1/questions/{name}")["digest"]
        body = {"answer": given, "digest": seen}
        told = self._sent("operator", "POST", f"/v1/questions/{name}/answer", body)
        if not told["yours"]:
            raise RefusedByService("it was answered or is over")
        grants: Any = self._sent("operator", "GET", "/v1/grants")
        given_now = [f"{one['kind']} {one['value']}" for one in grants if one["question"] == name]
        return {"answer": told["answer"], "grants": given_now}

    def outcome(self, value: Any) -> dict[str, Any]:
        assert self.allowed is not None
        (call, fence), self.allowed = self.allowed, None
        ended = {"fence": fence, "state": "succeeded" if value == "ok" else "failed"}
        told: dict[str, Any] = self._sent("host", "POST", f"/v1/calls/{call}/outcome", ended)
        return told

    def advance(self, seconds: Any) -> dict[str, Any]:
        self.clock.now += seconds
        return {}

    def begin_task(self, name: Any) -> dict[str, Any]:
        return self._host("POST", "tasks", {"name": name})

    def end_task(self, _: Any) -> dict[str, Any]:
        return self._host("DELETE", "tasks")

    def _asked(self, name: str, decided: dict[str, Any]) -> None:
        """The question is put in the conversation, as a script puts it."""
        self.question = name
        asked = self._sent("operator", "GET", f"/v1/questions/{name}")
        shown = self._sent("host", "POST", f"/v1/questions/{name}/show")
        assert shown["text"] == asked["text"]
        decided["question"] = decided["announce"] = asked["text"]
        decided["offers"] = [offer["answer"] for offer in asked["offers"]]

    def _over_http(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        self._declare(call)
        body = {**self._body(call), "session": self.session}
        return self._sent("host", "POST", "/v1/check", body), self._sent("host", "POST", "/v1/calls", body)

    def _beside(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The same request, made in this process, with what HTTP must not carry."""
        gate, request = self.service.running.gate, self._request(call)
        decided = decision_to_json(preview_decision(gate, request))
        attempt = start_call(gate, request, holder=self.service.tokens["host"].id)
        return decided, msgspec.to_builtins(tell_call(gate, attempt))

    def _request(self, call: Mapping[str, Any]) -> Request:
        if call.get("origin", "agent") not in {origin.value for origin in Origin}:
            raise RefusedByService("no door sets such an origin")
        risk, reading = (Risk.parse(call[key]) if key in call else None for key in ("risk", "reading"))
        args = call.get("args", {})
        operations = [
            add_content_digest(
                Operation(
                    name, risk=risk, reading=reading, declared=True, own_row=call.get("own_row") is True
                ),
                args,
                self._policy,
            )
            for name in call["operations"]
        ]
        here = NO_REPOSITORY.name
        named = {"command": call.get("command"), "target": call.get("target")}
        made = make_call(tool_of(call), args, **named, folder=here, workspace=here)
        return make_request(
            made,
            operations,
            agent="claude",
            session=self.session,
            origin=Origin(call.get("origin", "agent")),
            confidence=call.get("confidence", 0.0),
        )

    def _declare(self, call: Mapping[str, Any]) -> None:
        """The policy, with tools that say of this call what the vector says."""
        risk = Risk.parse(call["risk"]) if "risk" in call else None
        target = None if "target" not in call else f"args.{target_argument(call)}"
        named = None if call.get("command") is None else f"args.{command_argument(call)}"
        tool = Tool(tool_of(call), operation=call["operations"][0], risk=risk, target=target, command=named)
        self.declare_tool(tool)

    def declare_tool(self, tool: Tool) -> None:
        running = self.service.running
        tools = {"tools": (tool,), "tools_named": {tool.tool: (0,)}, "tools_like": ()}
        policy = msgspec.structs.replace(self._policy, **tools)
        running.gate = msgspec.structs.replace(running.gate, live=None, policy=policy)

    def _body(self, call: Mapping[str, Any]) -> dict[str, Any]:
        command, args = call.get("command"), dict(call.get("args", {}))
        if command is not None:
            args[command_argument(call)] = command
        body = {"tool": tool_of(call), "args": args, "command": command}
        return body | ({"confidence": call["confidence"]} if "confidence" in call else {})

    def _host(self, method: str, what: str, body: Any = None) -> dict[str, Any]:
        told: dict[str, Any] = self._sent("host", method, f"/v1/sessions/{self.session}/{what}", body)
        return told

    def _sent(self, who: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
        sent = {} if body is None else {"content": json.dumps(body).encode()}
        response: httpx.Response = self.service.request(who, method, path, **sent)
        if response.status_code >= 400:
            assert response.status_code < 500, response.text
            raise RefusedByService(response.text)
        told: dict[str, Any] = response.json()
        return told


class RefusedByService(Exception):
    """A request was refused, with this problem."""


def tool_of(call: Mapping[str, Any]) -> str:
    name: str = call.get("tool") or ("shell" if call.get("command") is not None else "tool")
    return name


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@named(door_share(1))
def test_the_service_decides_the_vector_as_written(vector: Vector, runner: asyncio.Runner) -> None:
    player = HttpPlayer(in_mode(vector), runner)
    for number, step in enumerate(vector.steps, 1):
        result = player.check(as_call(step.value)) if step.kind == "check" else player.step(step)
        hold(vector, number, as_served(step), result)


def as_served(step: Step) -> Step:
    """The step, with what is expected of it over HTTP."""
    untold = {key for kind, key in UNTOLD if kind == step.kind}
    expect = {key: wanted for key, wanted in step.expect.items() if key not in OF_THE_PROGRAM | untold}
    expect |= STRICTER.get(step.value.get("command"), {}) if step.kind == "call" else {}
    return msgspec.structs.replace(step, expect=expect)


def test_what_goes_beside_http_is_counted() -> None:
    """One more has to say why here."""
    beside: Counter[str] = Counter()
    untold: Counter[tuple[str, str]] = Counter()
    for vector in VECTORS:
        calls = [step.value for step in vector.steps if step.kind == "call"]
        beside.update({why for call in calls if (why := why_beside(call)) is not None})
        untold.update({(s.kind, key) for s in vector.steps for key in s.expect if (s.kind, key) in UNTOLD})
    assert dict(beside) == BESIDE
    assert dict(untold) == UNTOLD
