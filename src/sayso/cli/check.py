"""`sayso check` and `sayso explain`: one decision, and how it came about."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.choice import Approval, Json, PolicyFile, Preset, chosen, remark

if TYPE_CHECKING:
    from sayso.core.model import Request
    from sayso.core.policy import Policy
    from sayso.core.session import View

EXIT = {"allow": 0, "ask": 3, "deny": 4}

LINES = {
    "SILENT": "SILENT -- proceed",
    "VISIBLE": "VISIBLE -- proceed and notify",
    "FORCED": "FORCED -- ask the operator first",
    "BLOCKED": "BLOCKED -- do not proceed; operator alerted",
}

Domain = Annotated[str, typer.Argument(metavar="DOMAIN", help="For example email.")]
Action = Annotated[str, typer.Argument(metavar="ACTION", help="For example send.")]
Confidence = Annotated[
    str | None,
    typer.Argument(
        metavar="[CONFIDENCE]", help="How sure the agent is, from 0 to 1; left out it counts as 0."
    ),
]

STATELESS = (
    "decided without a store: domains count as just reviewed unless the file says when,"
    " and notices as having somewhere to go"
)


def check(
    domain: Domain,
    action: Action,
    confidence: Confidence = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
    as_json: Json = False,
) -> None:
    """Decide one operation: may the agent do it now, must you be asked, or never?

    Example: sayso check --preset graph email send 0.9
    """
    from sayso.core.decide import decide
    from sayso.core.offers import with_offers
    from sayso.gate.telling import tell_decision, tell_question

    asked, in_force, view, now = _question(domain, action, confidence, chosen(policy, preset, approval))
    decision = with_offers(decide(asked, in_force, view, now), asked, in_force, view, now)
    told = tell_decision(decision) | tell_question(decision, asked, in_force)
    typer.echo(json.dumps(told, ensure_ascii=False) if as_json else LINES[decision.outcome])
    if not as_json:
        remark(f"{decision.reason} (rule {decision.rule})")
    remark(STATELESS)
    raise typer.Exit(EXIT[decision.verdict.value])


def explain(
    domain: Domain,
    action: Action,
    confidence: Confidence = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
    as_json: Json = False,
) -> None:
    """The same decision as check, with every check it passed on the way and why that one did not speak."""
    from sayso.core.decide import explain as explained
    from sayso.core.offers import with_offers
    from sayso.gate.telling import tell_decision, tell_question, tell_trace

    asked, in_force, view, now = _question(domain, action, confidence, chosen(policy, preset, approval))
    decision, traces = explained(asked, in_force, view, now)
    decision = with_offers(decision, asked, in_force, view, now)
    if as_json:
        told = tell_decision(decision) | tell_question(decision, asked, in_force)
        told["trace"] = tell_trace(traces)
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        from sayso.cli.show import console, show_trace

        show_trace(console(), decision, traces)
        remark(STATELESS)
    raise typer.Exit(EXIT[decision.verdict.value])


def _question(
    domain: str, action: str, confidence: str | None, policy: Policy
) -> tuple[Request, Policy, View, float]:
    import time

    from sayso.core.model import Operation
    from sayso.core.session import Session, View
    from sayso.gate.request import just_reviewed, make_call, make_request

    operation = Operation(f"{domain}.{action}")
    asked = make_request(make_call("check"), [operation], confidence=_confidence(confidence))
    now = time.time()
    view = View(Session(), reviews=just_reviewed(policy, now), notices=True)
    return asked, policy, view, now


def _confidence(text: str | None) -> float:
    from sayso.core.errors import MalformedRequest

    if text is None:
        return 0.0
    if not re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", text, re.ASCII):
        raise MalformedRequest(f"confidence {text!r} is not a number", hint="give a number from 0 to 1")
    return float(text)
