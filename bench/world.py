"""The world the decision is measured in: a policy of n × 10 operations, a busy session, 2,000 requests.

The session has worked in twelve domains, however many the policy has. Every case of the mix says which verdict it
must get by which rule, and `check` holds it to that before anything is timed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import msgspec

from sayso.core.decide import decide
from sayso.core.digest import sha256
from sayso.core.grants import DAY, MINUTE, Grant, Held, Key, Kind, Pins
from sayso.core.model import Call, Operation, Request, Risk, Verdict
from sayso.core.policy import Detail, Domain, Policy, compile_policy
from sayso.core.session import Denial, Session, Task, View

NOW = 1_800_000_000.0
REQUESTS = 2_000
HOMES = 12
SESSION, WORKSPACE = "session-7", "/home/user/project"

READING = ("read", "list", "search")
CHANGING = ("edit", "label", "send", "share", "publish", "amend")
CATEGORIES = {
    "file-edit": "file edits",
    "git-local": "git",
    "test-build": "tests and builds",
    "scripts": "scripts",
    "git-remote": "remote git",
    "network": "network",
}
CONSENTED = ("file-edit", "git-local", "test-build", "scripts")
COMMANDS = tuple(f"git push origin release-{n}" for n in range(8))
APPROVED = tuple(sha256(f"approved {n}".encode()) for n in range(8))
DENIED = tuple(sha256(f"denied {n}".encode()) for n in range(8))


class World(msgspec.Struct, frozen=True):
    policy: Policy
    view: View
    requests: tuple[Request, ...]


class Case(msgspec.Struct, frozen=True):
    """One kind of request: its share of the mix, what it is, and how it must be decided."""

    percent: int
    verdict: Verdict
    rule: str
    what: str
    where: str
    actions: tuple[str, ...]
    confidence: float = 0.0
    commands: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()


ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY

MIX = (
    Case(19, ALLOW, "autonomous", "autonomous and reviewed in time", "reviewed", READING),
    Case(9, ALLOW, "task_grant", "category consented to in this task", "consented", ("edit",)),
    Case(6, ALLOW, "operation_grant", "live grant that fits the call", "homes", ("label",)),
    Case(5, ALLOW, "allowlist", "command on the session allowlist", "all", ("publish",), commands=COMMANDS),
    Case(4, ALLOW, "confident", "confidence 0.93, the operator is told", "all", ("send",), 0.93),
    Case(2, ALLOW, "approved_call", "exactly this call was approved", "all", ("publish",), digests=APPROVED),
    Case(11, ASK, "ask", "grant expired, foreign or for other arguments", "homes", ("share",)),
    Case(7, ASK, "ask", "autonomous, but decayed", "decayed", READING),
    Case(6, ASK, "ask", "confidence 0.6, too low", "all", ("send",), 0.6),
    Case(6, ASK, "risky", "high risk, command not on the allowlist", "all", ("publish",), commands=("git push -f",)),
    Case(5, ASK, "ask", "first of its category in this task", "new", ("edit",)),
    Case(14, DENY, "blocked", "blocked", "all", ("delete",)),
    Case(4, DENY, "trusted_channel", "only through the trusted channel", "all", ("amend",)),
    Case(2, DENY, "denied_call", "denied earlier in this turn", "all", ("publish",), digests=DENIED),
)


def make_world(domains: int, seed: int = 1) -> World:
    """A policy of `domains` × 10 operations, the same session for every size, and the requests in their order."""
    names = [f"domain{n:04}" for n in range(domains)]
    places = {
        "all": names,
        "homes": names[:: domains // HOMES][:HOMES],
        "reviewed": [name for n, name in enumerate(names) if not _is_decayed(n)],
        "decayed": [name for n, name in enumerate(names) if _is_decayed(n)],
        "consented": [name for n, name in enumerate(names) if _category(n) in CONSENTED],
        "new": [name for n, name in enumerate(names) if _category(n) not in CONSENTED],
    }
    reviews = {name: NOW - (31 * DAY if _is_decayed(n) else DAY) for n, name in enumerate(names)}
    view = View(session=_session(places["homes"]), reviews=reviews, notices=True)
    return World(_policy(names), view, _requests(places, random.Random(seed)))


def check(world: World) -> dict[str, int]:
    """How many requests got which verdict by which rule; a decision that is not the mix's is an error."""
    expected = {case.what: 0 for case in MIX}
    for request in world.requests:
        case = next(case for case in MIX if case.what == request.call.tool)
        decision = decide(request, world.policy, world.view, NOW)
        if (decision.verdict, decision.rule) != (case.verdict, case.rule):
            raise AssertionError(f"{case.what}: {decision.verdict.value} by {decision.rule}: {decision.reason}")
        expected[case.what] += 1
    return expected


