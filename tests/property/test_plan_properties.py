"""Random plans with hidden parts, random changes, random calls: a yes covers what the rendering lists."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sayso.core.plans.edit import adjust_plan
from sayso.core.plans.plan import beside_policy, plan_from_parts, read_plan
from sayso.gate.sessions.play import Player
from sayso.policy import load_preset

POLICY = load_preset("chat")
TARGETS = ("src/a.py", "src/b.py", "src/old.py", "docs/usage.md", "parse()")
SECRET = "src/secret.py"
OPERATIONS = ("files.edit", "files.delete", "files.create", "tests.run", "git.add", "git.commit", "git.push")

SAID = (
    "Edit {}: add a null check.",
    "I will edit {} and run the tests.",
    "- delete {}",
    "1. Update {} to handle None",
    "Then stage everything and commit.",
    "Create {}.",
    "Push afterwards.",
    "Nothing else changes.",
    "Done when the tests pass.",
    "What do you think?",
)
HIDING = (
    "<span hidden>{}</span>",
    "<!-- {} -->",
    "![{}](x.png)",
    '[x](y "{}")',
    "[//]: # ({})",
    "<details>{}</details>",
    "<p style='display:none'>{}</p>",
    "~~{}~~",
    "```\n{}\n```",
    "<unknown>{}</unknown>",
    "<title>{}</title>",
    "{} {.hidden}",
    "||{}||",
)
EXCLUDING = (
    "I will refrain from editing {}.",
    "I won't touch {}.",
    "{} is off limits.",
    "Leave {} alone.",
    "{}: no change.",
    "Everything but {}.",
    "Bob will edit {}.",
)
LINES = st.one_of(
    st.builds(str.format, st.sampled_from(SAID), st.sampled_from(TARGETS)),
    st.sampled_from(HIDING).map(lambda markup: markup.replace("{}", f"Edit {SECRET} and delete {SECRET}.")),
    st.sampled_from(EXCLUDING).map(lambda sentence: sentence.replace("{}", SECRET)),
)
TEXTS = st.lists(LINES, min_size=1, max_size=8).map("\n\n".join)
STRUCTURES = st.fixed_dictionaries(
    {
        "targets": st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3),
        "changes": st.just(["rename it"]),
        "operations": st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4),
    }
)
WORDS = st.sampled_from(
    (
        *(
            "yes",
            "but",
            "only",
            "just",
            "skip",
            "except",
            "without",
            "don't",
            "not",
            "no",
            "also",
            "and",
            "or",
            "if",
        ),
        *(
            "avoid",
            "leave",
            "alone",
            "later",
            "instead of",
            "rather than",
            "I'll",
            "myself",
            "edit",
            "commit",
            "push",
        ),
        *(
            "the tests",
            "git",
            "nothing",
            "else",
            "first",
            "until",
            "unless",
            ",",
            ".",
            "src/a.py",
            "b.py",
            "src/c.py",
        ),
        *("docs", "parse()", "everything", "off limits", "hands off", "xyzzy", "run", "delete", "with", "to"),
    )
)
CHANGES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
CALLS = st.tuples(st.sampled_from(OPERATIONS), st.none() | st.sampled_from((*TARGETS, SECRET, "src/c.py")))


def listed(rendering: str) -> set[tuple[str, str | None]]:
    """What a rendering says that a yes covers, read from its lines and from nothing else."""
    block = re.split(r"^(?=\S.*:$)", rendering, flags=re.MULTILINE)[1]
    found: set[tuple[str, str | None]] = set()
    operation = ""
    for line in block.splitlines()[1:]:
        if line.startswith("- "):
            operation = line.removeprefix("- ")
            found.add((operation, None))
        else:
            found.add((operation, line.removeprefix("  - ")))
    return found


def allowed_by_plan(player: Player, operation: str, target: str | None) -> bool:
    call = {"operations": [operation], "tool": "t", "args": {"at": target}}
    told = player.step({"call": call | ({"target": target} if target else {})})
    return bool(told["rule"] == "plan")


@given(st.one_of(TEXTS, STRUCTURES), st.lists(CHANGES, max_size=2), st.lists(CALLS, min_size=1, max_size=4))
def test_nothing_that_the_rendering_shown_last_does_not_list_is_allowed_by_a_plan(
    plan: str | dict[str, Any], changes: list[str], calls: list[tuple[str, str | None]]
) -> None:
    player = Player(POLICY)
    player.step({"hear": "Fix the parser"})
    shown = player.step({"plan": plan})["shown"]
    for change in changes:
        heard = player.step({"hear": f"yes, but {change}"})
        renderings = [text for text in heard["announced"] if "A yes covers:" in text]
        shown = renderings[-1] if renderings else shown
    player.step({"hear": "go ahead"})
    player.step({"hear": "go ahead"})
    for operation, target in calls:
        if allowed_by_plan(player, operation, target):
            assert (operation, target) in listed(shown)
            assert target != SECRET


@given(TEXTS)
def test_no_rendering_lists_what_its_text_hides_or_excludes(text: str) -> None:
    plan = beside_policy(read_plan(text, POLICY.table), POLICY)
    assert all(target != SECRET for _, target in listed(plan.text))


@given(
    st.one_of(
        TEXTS.map(lambda text: read_plan(text, POLICY.table)),
        STRUCTURES.map(lambda s: plan_from_parts(s["targets"], s["changes"], None, None, s["operations"])),
    ),
    CHANGES,
)
def test_a_change_never_adds_to_what_a_plan_lists(plan: Any, change: str) -> None:
    nothing = ("nothing: each call is asked for", None)
    assert listed(adjust_plan(plan, change, POLICY.table).text) - {nothing} <= listed(plan.text)


@given(
    STRUCTURES,
    st.sampled_from(("avoid", "skip", "hands off", "not", "never touch", "leave", "I'll do", "zap")),
)
def test_a_target_named_beside_an_exclusion_or_an_unknown_word_is_never_left(
    structure: dict[str, Any], word: str
) -> None:
    plan = plan_from_parts(structure["targets"], structure["changes"], None, None, structure["operations"])
    gone = plan.targets[0]
    left = adjust_plan(plan, f"{word} {gone}", POLICY.table)
    assert all(gone not in targets for targets in left.covers.values())
