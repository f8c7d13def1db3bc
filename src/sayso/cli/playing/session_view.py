"""Show a played session on the terminal: the result of each step, and the state of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.panel import Panel
from rich.text import Text

from sayso.cli.views.decision import VERDICT_MARKS, VERDICT_STYLES, show_trace
from sayso.core.conversation.consents import list_allowlist_entries, list_category_grants
from sayso.core.words import visible

if TYPE_CHECKING:
    from rich.console import Console

    from sayso.gate.sessions.play import Player


def print_step_result(out: Console, step: dict[str, Any], told: dict[str, Any]) -> None:
    """Print the result of one step."""
    (name,) = step
    if name == "call":
        print_decision(out, told)
    elif name == "plan":
        print_plan(out, told)
    else:
        print_events(out, told)


def print_decision(out: Console, told: dict[str, Any]) -> None:
    word = told["verdict"]
    line = Text(f"{VERDICT_MARKS[word]} {word.upper():5} ", style=VERDICT_STYLES[word])
    line.append(told["reason"], style="default")
    line.append(f"  [{told['rule']}]", style="dim")
    out.print(line)
    if told["question"]:
        body = Text(told["question"])
        body.append(f"\n\nanswers: {', '.join(told['offers'])}", style="dim")
        out.print(
            Panel(body, expand=False, border_style="yellow", title=f"{told['risk']} risk", title_align="left")
        )
    elif told["announce"] and word == "allow":
        out.print(Text(f"  {told['announce']}", style="italic"))


def print_plan(out: Console, told: dict[str, Any]) -> None:
    concrete = "concrete" if told["concrete"] else "not concrete enough to agree to"
    out.print(Text(f"plan: {told['score']} of 4, {concrete}"))
    for criterion, found in told["evidence"].items():
        out.print(Text(f"  {criterion}: {found or 'nothing'}", style="dim"))
    out.print(Text(told["shown"]))


def print_events(out: Console, told: dict[str, Any]) -> None:
    if "kind" in told:
        out.print(Text(f"heard: {told['kind']}", style="dim"))
    for what in (*told.get("did", ()), *told.get("grants", ())):
        out.print(Text(f"  {what}", style="dim"))
    for what in told.get("cleared", ()):
        out.print(Text(f"  cleared: {what}", style="magenta"))
    for what in told.get("announced", ()):
        out.print(Text(what, style="italic"))


def print_state(out: Console, player: Player) -> None:
    """Print the state of the session on one line."""
    s = player.session
    parts = [f"turn {s.turn}"]
    if s.stopped is not None:
        parts.append("STOPPED")
    if s.task is not None:
        parts.append(f"task {visible(s.task.name)!r} ({s.task.phase})")
    parts += [f"consented: {grant.value}" for grant in list_category_grants(s, player.now)]
    if s.plan is not None:
        parts.append("plan accepted" if s.plan.accepted else "plan shown")
    entries = len(list_allowlist_entries(s, player.now))
    if entries:
        parts.append(f"allowlist: {entries}")
    if s.questions:
        parts.append(f"open questions: {len(s.questions)}")
    out.print(Text(" · ".join(parts), style="dim"))


def print_why(out: Console, player: Player) -> None:
    """Every check the last call passed, as of now."""
    explained = player.explain_last()
    if explained is None:
        out.print("No call yet.")
        return
    decision, traces = explained
    show_trace(out, decision, traces)
