"""`sayso policy replay` and `sayso policy suggest`: what the recorded past says about the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, show_or_json
from sayso.cli.options import ApprovalOption, JsonOption, PolicyArg, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy, global_approval, load_named_policy, print_note
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.core.policy import Policy
    from sayso.gate.hindsight.decide_again import WishedGrant

LOOSENED = 1
KINDS = ("operation", "category", "command")

SinceOption = Annotated[
    str, typer.Option("--since", metavar="TIME", help="How far back: 12h, 30d, or all.", show_default=True)
]


def replay_past(
    file: PolicyArg = None,
    grant: Annotated[
        str | None,
        typer.Option(
            "--grant",
            metavar="KIND:NAME",
            help="Decide as if every session had this grant: operation:tests.run, category:file-edit, "
            "'command:git push'.",
        ),
    ] = None,
    risk: Annotated[
        str, typer.Option(metavar="RISK", help="The highest risk that --grant covers.")
    ] = "moderate",
    since: SinceOption = "all",
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide the recorded past again, under FILE or with a grant. Exit 1 if any call is loosened.

    Each decision is made again on its own, with the consent that its session had then. Nothing is changed.

    Example: sayso policy replay draft.yaml --since 30d
    """
    from sayso.cli.views.audit import show_progress
    from sayso.cli.views.hindsight import replay_lines
    from sayso.gate.hindsight.recorded import count_entries_since
    from sayso.gate.hindsight.replay import replay_decisions

    wish = None if grant is None else _read_wish(grant, risk)
    draft = None if file is None else _load_draft(file, approval)
    with open_gate_to_look(store, sealed=True, policy=choose_policy(policy, preset, approval)) as gate:
        first = _read_since(since)
        with show_progress("Deciding again", count_entries_since(gate, first)) as progress:
            report = replay_decisions(gate, draft, wish=wish, since=first, progress=progress)
    show_or_json(as_json, report, replay_lines(report))
    raise typer.Exit(LOOSENED if report.loosened else 0)


def suggest_from_past(
    since: SinceOption = "30d",
    high: Annotated[bool, typer.Option("--high", help="Also show evidence for high risk.")] = False,
    propose: Annotated[
        str | None,
        typer.Option("--propose", metavar="N", help="File suggestion N (or its id) as a proposal."),
    ] = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Suggest changes to your policy file: what is always approved, never used, or often refused.

    Each comes with its evidence and with what it would have changed. Nothing is applied: --propose files one
    as a proposal, which you approve and which has to cool.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.cli.views.hindsight import suggestion_lines
    from sayso.core.durations import DAY
    from sayso.gate.hindsight.own_file import find_own_file
    from sayso.gate.hindsight.propose import choose_suggestion, propose_suggestion
    from sayso.gate.hindsight.suggest import suggest_changes
    from sayso.gate.proposals.roots import load_roots

    in_force, roots, days = choose_policy(policy, preset, approval), load_roots(), _read_span(since) / DAY
    if propose is None:
        with open_gate_to_look(store, sealed=True, policy=in_force) as gate:
            found = suggest_changes(gate, find_own_file(gate, roots), days=days, high=high)
        show_or_json(as_json, found, suggestion_lines(found))
        return
    with open_gate_to_act(store, in_force) as gate:
        found = suggest_changes(gate, find_own_file(gate, roots), days=days, high=high)
        chosen = choose_suggestion(found, propose)
        made = propose_suggestion(gate, roots, chosen, by=operator_name())
    lines = [f"Filed {made.id}: {chosen.words}", f"Approve it with: sayso propose approve {made.id}"]
    show_or_json(as_json, made, lines)


def _load_draft(file: str, approval: str | None) -> Policy:
    from sayso.gate.settings import in_chosen_mode

    loaded = load_named_policy(file)
    for warning in loaded.warnings:
        print_note(str(warning))
    return in_chosen_mode(loaded.policy, approval or global_approval())


def _read_wish(grant: str, risk: str) -> WishedGrant:
    from sayso.core.errors import MalformedRequest
    from sayso.core.model import Risk, check_name, trim_command
    from sayso.gate.hindsight.decide_again import WishedGrant

    kind, _, name = grant.partition(":")
    if kind not in KINDS or not name.strip():
        hint = "write KIND:NAME, as operation:tests.run"
        raise MalformedRequest(f"{grant[:60]!r} is not a grant", hint=hint)
    if kind == "operation":
        check_name(name)
        return WishedGrant("operation", name, Risk.parse(risk))
    if kind == "category":
        return WishedGrant("category", name, Risk.parse(risk))
    return WishedGrant("command", trim_command(name), Risk.parse(risk))


def _read_since(since: str) -> float:
    import time

    return 0.0 if since == "all" else max(time.time() - _read_span(since), 0.0)


def _read_span(since: str) -> float:
    from sayso.core.durations import ALL_TIME, parse_duration
    from sayso.core.errors import MalformedRequest

    if since == "all":
        return ALL_TIME
    try:
        return parse_duration(since)
    except ValueError:
        raise MalformedRequest(f"{since[:40]!r} is not a time", hint="write 12h, 30d or all") from None
