"""Views of decisions: words first, colour only as a help, readable at 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from sayso.core.deciding.decide import Trace
    from sayso.core.decision import Decision

VERDICT_STYLES = {"allow": "bold green", "ask": "bold yellow", "deny": "bold red"}
VERDICT_MARKS = {"allow": "✓", "ask": "?", "deny": "✗"}


def make_console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def verdict_text(decision: Decision) -> Text:
    """The verdict as mark, word and colour, with the rule and the reason."""
    word = decision.verdict.value
    text = Text(f"{VERDICT_MARKS[word]} {word.upper():5} ", style=VERDICT_STYLES[word])
    text.append(decision.reason, style="default")
    text.append(f"  [{decision.rule}]", style="dim")
    return text


def show_trace(out: Console, decision: Decision, traces: tuple[Trace, ...]) -> None:
    """Each operation with the checks it passed, and the one that decided last."""
    for trace in traces:
        title = f"{trace.operation}: {trace.tier}, {trace.risk.word} risk, {trace.weight.word} weight"
        table = Table(title=escape(title), title_justify="left", title_style="bold", box=None, pad_edge=False)
        table.add_column("#", justify="right", style="dim")
        table.add_column("check", no_wrap=True)
        table.add_column("what it said")
        for number, check in enumerate(trace.checks, 1):
            style = "bold" if check.spoke else "dim"
            said = check.why if check.spoke else f"silent: {check.why}"
            table.add_row(str(number), Text(check.rule, style=style), Text(said, style=style))
        out.print(table)
        out.print()
    out.print(verdict_text(decision))
    if decision.offers:
        out.print("You could answer:")
        for offer in decision.offers:
            out.print(Text(f"  {offer.words}"))
