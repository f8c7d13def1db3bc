"""`sayso people …`: the team of the policy in force, who stands in for whom, and every broken glass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, show_or_json
from sayso.cli.options import JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.gate.people.team_view import TeamView

people = typer.Typer(no_args_is_help=True, help="The people who approve, and who stands in for whom.")


@people.command("list", short_help="List people, rules and delegations.")
def people_list(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the people of the policy in force, what they have to approve, and who stands in for whom."""
    from sayso.gate.people.team_view import load_team_view

    with open_gate_to_look(store, sealed=True, policy=choose_policy(None, None, None)) as gate:
        found = load_team_view(gate)
    show_or_json(as_json, found, _team_lines(found))


@people.command("providers", short_help="List the providers that people sign in with.")
def people_providers(as_json: JsonOption = False) -> None:
    """List the providers in oidc.json, and ask each whether it can sign people in now. Exit 1 if one cannot.

    Each is shown with the redirect address that the provider must know.
    """
    from sayso.cli.commands.service.link import USUAL
    from sayso.core.extras import needs_extra
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import list_running_services

    with needs_extra("service", "the service"):
        from sayso.cli.views.providers import examine_provider, provider_lines
        from sayso.service.providers.settings_file import load_provider_settings

    pages = [one.page for one in list_running_services(gate_data_folder(make=False))]
    found = [examine_provider(one, pages or [USUAL]) for one in load_provider_settings()]
    lines = [line for one in found for line in provider_lines(one)]
    show_or_json(as_json, found, lines or ["People sign in by link and passkey; there is no oidc.json."])
    if not all(one.good for one in found):
        raise typer.Exit(1)


@people.command("delegate", short_help="Let somebody approve for you.")
def people_delegate(
    to: Annotated[str, typer.Argument(metavar="PERSON", help="A person of the policy.")],
    hours: Annotated[
        float, typer.Option("--hours", metavar="N", min=0.01, max=720, help="For how long.")
    ] = 8.0,
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="NAME", help="Only what is in this domain.")
    ] = None,
    risk: Annotated[str, typer.Option("--up-to", metavar="RISK", help="Only up to this risk.")] = "high",
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let somebody approve for you: for a while, and never more than you may approve yourself.

    You are the person whose ids in the policy include account:YOU. Nobody can pass a delegation on.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.cli.views.operator import format_moment
    from sayso.core.durations import HOUR
    from sayso.core.model import Risk
    from sayso.gate.people.answerers import at_terminal
    from sayso.gate.people.delegations import delegate

    with open_gate_to_act(store, choose_policy(policy, preset, None)) as gate:
        made = delegate(
            gate,
            at_terminal(operator_name()),
            to,
            seconds=hours * HOUR,
            by=operator_name(),
            domain=domain,
            highest=Risk.parse(risk),
        )
    line = f"{made.id}: {made.to} approves for {made.giver} until {format_moment(made.until)}."
    show_or_json(as_json, made, [line])


@people.command("end", short_help="End a delegation.")
def people_end(
    delegation: Annotated[str, typer.Argument(metavar="ID", help="Its id, as `sayso people list` shows it.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a delegation. What was approved under it, and is not complete, no longer counts."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.people.delegations import end_delegation

    with open_gate_to_act(store) as gate:
        ended = end_delegation(gate, delegation, by=operator_name())
    show_or_json(as_json, ended, [f"Ended: {ended.to} no longer approves for {ended.giver}."])


@people.command("review", short_help="List every broken glass.")
def people_review(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List who allowed alone what others had to approve, with the reason they gave, newest first."""
    from sayso.cli.views.review import broken_glass_lines
    from sayso.gate.people.team_view import find_broken_glass

    with open_gate_to_look(store) as gate:
        found = find_broken_glass(gate)
    show_or_json(as_json, found, broken_glass_lines(found) or ["Nobody broke the glass."])


def _team_lines(found: TeamView) -> list[str]:
    from sayso.cli.views.operator import format_moment
    from sayso.core.words import visible

    if not found.people:
        return ["The policy names no people: any operator's answer is enough."]
    lines = [
        f"{name}: {', '.join(one.groups) or 'no group'}; {', '.join(map(visible, one.ids)) or 'no id'}"
        for name, one in found.people.items()
    ]
    lines += [f"approvals: {line}" for line in found.rules]
    lines += [f"may break the glass: {', '.join(found.break_glass)}"] if found.break_glass else []
    lines += [
        f"{one.id}: {one.to} approves for {one.giver}, {one.domain or 'everything'} up to "
        f"{one.highest.word} risk, until {format_moment(one.until)}"
        for one in found.delegations
    ]
    return lines
