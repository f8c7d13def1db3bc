"""The facts of a decision: what it rested on besides the policy, so that it can be made again under another.

- Facts hold no text of the call. Of its command, arguments and paths they say how a comparison came out:
  which live grants fit it, whether the user ordered it, whether it was denied before.
- They are one line of JSON in the entry of the decision. The usual is left out, so most are a few letters.
- Facts of another form are not guessed at: whoever reads them gets None.
- `restore.py` makes a request and a view of them that are decided alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sayso.core.deciding.rules import (
    DENIAL_LASTS,
    FAN_OUT_LASTS,
    MESSAGE_LASTS,
    PLAN_TURNS,
    SLASH_CALLS,
    SLASH_LASTS,
)
from sayso.core.deciding.subject import has_lost_workspace, is_grant_live
from sayso.core.grants import EXACT, GrantKey, Pins, ended_by_tightening, pins_fit
from sayso.core.model import Call, Operation, Request, Risk, Tier
from sayso.core.policy import Policy
from sayso.core.session import Scope, Session, Task, View

MARKS = {
    "c": "the call is a command line and nothing else",
    "b": "the call has a command line, with arguments beside it that count",
    "e": "the call has a command line, to run outside the workspace",
    "o": "the user's last message ordered exactly this command",
    "d": "somebody denied this call in this turn",
    "s": "the session was stopped",
    "p": "a session above it was stopped",
    "n": "there was a destination for notices",
    "t": "the clock was not trusted",
    "w": "the workspace had been replaced, or was gone",
    "i": "the step wanted a consent of its own",
    "u": "the user had started it",
    "k": "there was a task",
    "q": "whether the task goes on was not confirmed",
    "g": "something had been consented to in the task",
    "j": "the project's own file was laid over the policy",
}
AUTONOMOUS = Tier.AUTONOMOUS
_LEVELS = {None: "-", Risk.LOW: "l", Risk.MODERATE: "m", Risk.HIGH: "h"}
RISKS = {letter: risk for risk, letter in _LEVELS.items()}


class Facts(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"operations": "ops", "marks": "is"},
):
    """The facts of one decision."""

    operations: tuple[str, ...]
    """Of each operation its risk, weight and reading, a letter each; then d declared, x barred, r read so by
    its own row alone, a number for its content."""
    marks: str = ""
    names: tuple[str, ...] = ()
    """The names of the operations, where one is named twice; otherwise the entry has them."""
    held: tuple[str, ...] = ()
    """The live grants for this call, its tool, command, operations and categories that fit it."""
    reviewed: Mapping[str, float] = {}
    slash: str = ""
    ceiling: int = Risk.HIGH
    plan: str = ""
    """The accepted plan, if its consent served."""
    planned: tuple[str, ...] | None = None
    """The operations of the call that the plan under way names; None without such a plan."""
    suspended: Mapping[str, bool] = {}
    """The suspended categories, and whether it was this very call that failed."""
    sent: Mapping[str, tuple[str, ...]] = {}
    """For operations of the call, by which others the same content had just gone out."""
    outer: tuple[Mapping[str, int], int] | None = None
    reducers: Mapping[str, int] = {}
    run: tuple[str, str] | None = None
    starts: str = ""
    """The workflow that the call starts."""
    confidence: float = 0.0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Facts).decode


def spell_facts(request: Request, policy: Policy, view: View, now: float) -> str:
    """Return the facts of a decision of this request, in this view, at this time."""
    operations = request.operations
    facts = Facts(
        tuple([_spell_operation(one, operations) for one in operations]),
        _find_marks(request, view, now) + ("j" if policy.project else ""),
        _find_names(operations) if len(operations) > 1 else (),
        _find_held(request, policy, view, now) if view.session.grants else (),
        _find_reviews(request, policy, view),
        starts=request.workflow or "",
    )
    session, scope = view.session, view.scope
    if request.confidence:
        facts = msgspec.structs.replace(facts, confidence=request.confidence)
    if session.plan_under_way is not None or session.suspended or session.slash is not None or session.sent:
        facts = msgspec.structs.replace(facts, **_find_session_facts(request, view, now))
    if scope.outer is not None or scope.reducers or scope.run is not None:
        facts = msgspec.structs.replace(facts, **_find_scope_facts(scope))
    return _encode(facts).decode()


def read_facts(text: str) -> Facts | None:
    """Read facts; None if they are not what this version writes."""
    try:
        facts = _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    known = facts.operations and set(facts.marks) <= MARKS.keys() and all(map(_is_code, facts.operations))
    return facts if known else None


def with_operations(text: str, operations: tuple[Operation, ...]) -> tuple[tuple[str, ...], str]:
    """Return the names of other operations, each once, and the same facts with these operations."""
    once = tuple(dict.fromkeys(one.name for one in operations))
    codes = tuple(_spell_operation(one, operations) for one in operations)
    other = msgspec.structs.replace(_decode(text), operations=codes, names=_find_names(operations))
    return once, _encode(other).decode()


def _find_session_facts(request: Request, view: View, now: float) -> dict[str, object]:
    session = view.session
    found = _find_plan(request, view, now)
    if session.slash is not None and session.slash_calls < SLASH_CALLS and _fresh(view, now, SLASH_LASTS):
        found |= {"slash": session.slash, "ceiling": session.ceiling}
    failed = {name: one.digest == request.digest for name, one in sorted(session.suspended.items())}
    return {**found, "suspended": failed, "sent": _find_sendings(request, session, now)}


def _find_scope_facts(scope: Scope) -> dict[str, object]:
    outer, run = scope.outer, scope.run
    return {
        "outer": None if outer is None else (outer.granted, outer.weight),
        "reducers": scope.reducers,
        "run": None if run is None or not run.alive else (run.id, run.workflow),
    }


def _find_names(operations: tuple[Operation, ...]) -> tuple[str, ...]:
    """Return the names of the operations where one is named twice."""
    names = tuple(one.name for one in operations)
    return names if len(set(names)) < len(names) else ()


def _find_marks(request: Request, view: View, now: float) -> str:
    session, scope, call = view.session, view.scope, request.call
    marks = "" if call.command is None else _find_command_marks(call, view, now)
    if session.denials and _was_denied(request, session, now):
        marks += "d"
    if session.task is not None:
        marks += _find_task_marks(session.task)
    if (call.leads_to or call.missing) and has_lost_workspace(request, session):
        marks += "w"
    if view.notices:
        marks += "n"
    stopped = session.stopped is not None or view.parent_stopped
    if stopped or not view.time_trusted or scope.individual or scope.user_initiated is not None:
        marks += _find_rare_marks(view)
    return marks


def _find_rare_marks(view: View) -> str:
    found = (
        ("s", view.session.stopped is not None),
        ("p", view.parent_stopped),
        ("t", not view.time_trusted),
        ("i", view.scope.individual),
        ("u", view.scope.user_initiated is not None),
    )
    return "".join(letter for letter, holds in found if holds)


def _find_command_marks(call: Call, view: View, now: float) -> str:
    line = call.command_line
    if line is None:
        return "b" if call.beside else "e"
    return "co" if line in view.session.imperatives and _fresh(view, now, MESSAGE_LASTS) else "c"


def _find_task_marks(task: Task) -> str:
    return "k" + ("q" if task.unconfirmed else "") + ("g" if task.consented else "")


def _was_denied(request: Request, session: Session, now: float) -> bool:
    denial = session.denials.get(request.digest)
    return denial is not None and denial.turn == session.turn and now - denial.at <= DENIAL_LASTS


def _find_held(request: Request, policy: Policy, view: View, now: float) -> tuple[str, ...]:
    """Return the live grants that a decision of this request may go by, and that fit it."""
    found, names = list[str](), request.operation_names
    for key, row in view.session.grants.items():
        if _may_cover(key, names, request, view.scope):
            for held in row:
                ended = key[0] in EXACT and ended_by_tightening(held.grant, policy.tightened)
                if not ended and is_grant_live(held, view, now) and _fits(held.grant.pins, names, request):
                    found.append(held.grant.id)
    return tuple(found)


def _may_cover(key: GrantKey, names: Sequence[str], request: Request, scope: Scope) -> bool:
    kind, value = key
    if kind == "operation":
        return value in names
    if kind in EXACT:
        return value == request.digest
    if kind == "command":
        return value == request.call.command_line
    if kind == "tool":
        return value == request.call.tool
    run = scope.run
    if kind == "run":
        return run is not None and value == run.id
    return kind == "category" or value == request.workflow or (run is not None and value == run.workflow)


def _fits(pins: Pins, names: Sequence[str], request: Request) -> bool:
    for name in names:  # noqa: SIM110  most often it is one
        if pins_fit(pins, request, name):
            return True
    return False


def _find_reviews(request: Request, policy: Policy, view: View) -> Mapping[str, float]:
    """Return when each permission that was autonomous was reviewed; 0 if nobody knows of a review."""
    reviews = view.reviews
    for operation in request.operations:
        entry = policy.table.get(operation.name)
        autonomous = entry is not None and entry.tier is AUTONOMOUS
        if entry is not None and autonomous and entry.name not in reviews and entry.domain not in reviews:
            reviews = {**reviews, entry.name: 0.0}
    return reviews


def _find_plan(request: Request, view: View, now: float) -> dict[str, object]:
    session, found = view.session, dict[str, object]()
    plan, under_way = session.plan, session.plan_under_way
    if under_way is not None:
        names = request.operation_names
        works_on = request.call.works_on
        found["planned"] = tuple(name for name in names if under_way.text.names(name, works_on))
    if plan is not None and plan.accepted and _fresh(view, now, MESSAGE_LASTS):
        in_time = plan.started or session.turn - plan.since <= PLAN_TURNS
        found["plan"] = plan.id if in_time else ""
    return found


def _find_sendings(request: Request, session: Session, now: float) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in request.operations:
        if one.content is None:
            continue
        sent = session.sent.get((one.name.partition(".")[0], one.content), ())
        by = tuple(dict.fromkeys(other.operation for other in sent if now - other.at <= FAN_OUT_LASTS))
        if by:
            found[one.name] = by
    return found


def _fresh(view: View, now: float, seconds: float) -> bool:
    heard_at = view.session.heard_at
    return heard_at is not None and view.time_trusted and now - heard_at < seconds


def _spell_operation(one: Operation, operations: tuple[Operation, ...]) -> str:
    code = f"{_LEVELS[one.risk]}{_LEVELS[one.weight]}{_LEVELS[one.reading]}"
    if one.declared:
        code += "d"
    if one.barred is not None:
        code += "x"
    if one.own_row:
        code += "r"
    if one.content is not None:
        contents = list(dict.fromkeys(other.content for other in operations if other.content is not None))
        code += str(contents.index(one.content))
    return code


def _is_code(code: str) -> bool:
    rest = code[3:].removeprefix("d").removeprefix("x").removeprefix("r")
    levels = len(code) >= 3 and all(letter in RISKS for letter in code[:3])
    return levels and (not rest or (rest.isascii() and rest.isdigit()))
