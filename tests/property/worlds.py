"""Random worlds: a policy, a session with its grants, a scope and a request, with a moment to decide at.

Every piece takes a `Random`. In bulk it is a seeded one, so a case is named by its seed; under hypothesis it
is one whose draws hypothesis makes and shrinks, so what comes first in a choice is the plainest. Each world
aims at one rule: what that rule wants is likely there, what others want is rare, and near misses and the very
last instants are as common as hits.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from sayso.core.deciding.rules import RULES
from sayso.core.grants import GrantKey
from sayso.core.model import Assurance, Mode, Operation, Origin, Request, Risk
from sayso.core.policy import (
    NEVER_REVIEWED,
    Decay,
    Detail,
    Domain,
    Policy,
    Settings,
    SlashCommand,
    compile_policy,
)
from sayso.core.session import (
    Denial,
    OuterCall,
    Plan,
    Run,
    Scope,
    Sending,
    Session,
    Suspension,
    Task,
    View,
)
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request
from tests.property.draws import DAY, NOW, ago, likely, some, usually
from tests.property.random_grants import grants_for

RULE_NAMES = tuple(rule.name for rule, _ in RULES)

TIERS = (None, "autonomous", "requires_approval", "blocked")
NAMES = ("mail.send", "mail.post", "mail.read", "git.push", "git.fetch", "files.edit", "files.edit.all")
COMMANDS = (None, "git push", "git status", " git push ", "git push --force")
CATEGORIES = (None, "edits", "remote")


class World(msgspec.Struct, frozen=True):
    """Everything one decision is made from."""

    request: Request
    policy: Policy
    view: View
    now: float

    @property
    def parts(self) -> tuple[Request, Policy, View, float]:
        return self.request, self.policy, self.view, self.now


def worlds() -> st.SearchStrategy[World]:
    """The same worlds for hypothesis, which can make a failing one small."""
    return st.randoms(use_true_random=False).map(world)


def bulk(seed: int, count: int) -> Iterator[tuple[str, World]]:
    """So many worlds, each with the name it can be made again from: `world(Random(name))`."""
    for number in range(count):
        name = f"{seed}/{number}"
        yield name, world(Random(name))


def world(rng: Random) -> World:
    aim = rng.choice(("ask", *RULE_NAMES))
    request = _request(rng, aim)
    policy = _policy(rng, aim, request)
    view = View(
        session=_session(rng, aim, request, policy),
        scope=_scope(rng, aim, request),
        reviews=_reviews(rng, aim, policy),
        notices=likely(rng, 0.9 if aim == "confident" else 0.5),
        time_trusted=not likely(rng, 0.03),
        parent_stopped=likely(rng, 0.3 if aim == "stopped" else 0.01),
    )
    return World(request, policy, view, NOW)


def _risk(rng: Random, aim: str) -> Risk:
    usual = {"safe": Risk.LOW, "autonomous": Risk.LOW, "risky": Risk.HIGH}.get(aim, Risk.MODERATE)
    return usually(rng, usual, tuple(Risk), 0.85 if aim in ("safe", "plan") else 0.6)


def _maybe_risk(rng: Random, aim: str, chance: float) -> Risk | None:
    return _risk(rng, aim) if likely(rng, chance) else None


# The request


def _request(rng: Random, aim: str) -> Request:
    count = usually(rng, 1, (2, 3), 0.75)
    names = [rng.choice((*NAMES, "mail.post", "mail.send")) for _ in range(count)]
    content = rng.choice((None, "hello", "bye")) if aim != "fan_out" else "hello"
    call = make_call(
        rng.choice(("tool", "other")),
        {"n": rng.choice((1, 2))},
        command=rng.choice(COMMANDS[1:3] if aim in ("allowlist", "safe") else COMMANDS),
        target=some(rng, "a.py", "b.py"),
        workspace=rng.choice(("/w", "/v")),
        beside=("env",) if likely(rng, 0.1) else (),
        targets=rng.choice((("a.py", "b.py"), ("b.py",), ("a.py",))) if likely(rng, 0.2) else (),
    )
    request = make_request(
        call,
        [_operation(rng, aim, name, content) for name in names],
        origin=usually(rng, Origin.AGENT, tuple(Origin), 0.9),
        confidence=rng.choice((0.0, 0.85, 0.849, 0.851, 1.0))
        if aim == "confident"
        else rng.choice((0.0, 0.85)),
    )
    if not likely(rng, 0.05):
        return request
    return msgspec.structs.replace(request, call=msgspec.structs.replace(request.call, leads_to="/elsewhere"))


def _operation(rng: Random, aim: str, name: str, content: str | None) -> Operation:
    return Operation(
        name,
        risk=_maybe_risk(rng, aim, 0.35),
        weight=_maybe_risk(rng, aim, 0.2),
        reading=_maybe_risk(rng, aim, 0.2),
        content=usually(rng, content, (None, "hello"), 0.8),
        declared=not likely(rng, 0.3),
        barred="unknown recipient" if likely(rng, 0.1 if aim == "blocked" else 0.01) else None,
        own_row=likely(rng, 0.4),
    )


# The policy


def _policy(rng: Random, aim: str, request: Request) -> Policy:
    named = dict.fromkeys((*(operation.name for operation in request.operations), rng.choice(NAMES)))
    policy = compile_policy(
        mode=_mode(rng, aim),
        settings=_settings(rng, aim),
        decay=Decay(enabled=not likely(rng, 0.15), review_interval_days=rng.choice((30.0, 1.0))),
        domains=_domains(rng, aim, tuple(named)),
        operations={name: _detail(rng, aim) for name in named if likely(rng, 0.9 if aim == "safe" else 0.5)},
        slash_commands={"/go": SlashCommand(tuple(named)), "/none": SlashCommand()},
        digest="policy",
    )
    return msgspec.structs.replace(policy, tightened=_tightened(request))


def _tightened(request: Request) -> dict[str, float]:
    """When the store was tightened: mostly never, else around the time that approvals were given at."""
    rng = Random(request.digest)
    named = sorted({operation.name for operation in request.operations})
    names = rng.sample(("", *named), k=usually(rng, 0, (1, 2), 0.8))
    return {name: NOW - rng.choice((59.5, 60.0, 60.5)) for name in names}


def _mode(rng: Random, aim: str) -> Mode:
    usual = {"paranoid": Mode.PARANOID, "remembered": Mode.TRUSTING}.get(aim, Mode.BALANCED)
    return usually(rng, usual, (Mode.BALANCED, Mode.TRUSTING, Mode.PARANOID), 0.9)


def _settings(rng: Random, aim: str) -> Settings:
    return Settings(
        confidence_threshold=rng.choice((0.85, 0.0, 1.0)),
        confidence_bypass=likely(rng, 0.8 if aim == "confident" else 0.3),
        safe=usually(rng, "imperative" if aim == "safe" else "auto", ("auto", "imperative", "ask"), 0.5),
        risky_grants=rng.choice(("once", "standing")),
        unlisted="block" if likely(rng, 0.3 if aim == "blocked" else 0.03) else "ask",
        trusting_remembers_high=likely(rng, 0.5),
        grant_pins=rng.choice(("exact", "operation")),
        approval_lasts=usually(rng, 900.0, (60.0, 901.0, 3_600.0, 86_400.0), 0.7),
    )


_AIMED_TIER = {"blocked": "blocked", "autonomous": "autonomous", "safe": None}


def _domains(rng: Random, aim: str, named: tuple[str, ...]) -> dict[str, Domain]:
    """A domain for nearly every operation named; some stay in no list, some domains are missing."""
    lists: dict[str, dict[str, list[str]]] = {}
    for name in named:
        domain, _, action = name.partition(".")
        tier = usually(
            rng, _AIMED_TIER.get(aim, "requires_approval"), TIERS[:3], 0.85 if aim == "plan" else 0.6
        )
        tier = "blocked" if likely(rng, 0.02) else tier
        places = lists.setdefault(domain, {})
        if tier is not None:
            places.setdefault(tier, []).append(action)
        if likely(rng, 0.8 if aim == "trusted_channel" else 0.02):
            places.setdefault("trusted_channel_required", []).append(action)
    return {domain: _domain(rng, aim, places) for domain, places in lists.items() if not likely(rng, 0.05)}


def _domain(rng: Random, aim: str, places: dict[str, list[str]]) -> Domain:
    review = (
        rng.choice((None, ago(rng, DAY, 30 * DAY), NOW, NOW + 1, NEVER_REVIEWED))
        if likely(rng, 0.3)
        else None
    )
    lists: dict[str, Any] = {tier: tuple(actions) for tier, actions in places.items()}
    return Domain(
        **lists,
        confidence_bypass=some(rng, True, False) if likely(rng, 0.3) else None,
        fan_out="single" if likely(rng, 0.9 if aim == "fan_out" else 0.2) else "any",
        content_from="content",
        last_reviewed=review,
    )


def _detail(rng: Random, aim: str) -> Detail:
    return Detail(
        risk=_maybe_risk(rng, aim, 0.9 if aim == "safe" else 0.5),
        weight=_maybe_risk(rng, aim, 0.3),
        category=rng.choice(CATEGORIES),
        always_ask=likely(rng, 0.8 if aim == "always_ask" else 0.03),
        confidence_bypass=some(rng, True, False) if likely(rng, 0.2) else None,
        preset=likely(rng, 0.4),
        reading="accepted" if likely(rng, 0.4) else None,
    )


# What surrounds the call


def _reviews(rng: Random, aim: str, policy: Policy) -> dict[str, float]:
    interval = policy.decay.review_interval_days * DAY
    reviews = {}
    for domain in policy.domains:
        if not likely(rng, 0.3):
            reviews[domain] = ago(rng, interval) if likely(rng, 0.4) else NOW
    for name in policy.table:
        if likely(rng, 0.4):
            reviews[name] = ago(rng, interval)
    return reviews


def _scope(rng: Random, aim: str, request: Request) -> Scope:
    names = [operation.name for operation in request.operations]
    outer = run = None
    if likely(rng, 0.9 if aim == "nested" else 0.05):
        granted = {name: _risk(rng, aim) for name in names if likely(rng, 0.4)}
        outer = OuterCall(granted=granted, weight=_risk(rng, aim))
    if likely(rng, 0.9 if aim == "workflow_grant" else 0.1):
        run = Run("run-1", "digest", alive=not likely(rng, 0.1))
    reduced = 0.9 if aim == "reduced_risk" else 0.05
    return Scope(
        user_initiated="click" if likely(rng, 0.8 if aim == "user_initiated" else 0.02) else None,
        outer=outer,
        reducers={name: rng.choice(tuple(Risk)) for name in names if likely(rng, reduced)},
        run=run,
        individual=likely(rng, 0.1),
    )


# The session


def _session(rng: Random, aim: str, request: Request, policy: Policy) -> Session:
    turn = rng.choice((5, 6))
    task = usually(
        rng,
        Task("task-1", "work", 1, 4, unconfirmed=likely(rng, 0.1)),
        (None,),
        0.95 if aim == "plan" else 0.8,
    )
    plan = _plan(rng, turn) if likely(rng, 0.95 if aim == "plan" else 0.2) else None
    stopped = rng.choice(tuple(Assurance)) if likely(rng, 0.7 if aim == "stopped" else 0.02) else None
    return Session(
        workspace=request.call.workspace,
        turn=turn,
        heard_at=usually(
            rng, NOW - 1, (None, *(ago(rng, 900, 3600) for _ in range(4))), 0.8 if aim == "plan" else 0.5
        ),
        slash=_slash(rng, 0.95 if aim == "slash_command" else 0.04),
        slash_calls=usually(rng, 0, (9, 10, 11), 0.6),
        imperatives=tuple(command for command in COMMANDS[1:3] if likely(rng, 0.8 if aim == "safe" else 0.2)),
        ceiling=usually(rng, Risk.HIGH, tuple(Risk), 0.8),
        stopped=stopped,
        task=task,
        plan=plan,
        shelved=_shelved(rng, turn) if plan is not None and not plan.accepted else None,
        suspended=_suspended(rng, request, policy),
        grants=grants_for(rng, aim, request, policy, turn),
        denials=_denials(rng, aim, request, turn),
        rooted=likely(rng, 0.03),
        sent=_sent(rng, aim, request),
    )


def _slash(rng: Random, chance: float) -> str | None:
    return usually(rng, "/go", ("/none", "/gone"), 0.9) if likely(rng, chance) else None


def _shelved(rng: Random, turn: int) -> Plan | None:
    """The plan under way behind one that waits for its answer."""
    if likely(rng, 0.5):
        return None
    return msgspec.structs.replace(_plan(rng, turn), id="plan-0", accepted=True)


def _plan(rng: Random, turn: int) -> Plan:
    since = turn - rng.choice((1, 1, 2, 3, 3, 4))
    places = {"mail.send": ()} if likely(rng, 0.2) else {}
    text = PlanText("a plan", targets=("a.py",), operations=("mail.send",), places=places)
    return Plan("plan-1", text, since, since, accepted=not likely(rng, 0.1), started=likely(rng, 0.4))


def _suspended(rng: Random, request: Request, policy: Policy) -> dict[str, Suspension]:
    categories = {policy.entry(operation.name).category for operation in request.operations}
    return {
        category: Suspension(rng.choice((request.digest, "another call")), left=rng.choice((3, 1, 0)))
        for category in sorted(categories)
        if likely(rng, 0.12)
    }


def _denials(rng: Random, aim: str, request: Request, turn: int) -> dict[str, Denial]:
    if not likely(rng, 0.9 if aim == "denied_call" else 0.03):
        return {}
    digest = usually(rng, request.digest, ("another call",), 0.9)
    return {digest: Denial(usually(rng, turn, (turn - 1,), 0.85), ago(rng, 900))}


def _sent(rng: Random, aim: str, request: Request) -> dict[GrantKey, tuple[Sending, ...]]:
    if not likely(rng, 0.8 if aim == "fan_out" else 0.2):
        return {}
    row = tuple(Sending(rng.choice(NAMES[:3]), ago(rng, 600)) for _ in range(rng.choice((1, 2))))
    return {("mail", "hello"): row}
