"""`sayso calls …` and `sayso runs …`: what the ledger holds, and the operator's word on what nobody knows."""

from __future__ import annotations

from typing import Annotated

import typer

from sayso.cli.commands.allowlist import has_subcommand
from sayso.cli.opening import open_gate_to_act, open_gate_to_look, optional_session_id, show_or_json
from sayso.cli.options import JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy, print_note
from sayso.cli.short_ids import AmbiguousCallId, CallId, RunId, SessionOption, StoreOption, expand_call_id
from sayso.core.durations import LONGEST_WAIT, RUN_SILENCE

SUCCEEDED, ENDED_OTHERWISE, UNDER_WAY, NOT_FOUND = 0, 1, 2, 3

calls = typer.Typer(
    help="List calls: waiting, running, or ambiguous (nobody knows how they ended).",
    invoke_without_command=True,
    rich_markup_mode=None,
)
runs = typer.Typer(
    help="List workflow runs under way and their progress.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@calls.callback()
def calls_list(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Include calls that have ended.")] = False,
    session: SessionOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    if has_subcommand(context):
        return
    from sayso.cli.views import calls

    with open_gate_to_look(store, sealed=True) as gate:
        found = calls.load_call_summaries(gate, optional_session_id(gate, session), everything=everything)
    show_or_json(as_json, found, calls.call_summary_lines(found))


@calls.command("show", short_help="Show everything recorded about a call.")
def calls_show(call: CallId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show everything recorded about a call: arguments, decision and state.

    Exit 1 if there is no such call.
    """
    from sayso.cli.views import calls

    with open_gate_to_look(store, sealed=True) as gate:
        found = calls.load_call_details(gate, expand_call_id(gate, call))
    show_or_json(as_json, found, calls.call_detail_lines(found))


@calls.command("resolve", short_help="Record how an ambiguous call ended.")
def calls_resolve(
    call: AmbiguousCallId,
    became: Annotated[str, typer.Argument(metavar="succeeded|failed", help="What you found.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record how a call ended whose process died or lost its connection.

    First check whether it had its effect. Your answer is final, and consent follows from it as the policy
    says. Example: sayso calls resolve op_4f succeeded
    """
    from sayso.cli.operator_name import operator_name
    from sayso.cli.views import calls
    from sayso.core.errors import MalformedRequest
    from sayso.core.ledger import RESOLUTIONS
    from sayso.gate.ledger.recovery import resolve_call

    if became not in RESOLUTIONS:
        raise MalformedRequest(f"{became!r} is not a way to resolve a call", hint="say succeeded or failed")
    with open_gate_to_act(store, choose_policy(policy, preset, None)) as gate:
        call = expand_call_id(gate, call)
        found = calls.load_call_to_resolve(gate, call)
        if not yes:
            for line in calls.call_detail_lines(found):
                typer.echo(line, err=True)
            typer.confirm(f"Are you sure that it {became}?", abort=True, err=True)
        resolve_call(gate, call, "succeeded" if became == "succeeded" else "failed", by=operator_name())
        after = calls.load_call_details(gate, call)
    show_or_json(as_json, after, [f"Resolved as {after.state}: {after.id}"])


@runs.callback()
def runs_list(
    context: typer.Context,
    session: SessionOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    if has_subcommand(context):
        return
    from sayso.cli.views import calls
    from sayso.gate.ledger import workflows

    with open_gate_to_look(store, sealed=True) as gate:
        found = workflows.list_workflow_runs(gate, optional_session_id(gate, session))
    show_or_json(as_json, found, calls.run_lines(found) or ["No workflow is under way."])


@runs.command("watch", short_help="Watch a run's progress.")
def runs_watch(
    run: RunId,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0,
            max=int(LONGEST_WAIT),
            help=f"Stop after this long without a change; at most {LONGEST_WAIT:.0f}.",
        ),
    ] = RUN_SILENCE,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run now and after each change, until it is over or nothing happens for a while.

    Exit 0 succeeded, 1 ended otherwise, 2 still under way, 3 not found.
    """
    from sayso.cli.views import calls
    from sayso.core.words import visible
    from sayso.gate.call_rows import UnknownCall
    from sayso.gate.ledger import workflows

    state = ""
    try:
        with open_gate_to_look(store, sealed=True) as gate:
            for progress in workflows.watch_run(gate, expand_call_id(gate, run), timeout):
                show_or_json(as_json, progress, calls.run_lines([progress]))
                state = progress.state
    except UnknownCall as error:
        print_note(visible(error.message))
        raise typer.Exit(NOT_FOUND) from error
    if state in workflows.UNDER_WAY:
        raise typer.Exit(UNDER_WAY)
    raise typer.Exit(SUCCEEDED if state == "succeeded" else ENDED_OTHERWISE)
