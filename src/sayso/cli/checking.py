"""What `sayso check` and `sayso explain` do. Typer is not needed for it, so that they start quickly."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sayso.cli.decider import CheckTarget, Decider, open_decider
from sayso.cli.policy_choice import choose_policy, find_own_source, print_note, refuse_wrong_mode
from sayso.cli.views.wrapping import print_line

if TYPE_CHECKING:
    from sayso.gate.policy.acting_policy import PolicySource

EXIT = {"allow": 0, "ask": 3, "deny": 4}

LINES = {
    "SILENT": "SILENT -- proceed",
    "VISIBLE": "VISIBLE -- proceed and notify",
    "FORCED": "FORCED -- ask the operator first",
    "BLOCKED": "BLOCKED -- do not proceed; operator alerted",
}

NOBODY_ALERTED = "nobody was alerted, and nothing was recorded: that takes a store"


class CheckArguments(NamedTuple):
    """The arguments of both commands, by the names that their options have in `commands/check.py`."""

    domain: str | None = None
    action: str | None = None
    confidence: str | None = None
    tool: str | None = None
    args: str | None = None
    session: str | None = None
    store: str | None = None
    policy: str | Path | None = None
    preset: str | None = None
    approval: str | None = None
    as_json: bool = False


def check_and_print(given: CheckArguments) -> int:
    """Decide, record and alert what is blocked, and print the answer. Returns the exit code."""
    wish = _parse_target(given)
    with _open_decider(given) as place:
        request, checked = place.decide(wish)
        alerted = place.alert(request, checked.decision)
    decision = checked.decision
    if given.as_json:
        told = place.tell(request, decision)
        _print_json(told | {"alerted": alerted} if decision.verdict.value == "deny" else told)
    else:
        print_line(LINES[decision.outcome])
        print_note(f"{decision.reason} (rule {decision.rule})")
    place.remark()
    if decision.verdict.value == "deny" and not alerted:
        print_note(NOBODY_ALERTED)
    return EXIT[decision.verdict.value]


def explain_and_print(given: CheckArguments) -> int:
    """Decide, and print every check on the way. Returns the exit code."""
    wish = _parse_target(given)
    with _open_decider(given) as place:
        request, checked = place.decide(wish)
    if given.as_json:
        from sayso.gate.as_json import trace_to_json

        _print_json(place.tell(request, checked.decision) | {"trace": trace_to_json(checked.traces)})
    else:
        from sayso.cli.views.decision import make_console, show_trace

        show_trace(make_console(), checked.decision, checked.traces)
        place.remark()
    return EXIT[checked.decision.verdict.value]


def _open_decider(given: CheckArguments) -> AbstractContextManager[Decider]:
    policy = None if given.policy is None else Path(given.policy)
    if policy is None and given.preset is None:
        refuse_wrong_mode(given.approval)

    def own() -> PolicySource | None:
        return find_own_source(policy, given.preset, given.approval)

    chosen = choose_policy(policy, given.preset, given.approval)
    return open_decider(chosen, given.preset, given.store, given.session, own, draft=policy is not None)


def _print_json(told: dict[str, Any]) -> None:
    import json

    print_line(json.dumps(told, ensure_ascii=False))


def _parse_target(given: CheckArguments) -> CheckTarget:
    from sayso.core.errors import MalformedRequest

    if given.tool is None:
        if given.args is not None:
            raise MalformedRequest("--args are the arguments of a tool", hint="name it with --tool")
        if given.domain is None or given.action is None:
            raise MalformedRequest("name a DOMAIN and an ACTION, or a tool with --tool NAME")
        operation = f"{given.domain}.{given.action}"
        return CheckTarget(_parse_confidence(given.confidence), operation=operation)
    if given.action is not None:
        raise MalformedRequest("give --tool, or DOMAIN and ACTION, not both", hint="leave one of them out")
    return CheckTarget(_parse_confidence(given.domain), tool=given.tool, args=_parse_arguments(given.args))


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
