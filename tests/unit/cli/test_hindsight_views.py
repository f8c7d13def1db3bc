"""Replay, suggestions and figures in a terminal: 80 columns, loosened first, and agents' text as data."""

from __future__ import annotations

from sayso.cli.views.figures import chart_lines
from sayso.cli.views.hindsight import replay_lines, suggestion_lines
from sayso.gate.figures.charts import Charts, Tally
from sayso.gate.hindsight.replay import ReplayedChange, ReplayExample, ReplayReport
from sayso.gate.hindsight.suggest import Suggestion, SuggestionEffect, SuggestionEvidence

EVIL = "\x1b[2J\u202erm\n1. Always approved"
EXAMPLE = ReplayExample("main", 7, 1_800_000_000.0, EVIL, "s_1", EVIL)
LOOSE = ReplayedChange(("files.edit",), "ask", "allow", "ask", "autonomous", 1_200, (EXAMPLE,))
TIGHT = ReplayedChange(("files.read",), "allow", "ask", "autonomous", "ask", 1, ())


def report(*loosened: ReplayedChange, tightened: tuple[ReplayedChange, ...] = ()) -> ReplayReport:
    before = {"allow": 1, "ask": 1_200, "deny": 0}
    after = {"allow": 1_200, "ask": 1, "deny": 0}
    return ReplayReport(1_201, before, after, loosened, tightened, 2, {"its body was pruned": 3})


def test_loosened_calls_come_first_with_counts_and_examples() -> None:
    lines = replay_lines(report(LOOSE, tightened=(TIGHT,)))
    assert lines[:4] == [
        "1,201 decisions decided again",
        "  allow          1 → 1,200",
        "  ask        1,200 → 1",
        "  deny           0 → 0",
    ]
    assert lines[4] == "LOOSENED 1,200 times: files.edit: ask → allow (ask → autonomous)"
    assert lines[7] == "tightened once: files.read: allow → ask (autonomous → ask)"
    assert lines[8:] == [
        "2 decisions were made by a limit, not by the policy; they stay.",
        "3 decisions cannot be decided again:",
        "  3: its body was pruned",
    ]


def test_text_of_an_agent_is_shown_as_data() -> None:
    made = Suggestion(
        "id",
        "always_approved",
        ("a.b",),
        "low",
        "approved 6 of 6",
        SuggestionEvidence(title=EVIL),
        why_not="no",
    )
    for line in (*replay_lines(report(LOOSE)), *suggestion_lines([made])):
        assert not {"\x1b", "\u202e", "\n"} & set(line)


def test_nothing_changed_is_said() -> None:
    assert "Nothing would have been decided otherwise." in replay_lines(report())


def test_a_suggestion_says_how_to_propose_it_or_why_not() -> None:
    effect = SuggestionEffect(100, 6, 0, 2)
    some = Suggestion("x", "always_approved", ("a.b",), "low", "w", SuggestionEvidence(), effect, diff="d")
    none = Suggestion("y", "never_used", ("a.c",), "low", "v", SuggestionEvidence(), why_not="no file")
    assert suggestion_lines([some, none]) == [
        "1. Always approved: could run unasked",
        "   w",
        "   of 100 recorded decisions: 6 loosened, 0 tightened, 2 could not be replayed",
        "   propose it: sayso policy suggest --propose 1",
        "2. Never used: could ask again",
        "   v",
        "   no proposal: no file",
    ]
    assert suggestion_lines([]) == ["Nothing to suggest."]


def test_bars_fit_into_80_columns() -> None:
    one = Tally(EVIL * 5, 1, 1, 0, 300_000, prompts=1_234_567)
    hours = tuple(Tally(str(1_800_000_000 + n * 3_600), 1, 1, 0, n, prompts=n) for n in range(40))
    lines = chart_lines(Charts(hours, (one,), (one,)))
    assert all(len(line) <= 80 for line in lines)
    assert not {"\x1b", "\u202e", "\n"} & set("".join(lines))
    assert sum("█" in line for line in lines) == 1 + 24 + 2
    assert chart_lines(Charts((), (), ())) == []


def test_bars_are_drawn_of_what_was_asked_or_avoided_and_the_longest_first() -> None:
    hours = (Tally("1800000000", 1, 1, 0, 0, prompts=1),)
    quiet = tuple(Tally(f"quiet{n}", 900, 0, 0, 0) for n in range(20))
    busy = tuple(Tally(f"busy{n:02}", 1, 1, 0, 0, prompts=n) for n in range(1, 11))
    lines = chart_lines(Charts(hours, quiet, (*quiet, *busy)))
    assert not any("quiet" in line or "By agent" in line for line in lines)
    names = [line.split()[0] for line in lines if "busy" in line]
    assert names == [f"busy{n:02}" for n in range(10, 2, -1)]
    assert lines[-1] == "  and 2 more (--json lists all)"