def _is_decayed(n: int) -> bool:
    return n % 4 == 3


def _category(n: int) -> str:
    return tuple(CATEGORIES)[n % len(CATEGORIES)]


def _policy(names: list[str]) -> Policy:
    lists = Domain(READING, CHANGING, ("delete",), trusted_channel_required=("amend",))
    operations = {}
    for n, name in enumerate(names):
        operations[f"{name}.edit"] = Detail(category=_category(n))
        operations[f"{name}.send"] = Detail(confidence_bypass=True)
        operations[f"{name}.publish"] = Detail(risk=Risk.HIGH, reason="reaches other people")
    return compile_policy(domains=dict.fromkeys(names, lists), operations=operations, categories=CATEGORIES)


def _session(homes: list[str]) -> Session:
    """The third task of a long session, with grants that serve and grants that no longer do."""
    tool = next(case.what for case in MIX if case.rule == "operation_grant")
    pins = Pins(tool=tool, workspace=WORKSPACE)
    grants = [_grant("operation", f"{home}.label", pins=pins) for home in homes]
    for n, home in enumerate(homes):
        useless: dict[str, object] = (
            {"expires_at": NOW - MINUTE},
            {"session": "session-6"},
            {"pins": Pins(arguments=sha256(b"others"))},
        )[n % 3]
        grants.append(_grant("operation", f"{home}.share", **useless))
    grants += [_grant("category", name, ends_with="task", bound_to="task-3") for name in CONSENTED]
    grants += [_grant("command", command, pins=Pins(workspace=WORKSPACE)) for command in COMMANDS]
    grants += [_grant("call", digest, uses=1) for digest in APPROVED]
    return Session(
        id=SESSION,
        workspace=WORKSPACE,
        turn=40,
        heard_at=NOW - MINUTE,
        task=Task("task-3", "implement the feature", began=31, active=40, phase="implementing"),
        tasks=3,
        grants={grant.key: (Held(grant),) for grant in grants},
        denials={digest: Denial(40, NOW - MINUTE) for digest in DENIED},
    )


def _grant(kind: Kind, value: str, **more: object) -> Grant:
    usual = {"id": f"{kind} {value}", "risk": Risk.HIGH, "expires_at": NOW + 60 * MINUTE, "session": SESSION}
    return Grant(kind=kind, value=value, **{**usual, **more})  # type: ignore[arg-type]


def _requests(places: Mapping[str, list[str]], chance: random.Random) -> tuple[Request, ...]:
    requests = [
        _request(case, chance.choice(places[case.where]), n, chance)
        for case in MIX
        for n in range(case.percent * REQUESTS // 100)
    ]
    chance.shuffle(requests)
    return tuple(requests)


def _request(case: Case, domain: str, n: int, chance: random.Random) -> Request:
    name = f"{domain}.{chance.choice(case.actions)}"
    arguments = b'{"number":%d}' % n
    call = Call(
        tool=case.what,
        arguments=arguments,
        folder=WORKSPACE,
        workspace=WORKSPACE,
        command=chance.choice(case.commands) if case.commands else None,
    )
    return Request(
        call=call,
        operations=(Operation(name),),
        digest=chance.choice(case.digests) if case.digests else sha256(f"{case.what} {name} {n}".encode()),
        arguments_digest=sha256(arguments),
        session=SESSION,
        confidence=case.confidence,
    )
