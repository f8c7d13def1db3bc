"""Playing a session in memory, step by step: what `sayso chat` and its scripts run on.

One real session of the core with a clock that only moves when told to. No store: the policy counts as just
reviewed when the session begins, and a destination for notices as given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from sayso.core import words
from sayso.core.conversation import lifecycle
from sayso.core.conversation.clearing import list_lost_consents
from sayso.core.conversation.hear import hear_text
from sayso.core.deciding.decide import Trace, decide, explain
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_answer, effects_of_showing, find_or_open_question
from sayso.core.deciding.showing import digest_seen_in_text
from sayso.core.decision import Decision, Question
from sayso.core.effects import Effect
from sayso.core.errors import MalformedRequest, UnknownAnswer
from sayso.core.model import Declaration, Operation, Origin, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Session, View, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate.as_json import decision_to_json, hearing_to_json, question_to_json
from sayso.gate.deciding.plan_from_host import read_host_plan
from sayso.gate.deciding.request import just_reviewed, make_call, make_request
from sayso.reading.call import CallReading, arguments_beside_command, read_call
from sayso.reading.command_lines import read_risk
from sayso.reading.path_operations import CallFolders
from sayso.reading.resolve import add_content_digest

CALL_KEYS = frozenset(
    {"operations", "tool", "command", "args", "target", "confidence", "risk", "reading", "own_row", "origin"}
)


class Player:
    """One session being played. `step` takes a script's line as a mapping and returns what it led to."""

    def __init__(self, policy: Policy, *, start: float = 0.0, workspace: str = "", home: str = "") -> None:
        self.policy = policy
        self.now = start
        self.home = home
        self.session = Session(workspace=workspace)
        self.reviews = just_reviewed(policy, start)
        self.question: Question | None = None
        self.last: tuple[Request, Decision] | None = None
        self.seen = self.view
        self.allowed: tuple[Request, Decision] | None = None

    @property
    def view(self) -> View:
        return View(self.session, reviews=self.reviews, notices=True)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Play one step; a step that is none of a script's, or says something unclear, is refused whole."""
        if not isinstance(step, dict) or len(step) != 1:
            raise MalformedRequest("a step is an object with one key", hint=f"use one of: {', '.join(STEPS)}")
        ((name, value),) = step.items()
        play = STEPS.get(name)
        if play is None:
            raise MalformedRequest(f"unknown step {name!r}", hint=f"use one of: {', '.join(STEPS)}")
        return play(self, value)

    def hear(self, text: object) -> dict[str, Any]:
        heard = hear_text(
            self.session,
            _text(text, "hear"),
            self.policy,
            self.now,
            risk_of=lambda command: read_risk(command, self.session.workspace, self.policy),
        )
        self._apply(heard.effects)
        return hearing_to_json(heard)

    def plan(self, plan: object) -> dict[str, Any]:
        text = self._read_plan(plan)
        report = lifecycle.report_plan(self.session, text, shown=True)  # a script prints the rendering
        self._apply(report.effects)
        return {
            "score": text.score,
            "concrete": text.concrete,
            "evidence": text.evidence,
            "targets": list(text.targets),
            "operations": list(text.operations),
            "covers": {name: list(targets) for name, targets in text.covers.items()},
            "asked": list(text.asked),
            "blocked": list(text.blocked),
            "shown": text.text,
        }

    def call(self, call: object) -> dict[str, Any]:
        request = self._request(_mapping(call, "call", CALL_KEYS))
        decision = with_offers(
            decide(request, self.policy, self.view, self.now), request, self.policy, self.view, self.now
        )
        before, self.seen = self.session, self.view
        self.last = (request, decision)
        self._apply(decision.effects)
        told = decision_to_json(decision) | question_to_json(decision, request, self.policy)
        cleared = (
            list_lost_consents(before, self.session, self.now) if decision.verdict is Verdict.ASK else ()
        )
        told |= {"announced": [words.PLAN_LEFT] if cleared else [], "cleared": list(cleared)}
        if decision.verdict is Verdict.ALLOW:
            self.allowed = (request, decision)
        if decision.verdict is Verdict.ASK:
            self.question = find_or_open_question(decision, request, self.policy, self.session, self.now)
            self._apply(effects_of_showing(self.question, self.session))
            told |= {"question": self.question.text, "announce": self.question.text}
        return told

    def explain(self, call: object) -> tuple[Decision, tuple[Trace, ...]]:
        """The decision a call would get now, with its trace; nothing changes."""
        request = self._request(_mapping(call, "call", CALL_KEYS))
        return explain(request, self.policy, self.view, self.now)

    def explain_last(self) -> tuple[Decision, tuple[Trace, ...]] | None:
        """Explain the last call's decision, in the state in which it was made."""
        return None if self.last is None else explain(self.last[0], self.policy, self.seen, self.now)

    def answer(self, given: object) -> dict[str, Any]:
        if self.question is None:
            raise UnknownAnswer("there is no question to answer", hint="make a call that asks first")
        seen = digest_seen_in_text(self.question)
        effects = effects_of_answer(
            self.question, _text(given, "answer"), self.policy, self.session, self.now, seen=seen
        )
        before = {held.grant.id for held in self.session.all_grants}
        self._apply(effects)
        self.question = None
        grants = [held.grant for held in self.session.all_grants if held.grant.id not in before]
        return {"answer": given, "grants": [f"{grant.kind} {grant.value}" for grant in grants]}

    def outcome(self, value: object) -> dict[str, Any]:
        if value not in ("ok", "error"):
            raise MalformedRequest(f"unknown outcome {value!r}", hint="use ok or error")
        if self.allowed is None:
            raise MalformedRequest("no call was allowed", hint="an outcome follows an allowed call")
        (request, decision), self.allowed = self.allowed, None
        return self._report(
            lifecycle.report_call_end(self.session, request, decision, value == "ok", self.policy, self.now)
        )

    def advance(self, seconds: object) -> dict[str, Any]:
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds < 1e10:
            raise MalformedRequest(f"cannot advance by {seconds!r}", hint="give seconds, zero or more")
        self.now += seconds
        return {"advanced": seconds, "announced": [], "cleared": []}

    def begin_task(self, name: object) -> dict[str, Any]:
        return self._report(lifecycle.report_task_begin(self.session, _text(name, "begin_task"), self.now))

    def end_task(self, value: object) -> dict[str, Any]:
        if value is not True:
            raise MalformedRequest("end_task takes true")
        return self._report(lifecycle.report_task_end(self.session, self.now))

    def _report(self, report: lifecycle.Report) -> dict[str, Any]:
        self._apply(report.effects)
        return {"announced": list(report.announced), "cleared": list(report.cleared)}

    def _apply(self, effects: tuple[Effect, ...]) -> None:
        self.session = apply_effects(self.session, effects)

    def _read_plan(self, plan: object) -> PlanText:
        return read_host_plan(plan if isinstance(plan, str) else _mapping(plan, "plan"), self.policy)

    def _request(self, call: dict[str, Any]) -> Request:
        command = _optional(call.get("command"), "command")
        args = _mapping(call.get("args", {}), "args")
        tool = _optional(call.get("tool"), "tool") or ("shell" if command is not None else "tool")
        place = self.session.workspace
        reading = self._reading(call, tool, args, command)
        named = _optional(call.get("target"), "target")
        target, targets = (reading.target, reading.targets) if not named else (named, (named,))
        made = make_call(tool, args, target=target, targets=targets, folder=place, workspace=place)
        made = structs.replace(made, command=reading.command, beside=reading.beside, places=reading.places)
        return make_request(
            made,
            reading.operations,
            session=self.session.id,
            origin=_origin(call.get("origin", "agent")),
            confidence=call.get("confidence", 0.0),
        )

    def _reading(
        self, call: dict[str, Any], tool: str, args: dict[str, Any], command: str | None
    ) -> CallReading:
        """Return the policy's reading of the call, or the operations and command that the script names."""
        place = self.session.workspace
        if "operations" in call:
            read = CallReading(self._operations_from_script(call, args))
        else:
            read = read_call(tool, args, self.policy, CallFolders(place, place, self.home), Declaration())
        if command is None:
            return read
        beside = arguments_beside_command(tool, args, command, self.policy, place)
        return structs.replace(read, command=command, beside=beside)

    def _operations_from_script(self, call: dict[str, Any], args: dict[str, Any]) -> tuple[Operation, ...]:
        """The operations a script names, with risk and reading, and whether only their rows read them so."""
        risk, reading = (Risk.parse(call[key]) if key in call else None for key in ("risk", "reading"))
        own_row = call.get("own_row") is True
        return tuple(
            add_content_digest(
                Operation(name, risk=risk, reading=reading, declared=True, own_row=own_row), args, self.policy
            )
            for name in _texts(call["operations"], "operations")
        )


STEPS: dict[str, Callable[[Player, Any], dict[str, Any]]] = {
    "hear": Player.hear,
    "plan": Player.plan,
    "call": Player.call,
    "answer": Player.answer,
    "outcome": Player.outcome,
    "advance": Player.advance,
    "begin_task": Player.begin_task,
    "end_task": Player.end_task,
}


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise MalformedRequest(f"{what} takes text, not {type(value).__name__}")
    return value


def _optional(value: object, what: str) -> str | None:
    return None if value is None else _text(value, what)


def _texts(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise MalformedRequest(f"{what} takes a list of texts")
    return tuple(_text(one, what) for one in value)


def _mapping(value: object, what: str, keys: frozenset[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedRequest(f"{what} takes an object")
    unknown = sorted(set(value) - keys) if keys is not None else []
    if unknown:
        raise MalformedRequest(
            f"{what} knows no key {unknown[0]!r}", hint=f"use: {', '.join(sorted(keys or ()))}"
        )
    return value


def _origin(word: object) -> Origin:
    try:
        return Origin(word)
    except ValueError:
        known = ", ".join(origin.value for origin in Origin)
        raise MalformedRequest(f"unknown origin {word!r}", hint=f"use one of: {known}") from None
