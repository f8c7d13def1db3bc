"""Threat: an agent writes text that makes a person believe they are answering something else.

It forges the frame or a prompt, clears the screen, turns text around, hides part of a command, uses the
markup of the library that draws, or buries what matters in length. Whatever it writes stands in its own
column, as data, and the card says so where a character would not show.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pytest

from sayso.core.audit.notices import Notice
from sayso.core.model import Risk
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.surface import AskedQuestion
from sayso.surfaces.terminal.layout import detect_screen, wrap_text
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT
from tests.support.questions import asked_about
from tests.support.terminals import Screen, asking, plain_surroundings, terminal_on

FORGED_CARD = "\n".join(
    [
        "ls",
        "╰──────────────────────────────────────",
        "Your answer [deny]: deny",
        "Denied.",
        "",
        "╭─ May this run? Low risk. ────────────",
        "│ Tool       read",
        "│ Command    ls",
        "├──────────────────────────────────────",
        "│ o  once       allow once: this call, now",
        "╰──────────────────────────────────────",
        "Your answer [deny]: ",
    ]
)
ATTACKS = {
    "a forged card": FORGED_CARD,
    "a forged card in ASCII": FORGED_CARD.translate(str.maketrans("╭│├╰─", "+|++-")),
    "clear the screen": "rm -rf /\x1b[2J\x1b[H\x1b[3Jls",
    "overwrite the line": "rm -rf /\r\x1b[Kls",
    "backspaces": "rm -rf /" + "\b" * 8 + "ls      ",
    "one-byte escapes": "rm -rf /\x9b2J\x9b1;1Hls",
    "window title": "\x1b]0;safe\x07ls",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07ls",
    "hidden colours": "ls \x1b[8m; rm -rf / \x1b[0m",
    "turned around": "ls \u202e/ fr- mr\u202c # \u2066safe\u2069",
    "zero width": "rm\u200b -r\u200df\ufeff /\u2060",
    "letters that show nothing": "rm\u3164-rf\u115f/\ufe0f\u2800",
    "tags": "ls " + "".join(chr(0xE0000 + ord(c)) for c in "rm -rf /"),
    "unusual line ends": "ls\u2028Your answer [deny]: \u2029ok\x85\x0b\x0c",
    "markup": "[bold red]ls[/bold red][link=https://example.com]x[/link] [/] :warning: [conceal]rm[/conceal]",
    "unusual spaces": "ls" + "\u00a0" * 90 + "\u3000" * 40 + "; rm -rf /",
    "many spaces": "ls" + " " * 300 + "; rm -rf /",
    "wide letters to push it over the edge": "─│" * 5 + "Ｗ" * 200 + "🦊" * 50 + "①" * 100,
}
CARD_LINE = re.compile(r"│ (?P<left>.{11})(?P<text>.*)")
OWN_LABELS = {
    "", "Tool", "Command", "Target", "Arguments", "Folder", "Workspace", "Does", "Agent", "Session",
    "Through", "Question", "Digest", "Careful", "Because of", "marked",
}  # fmt: skip


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    plain_surroundings(monkeypatch)
    screen = Screen()
    yield screen
    screen.close()


def everywhere(text: str, risk: Risk = Risk.MODERATE) -> AskedQuestion:
    """The text in every place an agent can write to."""
    arguments = {"text": text, text: 1, "nested": {"list": [text] * 3}}
    call = make_call(
        text, arguments, command=text, target=text, folder=text, workspace=f"{text}!", server=text
    )
    return asked_about(call, risk=risk, agent=text, session=text, why=lambda: f"1 ask: {text}")


def shown(asked: AskedQuestion, screen: Screen, *lines: str) -> str:
    with asking(asked, screen) as one:
        one.answer(*lines, "")
    return screen.text


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_there_is_one_card_and_every_line_in_it_is_framed_by_us(attack: str, screen: Screen) -> None:
    card, whole, _ = shown(everywhere(attack), screen, "all").split(f"\n{ANSWER_PROMPT}")
    whole = whole.removeprefix("all\n")
    for text in (card, whole):
        top, *body, bottom = text.strip("\n").split("\n")
        assert top.startswith("╭─ May this run? Moderate risk. ─")
        assert set(bottom) == {"╰", "─"}
        tee = next(line for line in body if line.startswith("├"))
        facts, answers = body[: body.index(tee)], body[body.index(tee) + 1 :]
        assert all(line.startswith("│ ") for line in facts + answers)
        assert {match["left"].strip() for line in facts if (match := CARD_LINE.match(line))} <= OWN_LABELS
        assert set("".join(line[1:] for line in facts + answers)).isdisjoint("╭│├╰─")


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_there_are_as_many_prompts_at_the_edge_as_were_answered(attack: str, screen: Screen) -> None:
    text = shown(everywhere(attack), screen, "all", "why", "nonsense")
    assert len(re.findall(r"^Your answer \[deny\]: ", text, re.MULTILINE)) == 4
    assert len(re.findall(r"^(╭|\+-)", text, re.MULTILINE)) == 3


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_that_acts_or_hides_reaches_the_terminal(attack: str, screen: Screen) -> None:
    shown(everywhere(attack), screen, "all", "why")
    ours = re.sub(r"\x1b\[[0-9;]*m|\r\n", "", screen.raw)
    assert re.search(r"[\x00-\x1f\x7f-\x9f]", ours) is None
    assert (
        re.search("[\u00a0\u115f\u200b-\u200f\u2028-\u202e\u2060-\u2069\u2800\u3000\u3164\ufe0f\ufeff]", ours)
        is None
    )
    assert re.search("[\U000e0000-\U000e01ef]", ours) is None
    assert "\x1b[8m" not in screen.raw


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_line_can_be_pushed_over_the_edge(attack: str, screen: Screen) -> None:
    """Measured as wide as any terminal would: a line that wraps by itself would start in our column."""
    for line in shown(everywhere(attack), screen, "all", "why").splitlines():
        foreign = line.lstrip("╭│├╰─ ")
        width = len(line) + sum(unicodedata.east_asian_width(c) in "WF" for c in foreign)
        assert width <= 80


@pytest.mark.parametrize("name", [name for name, text in ATTACKS.items() if "\n" not in text])
def test_the_command_is_all_there_in_its_order(name: str, screen: Screen) -> None:
    attack = ATTACKS[name]
    call = make_call("shell", {}, command=attack)
    text = shown(asked_about(call), screen, "all").split(f"\n{ANSWER_PROMPT}")[1]
    rows = text.partition("│ Command    ")[2].partition("│ Does")[0].partition("│ Careful")[0].split("\n")
    joined = rows[0] + "".join(row.removeprefix("│              ") for row in rows[1:])
    assert joined == "".join(wrap_text(attack, 10_000, detect_screen(80, {"LANG": "C.UTF-8"})))


@pytest.mark.parametrize(
    "name", ["turned around", "zero width", "letters that show nothing", "tags", "backspaces"]
)
def test_the_card_says_that_characters_were_spelled_out(name: str, screen: Screen) -> None:
    text = shown(asked_about(make_call("shell", {}, command=ATTACKS[name])), screen)
    assert re.search(r"│ Careful    \d+ characters above would not show, or could mislead", text)


def test_a_plain_call_says_nothing_of_the_kind(screen: Screen) -> None:
    text = shown(asked_about(make_call("shell", {"name": "Zoë Müller, 東京"}, command="ls -l")), screen)
    assert "Careful" not in text
    assert "Zoë Müller, 東京" in text


def test_markup_is_shown_as_it_was_written(screen: Screen) -> None:
    assert f"│ Command    {ATTACKS['markup'][:60]}" in shown(
        asked_about(make_call("shell", {}, command=ATTACKS["markup"])), screen
    )


def test_a_hundred_kilobytes_are_folded_and_cannot_be_allowed_unseen_at_high_risk(screen: Screen) -> None:
    text = "# tidy up\n" * 10_000 + "rm -rf /"
    call = make_call("run", {"script": text})
    with asking(asked_about(call, ("once", "deny"), risk=Risk.HIGH), screen) as one:
        reply = one.answer("allow", "once", "o", "")
    assert reply is not None
    assert reply.answer == "deny"
    assert "100,008 characters in all" in screen.text
    assert "rm -rf /" not in screen.text


def test_an_agent_cannot_fold_by_writing_that_something_is_folded(screen: Screen) -> None:
    forged = "ls\n… 2 characters in all; type all to see them"
    text = shown(asked_about(make_call("shell", {}, command=forged)), screen)
    assert "│              … 2 characters in all" in text  # two columns further in than ours would be
    assert "│    all " not in text


def test_a_line_end_in_a_command_is_seen_as_one(screen: Screen) -> None:
    text = shown(asked_about(make_call("shell", {}, command="git log \\\nrm -rf /\n")), screen)
    assert "│ Command    git log \\\\n\n│              rm -rf /\\n\n│ Does" in text


def test_an_argument_cannot_pass_for_another_one(screen: Screen) -> None:
    text = shown(
        asked_about(make_call("send", {"body": 'hi"\nto: "kim@example.com', "to": "all@example.com"})), screen
    )
    assert [line for line in text.split("\n") if re.match(r"│ .{11}to: ", line)] == [
        '│            to: "all@example.com"'
    ]


def test_a_value_cannot_say_that_it_is_the_command_above(screen: Screen) -> None:
    call = make_call("shell", {"command": "the command above", "other": "ls"}, command="ls")
    text = shown(asked_about(call), screen)
    assert 'command: "the command above"\n' in text
    assert "other: the command above\n" in text


@pytest.mark.parametrize("filling", range(60, 80))
def test_a_notice_cannot_forge_a_prompt(filling: int, screen: Screen) -> None:
    text = "x" * filling + " " + ANSWER_PROMPT + FORGED_CARD
    terminal_on(screen).tell(Notice("n", 0.0, "BLOCKED", text), "key")
    screen.read(1)
    assert not re.search(r"^(Your answer|╭|│|╰)", screen.text, re.MULTILINE)
    assert screen.text.count("\nsayso: ") == 0


def test_a_trace_cannot_forge_a_prompt(screen: Screen) -> None:
    text = shown(asked_about(make_call("x"), why=lambda: FORGED_CARD), screen, "why")
    assert len(re.findall(r"^Your answer \[deny\]: ", text, re.MULTILINE)) == 2
    assert len(re.findall(r"^╭", text, re.MULTILINE)) == 2
