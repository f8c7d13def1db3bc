"""`sayso history`: what agents did and were refused, one story a call."""

from __future__ import annotations

from typing import Annotated

import typer

from sayso.cli.opening import open_gate_to_look, optional_session_id, show_or_json
from sayso.cli.options import JsonOption
from sayso.cli.short_ids import SessionOption, StoreOption


def history(
    text: Annotated[
        str,
        typer.Argument(
            metavar="[TEXT]", help="Only calls that contain this text in the call, names or reasons."
        ),
    ] = "",
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only this agent.")] = None,
    domain: Annotated[str | None, typer.Option(metavar="NAME", help="Only this domain.")] = None,
    risk: Annotated[str | None, typer.Option(metavar="RISK", help="low, moderate or high.")] = None,
    verdict: Annotated[
        str | None, typer.Option(metavar="HOW", help="ask (was asked), allow or deny (the outcome).")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=1_000, help="How many at most.")
    ] = 20,
    session: SessionOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show past decisions, call by call: asked, edited, answered, started, ended. The newest comes last.

    Example: sayso history "git push" --verdict deny
    """
    from sayso.cli.views import history
    from sayso.gate.figures.stories import StoryFilter

    with open_gate_to_look(store, sealed=True) as gate:
        whose = optional_session_id(gate, session)
        wanted = StoryFilter(
            agent=agent, domain=domain, risk=risk, verdict=verdict, session=whose, text=text.casefold()
        )
        found = history.load_story_summaries(gate, wanted, limit)
    show_or_json(as_json, found, history.story_lines(found))
