"""Restoring a recorded decision: a request and a view that are decided as the recorded ones were.

Where only a comparison was recorded (this grant fits this call), both sides get a value that compares alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.core.deciding.facts import RISKS, Facts
from sayso.core.grants import Grant, HeldGrant, Pins
from sayso.core.model import Assurance, Call, Operation, Origin, Request, Risk
from sayso.core.session import Denial, OuterCall, Plan, Run, Scope, Sending, Session, Suspension, Task, View
from sayso.core.session.plan_text import PlanText

SAME = "same"
"""Stands for the session, digest, tool, command and arguments of the call, whatever they were."""
FOREVER = float("inf")


def restore_request(facts: Facts, names: tuple[str, ...], origin: Origin) -> Request:
    """Return a request that is decided as the one was that these are the facts of."""
    marks, names = facts.marks, facts.names or names
    if len(names) != len(facts.operations):
        raise ValueError("the facts are of other operations")
    command = SAME if set(marks) & set("cbe") else None
    folder, workspace = ("/elsewhere", "/workspace") if "e" in marks else ("", "")
    call = Call(
        SAME,
        folder=folder,
        workspace=workspace,
        command=command,
        beside=(SAME,) if "b" in marks else (),
        leads_to="/elsewhere" if "w" in marks else "",
    )
    return Request(
        call,
        tuple(map(_read_operation, names, facts.operations)),
        SAME,
        SAME,
        session=SAME,
        origin=origin,
        confidence=facts.confidence,
        workflow=facts.starts or None,
    )


def restore_view(facts: Facts, request: Request, grants: Mapping[str, Grant], now: float) -> View:
    """Return a view in which the request is decided as it was then. `grants` are those held, by their ids."""
    held = [restore_grant(grants[name]) for name in facts.held]
    rows: dict[tuple[str, str], tuple[HeldGrant, ...]] = {}
    for one in held:
        rows[one.key] = (*rows.get(one.key, ()), HeldGrant(one))
    bound = next((one.bound_to for one in held if one.ends_with == "task"), None)
    marks = facts.marks
    plan, shelved = _restore_plans(facts)
    session = Session(
        id=SAME,
        heard_at=now,
        slash=facts.slash or None,
        ceiling=Risk(facts.ceiling),
        imperatives=(SAME,) if "o" in marks else (),
        stopped=Assurance.ASSURED if "s" in marks else None,
        task=Task(bound or SAME, SAME, 0, 0, unconfirmed="q" in marks) if "k" in marks or bound else None,
        suspended={name: Suspension(SAME if same else "") for name, same in facts.suspended.items()},
        denials={SAME: Denial(0, now)} if "d" in marks else {},
        sent=_restore_sendings(facts, request, now),
        grants=rows,
        plan=plan,
        shelved=shelved,
    )
    return View(
        session,
        scope=_restore_scope(facts),
        reviews=facts.reviewed,
        notices="n" in marks,
        time_trusted="t" not in marks,
        parent_stopped="p" in marks,
    )


def restore_grant(grant: Grant) -> Grant:
    """Return the grant as it fits the restored request: it was live, and fit, when it was recorded."""
    value = SAME if grant.kind in ("call", "retry", "command", "tool") else grant.value
    arguments = None if grant.pins.arguments is None else SAME
    return msgspec.structs.replace(
        grant,
        value=value,
        session=SAME,
        expires_at=FOREVER,
        uses=1 if grant.uses == 1 else None,
        pins=Pins(operations=grant.pins.operations, arguments=arguments),
        ends_with="session" if grant.ends_with == "turn" else grant.ends_with,
    )


def _read_operation(name: str, code: str) -> Operation:
    rest = code[3:]
    content = rest.removeprefix("d").removeprefix("x").removeprefix("r")
    return Operation(
        name,
        risk=RISKS[code[0]],
        weight=RISKS[code[1]],
        reading=RISKS[code[2]],
        content=content or None,
        barred="its reading refuses it" if "x" in rest else None,
        declared="d" in rest,
        own_row="r" in rest,
    )


def _restore_sendings(
    facts: Facts, request: Request, now: float
) -> dict[tuple[str, str], tuple[Sending, ...]]:
    found: dict[tuple[str, str], tuple[Sending, ...]] = {}
    for one in request.operations:
        if one.content is not None and one.name in facts.sent:
            key = (one.name.partition(".")[0], one.content)
            found[key] = tuple(Sending(other, now) for other in facts.sent[one.name])
    return found


def _restore_plans(facts: Facts) -> tuple[Plan | None, Plan | None]:
    """Return the plan that served; or one that is set aside, so that a call that leaves it still ends it."""
    if facts.planned is None:
        return None, None
    text = PlanText("", operations=facts.planned)
    plan = Plan(facts.plan or SAME, text, 0, 0, accepted=True, started=True, shown=True)
    waiting = Plan("waiting", PlanText(""), 0, 0)
    return (plan, None) if facts.plan else (waiting, plan)


def _restore_scope(facts: Facts) -> Scope:
    outer = None
    if facts.outer is not None:
        granted = {name: Risk(risk) for name, risk in facts.outer[0].items()}
        outer = OuterCall(granted, Risk(facts.outer[1]))
    return Scope(
        user_initiated=SAME if "u" in facts.marks else None,
        outer=outer,
        reducers={name: Risk(risk) for name, risk in facts.reducers.items()},
        run=None if facts.run is None else Run(*facts.run),
        individual="i" in facts.marks,
    )
