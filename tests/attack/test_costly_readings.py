"""No call holds up others: the reading of one is bounded, and made before anything is locked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Risk, Verdict
from sayso.reading.patches.lines import names_in
from sayso.reading.patches.read import is_patch, read_patch
from sayso.reading.paths import budget
from tests.attack.guarded_home import Agent, coder, home

__all__ = ["coder", "home"]

COSTLY: dict[str, dict[str, Any]] = {
    "braces": {"path": ["/{a,b}" * 10 + str(n) for n in range(300)]},
    "relative braces": {"path": ["{a,b}" * 10 + str(n) for n in range(300)]},
    "many": {"path": [f"src/{n}.py" for n in range(5000)]},
    "any name": {"doc": [f"src/{n}" for n in range(50_000)]},
    "deep": {"path": ["a/" * 2000 + str(n) for n in range(300)]},
    "wild": {"path": ["*/" * 300 + str(n) for n in range(300)]},
}


@pytest.mark.parametrize("tool", ["zap", "write_file", "read_file"])
@pytest.mark.parametrize("args", COSTLY)
def test_a_call_with_too_much_to_follow_is_high_risk_and_not_followed(
    coder: Agent, args: str, tool: str
) -> None:
    with budget.share_budget() as looks:
        items = coder.session.call(tool, COSTLY[args]).decision.items
        assert looks.made <= 2 * budget.MAX_LOOKS
    assert {item.risk for item in items} == {Risk.HIGH}


@pytest.mark.parametrize("args", ["braces", "many"])
def test_guarded_names_count_however_much_stands_before_them(coder: Agent, args: str, home: Path) -> None:
    for path in ("AGENTS.md", ".claude/settings.json", str(home / ".config/sayso/policy.yaml")):
        assert coder.verdict("write_it", {"path": [*COSTLY[args]["path"], path]}) is Verdict.DENY


def test_an_ordinary_number_of_paths_stays_ordinary(coder: Agent) -> None:
    paths = [f"src/{n}.py" for n in range(200)]
    items = coder.session.call("frobnicate", {"paths": paths}).decision.items
    assert [item.risk for item in items] == [Risk.MODERATE]


@pytest.mark.parametrize("text", [" ", "\n", "\t", "\r", "data:", "[a", "[!", "[a]", "[]"])
@pytest.mark.parametrize("tool", ["zap", "read_file"])
@pytest.mark.parametrize("name", ["note", "path"])
def test_no_argument_takes_long_to_be_read(coder: Agent, tool: str, name: str, text: str) -> None:
    """Each would take minutes or hours if the time grew with more than the length."""
    assert coder.verdict(tool, {name: text * (100_000 // len(text))}) is not None


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "\t",
        "*",
        "`",
        "1",
        "*** a ",
        "*** File ",
        "w ",
        "diff - ",
        "<",
        "> ",
        "- ",
        "X",
        "\n",
        "\r",
        '"\\',
        "*** Add File: a\n",
        "--- a\n+++ a\n",
        "@@ -1 +1 @@\n",
        "a\n<<< SEARCH\n",
        "- X ",
    ],
)
def test_no_text_takes_long_to_be_searched_for_patches(text: str) -> None:
    """Each would take hours if the time grew with more than the length."""
    whole = text * (500_000 // len(text))
    assert is_patch(whole) is text.startswith(("diff", "*** Add", "*** File", "--- ", "a\n<"))
    found = read_patch(whole)
    assert "AGENTS.md" not in names_in(found.unread)
