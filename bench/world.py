"""The world the decision is measured in: a policy of n × 10 operations, a busy session, 2,000 requests.

The session has worked in twelve domains, however many the policy has. Every case of the mix says which
verdict it must get by which rule, and `check` holds it to that before anything is timed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.digest import sha256
from sayso.core.durations import DAY, MINUTE
from sayso.core.grants import Grant, GrantKind, HeldGrant, Pins
from sayso.core.model import Call, Mode, Operation, Request, Risk, Tier, Verdict
from sayso.core.policy import Detail, Domain, Policy, Terms, compile_policy
from sayso.core.session import Denial, Session, Task, View

NOW = 1_800_000_000.0
REQUESTS = 2_000
HOMES = 12
SESSION, TASK, WORKSPACE = "session-7", "task-3", "/home/user/project"

READING = ("read", "list", "search")
CHANGING = ("edit", "label", "send", "share", "publish", "amend")
BLOCKED = ("delete",)

CATEGORIES = {
    "file-edit": "file edits",
    "git-local": "git",
    "test-build": "tests and builds",
    "scripts": "scripts",
    "git-remote": "remote git",
    "network": "network",
}
CONSENTED = ("file-edit", "git-local", "test-build", "scripts")
ALLOWLIST = tuple(f"git push origin release-{n}" for n in range(8))
UNKNOWN = ("git push --force",)


class Case(msgspec.Struct, frozen=True):
    """One kind of request: its share of the mix, how it must be decided, and where and how it is made."""

    percent: int
    verdict: Verdict
    rule: str
    what: str
    where: str
    actions: tuple[str, ...]
    confidence: float = 0.0
    commands: tuple[str, ...] = ()
    answer: str = ""
    """What a person already answered to exactly this call."""


ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY

MIX = (
    Case(19, ALLOW, "autonomous", "autonomous, reviewed in time", "reviewed", READING),
    Case(9, ALLOW, "task_grant", "category consented to in this task", "consented", ("edit",)),
    Case(6, ALLOW, "operation_grant", "live grant that fits the call", "homes", ("label",)),
    Case(5, ALLOW, "allowlist", "command on the session allowlist", "all", ("publish",), commands=ALLOWLIST),
    Case(4, ALLOW, "confident", "confidence 0.93, operator told", "all", ("send",), 0.93),
    Case(2, ALLOW, "approved_call", "exactly this call approved", "homes", ("publish",), answer="once"),
    Case(11, ASK, "ask", "grant expired, foreign or ill-fitting", "homes", ("share",)),
    Case(7, ASK, "ask", "autonomous, but decayed", "decayed", READING),
    Case(6, ASK, "ask", "confidence 0.6, too low", "all", ("send",), 0.6),
    Case(6, ASK, "risky", "high risk, command not on the allowlist", "all", ("publish",), commands=UNKNOWN),
    Case(5, ASK, "ask", "first of its category in this task", "new", ("edit",)),
    Case(14, DENY, "blocked", "blocked by the policy", "all", BLOCKED),
    Case(4, DENY, "trusted_channel", "not through the trusted channel", "all", ("amend",)),
    Case(2, DENY, "denied_call", "denied earlier in this turn", "homes", ("publish",), answer="deny"),
)


class World(msgspec.Struct, frozen=True):
    """What is decided on, and for each request the case it was made for."""

    policy: Policy
    view: View
    cases: tuple[Case, ...]
    requests: tuple[Request, ...]


def make_world(domains: int) -> World:
    """A policy of `domains` × 10 operations, and always the same session and mix."""
    names = [f"domain{n:04}" for n in range(domains)]
    places = {
        "all": names,
        "homes": names[:: domains // HOMES][:HOMES],
        "reviewed": [name for n, name in enumerate(names) if not _is_decayed(n)],
        "decayed": [name for n, name in enumerate(names) if _is_decayed(n)],
        "consented": [name for n, name in enumerate(names) if _category(n) in CONSENTED],
        "new": [name for n, name in enumerate(names) if _category(n) not in CONSENTED],
    }
    chance = random.Random(1)
    cases = [case for case in MIX for _ in range(case.percent * REQUESTS // 100)]
    chance.shuffle(cases)
    reviews = {name: NOW - (31 if _is_decayed(n) else 1) * DAY for n, name in enumerate(names)}
    return World(
        policy=_policy(names),
        view=View(session=_session(places["homes"]), reviews=reviews, notices=True),
        cases=tuple(cases),
        requests=tuple(_request(case, places, n, chance) for n, case in enumerate(cases)),
    )


def check(world: World) -> None:
    """Every request is decided as its case says; otherwise we would measure something else."""
    for case, request in zip(world.cases, world.requests, strict=True):
        decision = decide(request, world.policy, world.view, NOW)
        if (decision.verdict, decision.rule) != (case.verdict, case.rule):
            raise AssertionError(f"{case.what}: {decision.verdict.value}, {decision.rule}: {decision.reason}")


def _is_decayed(n: int) -> bool:
    """Whether nobody reviewed the n-th domain in time: every fourth."""
    return n % 4 == 3


def _category(n: int) -> str:
    return tuple(CATEGORIES)[n % len(CATEGORIES)]


def _policy(names: list[str]) -> Policy:
    domain = Domain(READING, CHANGING, BLOCKED, trusted_channel_required=("amend",))
    operations = {}
    for n, name in enumerate(names):
        operations[f"{name}.edit"] = Detail(category=_category(n))
        operations[f"{name}.send"] = Detail(confidence_bypass=True)
        operations[f"{name}.publish"] = Detail(risk=Risk.HIGH, reason="reaches other people")
    return compile_policy(domains=dict.fromkeys(names, domain), operations=operations, categories=CATEGORIES)


def _session(homes: list[str]) -> Session:
    """The third task of a long session: 48 grants, of which twelve serve nobody any more."""
    useless: tuple[dict[str, Any], ...] = (
        {"expires_at": NOW - MINUTE},
        {"session": "session-6"},
        {"pins": Pins(arguments=sha256(b"other arguments"))},
    )
    grants = [
        *(_grant("operation", f"{home}.label", pins=Pins("label", WORKSPACE)) for home in homes),
        *(_grant("operation", f"{home}.share", **useless[n % 3]) for n, home in enumerate(homes)),
        *(_grant("category", name, ends_with="task", bound_to=TASK) for name in CONSENTED),
        *(_grant("command", command, pins=Pins(workspace=WORKSPACE)) for command in ALLOWLIST),
        *(_approval(f"{home}.publish") for home in homes),
    ]
    return Session(
        id=SESSION,
        workspace=WORKSPACE,
        turn=40,
        heard_at=NOW - MINUTE,
        task=Task(TASK, "implement the feature", began=31, active=40, phase="implementing"),
        tasks=3,
        grants={grant.key: (HeldGrant(grant),) for grant in grants},
        denials={_answered("deny", f"{home}.publish"): Denial(40, NOW - MINUTE) for home in homes},
    )


def _grant(kind: GrantKind, value: str, **more: Any) -> Grant:
    usual: dict[str, Any] = {"risk": Risk.HIGH, "expires_at": NOW + 60 * MINUTE, "session": SESSION}
    return Grant(id=f"{kind} {value}", kind=kind, value=value, **(usual | more))


def _approval(operation: str) -> Grant:
    """A yes to one call, under the policy as it still is."""
    asked_under = Terms(Mode.BALANCED, Tier.REQUIRES_APPROVAL, always_ask=False, risk=Risk.HIGH)
    return _grant(
        "call",
        _answered("once", operation),
        uses=1,
        given_at=NOW - MINUTE,
        pins=Pins(operations=(operation,)),
        terms={operation: asked_under},
    )


def _answered(answer: str, operation: str) -> str:
    """The digest of the call of this operation that somebody answered so."""
    return sha256(f"{answer} {operation}".encode())


def _request(case: Case, places: Mapping[str, list[str]], n: int, chance: random.Random) -> Request:
    domain, action = chance.choice(places[case.where]), chance.choice(case.actions)
    operation = f"{domain}.{action}"
    arguments = b'{"number":%d}' % n
    return Request(
        call=Call(
            tool=action,
            arguments=arguments,
            folder=WORKSPACE,
            workspace=WORKSPACE,
            command=chance.choice(case.commands) if case.commands else None,
        ),
        operations=(Operation(operation),),
        digest=_answered(case.answer, operation) if case.answer else sha256(b"call " + arguments),
        arguments_digest=sha256(arguments),
        session=SESSION,
        confidence=case.confidence,
    )
