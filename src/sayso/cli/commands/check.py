"""`sayso check` and `sayso explain`: one decision, and how it came about."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import typer

from sayso.cli.decider import CheckTarget, open_decider
from sayso.cli.policy_choice import (
    ApprovalOption,
    JsonOption,
    PolicyOption,
    PresetOption,
    choose_policy,
    find_own_source,
    print_note,
)
from sayso.cli.short_ids import StoreOption, complete_ids, open_session_ids

EXIT = {"allow": 0, "ask": 3, "deny": 4}

LINES = {
    "SILENT": "SILENT -- proceed",
    "VISIBLE": "VISIBLE -- proceed and notify",
    "FORCED": "FORCED -- ask the operator first",
    "BLOCKED": "BLOCKED -- do not proceed; operator alerted",
}

DomainArg = Annotated[str | None, typer.Argument(metavar="DOMAIN", help="Such as email.")]
ActionArg = Annotated[str | None, typer.Argument(metavar="ACTION", help="Such as send.")]
ConfidenceArg = Annotated[
    str | None,
    typer.Argument(metavar="[CONFIDENCE]", help="The agent's confidence, 0 to 1; 0 if left out."),
]
ToolOption = Annotated[
    str | None,
    typer.Option("--tool", metavar="NAME", help="Decide a call of this tool, instead of DOMAIN and ACTION."),
]
GrantsOption = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="Decide in this session, with its grants.",
        autocompletion=complete_ids(open_session_ids),
    ),
]
ArgsOption = Annotated[str | None, typer.Option("--args", metavar="JSON", help="The arguments of the tool.")]

NOBODY_ALERTED = "nobody was alerted, and nothing was recorded: that takes a store"


def check_operation(
    domain: DomainArg = None,
    action: ActionArg = None,
    confidence: ConfidenceArg = None,
    tool: ToolOption = None,
    args: ArgsOption = None,
    session: GrantsOption = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide one operation, or one call: may the agent do it now, must you be asked, or never?

    If you have a store, its reviews count and, with --session, its grants; what is blocked is recorded there,
    and you are alerted. With --preset, that preset alone decides. Nothing is used up.

    Examples: sayso check email send 0.9

    sayso check --tool pay --args '{"amount": 50}' --session s_4f
    """
    wish = _parse_target(domain, action, confidence, tool, args)
    own = find_own_source(policy, preset, approval)
    with open_decider(
        choose_policy(policy, preset, approval), preset, store, session, own, draft=policy is not None
    ) as place:
        request, checked = place.decide(wish)
        alerted = place.alert(request, checked.decision)
    decision = checked.decision
    told = place.tell(request, decision)
    if decision.verdict.value == "deny":
        told["alerted"] = alerted
    typer.echo(json.dumps(told, ensure_ascii=False) if as_json else LINES[decision.outcome])
    if not as_json:
        print_note(f"{decision.reason} (rule {decision.rule})")
    place.remark()
    if decision.verdict.value == "deny" and not alerted:
        print_note(NOBODY_ALERTED)
    raise typer.Exit(EXIT[decision.verdict.value])


def explain_operation(
    domain: DomainArg = None,
    action: ActionArg = None,
    confidence: ConfidenceArg = None,
    tool: ToolOption = None,
    args: ArgsOption = None,
    session: GrantsOption = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide like check, and show every check it passed and why it did not apply.

    It records nothing and alerts nobody.
    """
    from sayso.gate.as_json import trace_to_json

    wish = _parse_target(domain, action, confidence, tool, args)
    own = find_own_source(policy, preset, approval)
    with open_decider(
        choose_policy(policy, preset, approval), preset, store, session, own, draft=policy is not None
    ) as place:
        request, checked = place.decide(wish)
    if as_json:
        told = place.tell(request, checked.decision) | {"trace": trace_to_json(checked.traces)}
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        from sayso.cli.views.decision import make_console, show_trace

        show_trace(make_console(), checked.decision, checked.traces)
        place.remark()
    raise typer.Exit(EXIT[checked.decision.verdict.value])


def _parse_target(
    domain: str | None, action: str | None, confidence: str | None, tool: str | None, args: str | None
) -> CheckTarget:
    from sayso.core.errors import MalformedRequest

    if tool is None:
        if args is not None:
            raise MalformedRequest("--args are the arguments of a tool", hint="name it with --tool")
        if domain is None or action is None:
            raise MalformedRequest("name a DOMAIN and an ACTION, or a tool with --tool NAME")
        return CheckTarget(_parse_confidence(confidence), operation=f"{domain}.{action}")
    if action is not None:
        raise MalformedRequest("give --tool, or DOMAIN and ACTION, not both", hint="leave one of them out")
    return CheckTarget(_parse_confidence(domain), tool=tool, args=_parse_arguments(args))


def _parse_arguments(text: str | None) -> dict[str, Any]:
    from sayso.core.digest import parse_json
    from sayso.core.errors import MalformedRequest, NotCanonical

    try:
        found = {} if text is None else parse_json(text)
    except (NotCanonical, ValueError, RecursionError) as error:
        raise MalformedRequest(f"--args: {error}", hint="""like '{"amount": 50}'""") from error
    if not isinstance(found, dict):
        raise MalformedRequest("--args is not a JSON object", hint="""like '{"amount": 50}'""")
    return found


def _parse_confidence(text: str | None) -> float:
    from sayso.core.errors import MalformedRequest

    if text is None:
        return 0.0
    if not re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", text, re.ASCII):
        raise MalformedRequest(f"confidence {text!r} is not a number", hint="give a number from 0 to 1")
    return float(text)
