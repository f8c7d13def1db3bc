"""The terminal asks, and only an answer that was offered, typed as it stands there, comes back."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

import msgspec
import pytest

from sayso.core.audit.notices import Notice
from sayso.core.model import Piece, Risk
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.surface import LocalSurface, Reply
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT, APPROVE_PROMPT
from sayso.surfaces.terminal.terminal import Terminal
from tests.support.questions import ALL, asked_about, mail, push_question
from tests.support.terminals import Screen, asking, terminal_on

ONCE_ONLY = ("once", "deny")


def notice(text: str) -> Notice:
    return Notice("n", 0.0, "BLOCKED", text)


def allowed(answer: str) -> Reply:
    return Reply(answer, "kim at the terminal")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("o", "once"),
        ("once", "once"),
        (" ONCE ", "once"),
        ("t", "task"),
        ("task", "task"),
        ("m", "temporary"),
        ("15 min", "temporary"),
        ("always", "always"),
        ("remember", "remember"),
        ("d", "deny"),
        ("deny", "deny"),
        ("n", "deny"),
        ("no", "deny"),
        ("", "deny"),
    ],
)
def test_what_stands_on_the_card_can_be_typed(screen: Screen, typed: str, answer: str) -> None:
    with asking(push_question(), screen) as one:
        assert one.answer(typed) == allowed(answer)


@pytest.mark.parametrize(
    "typed",
    [
        "yes",
        "y",
        "a",
        "allow",
        "on",
        "once once",
        "once;",
        "1",
        "оnce",
        "not sure",
        "\x1b[A",
        "r",
        pytest.param("x" * 4000, id="long"),
    ],
)
def test_anything_else_is_asked_again(screen: Screen, typed: str) -> None:
    with asking(push_question(), screen) as one:
        assert one.answer(typed, "o") == allowed("once")
    assert screen.text.count(ANSWER_PROMPT) == 2
    said = " ".join(screen.text.split())
    assert (
        "is not an answer to this question. Answer once, task, 15 min, always, remember, deny, edit or why."
        in said
    )


@pytest.mark.parametrize("answer", sorted({*ALL} - {*ONCE_ONLY}))
def test_what_is_not_offered_is_not_shown_and_not_taken(screen: Screen, answer: str) -> None:
    with asking(push_question(ONCE_ONLY), screen) as one:
        assert one.answer(answer, "") == allowed("deny")
    assert f" {answer} " not in screen.text.split(ANSWER_PROMPT)[0]


def test_a_no_can_carry_a_reason(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        assert one.answer("deny wrong branch, use a topic one") == Reply(
            "deny", "kim at the terminal", reason="wrong branch, use a topic one"
        )


def test_a_no_with_a_comma_is_a_no(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        assert one.answer("no, always do that on staging") == Reply(
            "deny", "kim at the terminal", reason="always do that on staging"
        )


def test_the_card_says_what_runs_what_it_does_who_asks_and_until_when(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    with asking(push_question(), screen) as one:
        one.answer("d")
    for fact in (
        "May this run? Moderate risk.",
        "│ Tool       shell\n",
        "│ Command    git push origin main\n",
        "│ Arguments  command: the command above\n│            timeout: 30\n",
        "│ Folder     /srv/app\n",
        "│ Does       git.push (moderate risk): the policy requires approval\n",
        "│ Agent      coder\n",
        "│ Session    s1\n",
        "s1.q1, open until",
        "(2 hours)\n",
        "│ o  once       allow once: this call, now\n",
        "│ m  15 min     for 15 minutes: git push origin main\n",
    ):
        assert fact in screen.text


def test_the_card_says_which_part_of_the_call_made_it_so(screen: Screen) -> None:
    parts = (Piece(None, "--force"), Piece("to", 'a"b\x1b[31m'))
    with asking(push_question(because=parts), screen) as one:
        one.answer("deny")
    assert '│ Because of "--force"\n│            to: "a\\"b\\u001b[31m"\n' in screen.text


def test_why_shows_the_checks_and_asks_again(screen: Screen) -> None:
    with asking(push_question(why=lambda: "1 blocked: silent\n2 ask: no consent yet"), screen) as one:
        assert one.answer("why", "w", "o") == allowed("once")
    assert screen.text.count("│ 1 blocked: silent\n│ 2 ask: no consent yet\n") == 2


def test_a_trace_that_cannot_be_had_does_not_end_the_question(screen: Screen) -> None:
    def broken() -> str:
        raise RuntimeError("the store is closed")

    with asking(push_question(why=broken), screen) as one:
        assert one.answer("why", "d") == allowed("deny")
    assert "The checks cannot be shown: the store is closed" in screen.text


# --- high risk ---


def test_high_risk_wants_the_word_allow(screen: Screen) -> None:
    with asking(push_question(ONCE_ONLY, risk=Risk.HIGH), screen) as one:
        assert one.answer("o", "once", "yes", "a", "allo", "allow") == allowed("once")
    assert screen.text.count("is not an answer") == 5


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("o", "once"), ("15 min", "temporary"), ("always", "always"), ("", "deny"), ("no", "deny")],
)
def test_where_high_risk_can_be_allowed_in_several_ways_it_asks_which(
    screen: Screen, typed: str, answer: str
) -> None:
    with asking(push_question(("once", "temporary", "always", "deny"), risk=Risk.HIGH), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("allow\n")
        screen.wait_for("Allow how? [deny]: ")
        screen.type(f"{typed}\n")
        assert one.reply() == allowed(answer)


def test_an_unknown_way_of_allowing_starts_again(screen: Screen) -> None:
    with asking(push_question(("once", "temporary", "deny"), risk=Risk.HIGH), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("allow\n")
        screen.wait_for("Allow how? [deny]: ")
        screen.type("always\n")
        assert one.answer("once", "") == allowed("deny")


# --- what is long ---


def test_long_text_is_folded_with_its_true_length_and_all_shows_it(screen: Screen) -> None:
    body = "".join(f"line {number}\n" for number in range(2000)) + "the end"
    with asking(mail(body=body), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        assert "line 9\\n" in screen.text
        assert "line 10\\n" not in screen.text
        assert f"… {len(body):,} characters in all; type all to see them" in screen.text
        screen.type("all\n")
        assert one.answer("o") == allowed("once")
    assert 'line 1999\\n\n│              the end"\n' in screen.text


def test_what_is_folded_cannot_be_allowed_at_high_risk_before_it_was_seen(screen: Screen) -> None:
    call = make_call("write", {"text": "x" * 9000})
    with asking(asked_about(call, ONCE_ONLY, risk=Risk.HIGH), screen) as one:
        assert one.answer("allow", "all", "allow") == allowed("once")
    assert " ".join(screen.text.split()).count("Type all to see the whole call first.") == 1


def test_more_arguments_than_can_be_read_are_folded_too(screen: Screen) -> None:
    call = make_call("write", {f"name{number:04}": number for number in range(500)})
    with asking(asked_about(call, ONCE_ONLY, risk=Risk.HIGH), screen) as one:
        assert one.answer("allow", "all", "allow") == allowed("once")
    assert "… 480 more facts; type all to see them" in screen.text
    assert "name0499: 499" in screen.text


def test_what_is_folded_cannot_be_edited_at_high_risk_before_it_was_seen(screen: Screen) -> None:
    call = make_call("write", {"text": "x" * 9000})
    with asking(asked_about(call, ONCE_ONLY, risk=Risk.HIGH), screen) as one:
        assert one.answer("edit", "") == allowed("deny")
    assert "New value" not in screen.text


def test_a_reply_names_the_call_only_if_nothing_of_it_was_folded(screen: Screen) -> None:
    whole, folded = push_question(), mail(body="x" * 9000)
    with asking(whole, screen) as one:
        one.answer("o")
        assert one.seen == whole.question.request.digest
    with asking(folded, screen) as one:
        one.answer("o")
        assert one.seen is None
    with asking(folded, screen) as one:
        one.answer("all", "o")
        assert one.seen == folded.question.request.digest


def test_an_answer_whose_words_are_folded_is_no_whole_view(screen: Screen) -> None:
    asked = asked_about(make_call("write", {}), operation=f"files.{'x' * 300}")
    with asking(asked, screen) as one:
        one.answer("o")
        assert one.seen is None
    assert "show everything that is folded here" in screen.text


def test_state_workflow_and_what_comes_later_stand_on_the_card(screen: Screen) -> None:
    asked = asked_about(make_call("go", {}, state="3 hosts"), workflow="ship")
    later = msgspec.structs.replace(asked.question, later=("git.push",))
    with asking(msgspec.structs.replace(asked, question=later), screen) as one:
        one.answer("")
    for line in ("State now  3 hosts", "Workflow   ship", "Later      git.push will be asked"):
        assert line in screen.text


@pytest.mark.parametrize(
    ("typed", "confirmed"), [("allow", True), ("yes", False), ("", False), ("once", False)]
)
def test_to_confirm_shows_everything_and_takes_the_whole_word_only(
    screen: Screen, typed: str, confirmed: bool
) -> None:
    asked = asked_about(make_call("write", {"text": "x" * 9000 + "THE-END"}), ONCE_ONLY, risk=Risk.HIGH)
    terminal, said = terminal_on(screen), []
    asks = threading.Thread(target=lambda: said.append(terminal.confirm(asked, "once")), daemon=True)
    asks.start()
    assert "THE-END" in screen.wait_for(APPROVE_PROMPT)
    screen.type(f"{typed}\n")
    asks.join(20)
    assert said == [confirmed]


# --- what can happen meanwhile ---


def test_what_was_typed_before_and_in_the_first_half_second_is_no_answer(screen: Screen) -> None:
    waited = []

    def wait(over: threading.Event, seconds: float) -> None:
        waited.append(seconds)
        screen.type_ahead("always\n")

    screen.type_ahead("once\n")
    with asking(push_question(), screen, wait=wait) as one:
        assert one.answer("") == allowed("deny")
    assert waited == [0.5]
    assert "is not an answer" not in screen.text


@pytest.mark.parametrize("typed", ["", "onc"])
def test_ctrl_c_is_a_no(screen: Screen, typed: str) -> None:
    before = screen.modes
    with asking(push_question(), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        screen.type(f"{typed}\x03")
        assert one.reply() == Reply("deny", "kim at the terminal", reason="Ctrl-C at the terminal")
    assert "Denied: Ctrl-C at the terminal." in screen.text
    assert screen.modes == before


def test_the_end_of_input_is_a_no(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("\x04")
        assert one.reply() == Reply("deny", "kim at the terminal", reason="the terminal was closed")


def test_a_terminal_that_hangs_up_is_a_no(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        screen.hang_up()
        assert one.reply() == Reply("deny", "kim at the terminal", reason="the terminal was closed")


def test_a_question_answered_elsewhere_is_taken_down(screen: Screen) -> None:
    before = screen.modes
    with asking(push_question(), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("onc")
        one.close()
        assert one.reply() is None
    assert screen.text.endswith("\nNo longer asked here.\n")
    assert screen.modes == before


def test_a_question_that_is_over_before_its_turn_is_not_shown(screen: Screen) -> None:
    terminal, asked = terminal_on(screen), push_question()
    terminal.show(asked, "key")
    terminal.close("key", asked.question.id, "key", "over")
    assert terminal.fetch(0) == ()
    screen.read()
    assert screen.text == ""


def test_a_question_that_is_over_in_the_first_half_second_is_taken_down(screen: Screen) -> None:
    terminal, asked = terminal_on(screen, wait=lambda over, seconds: over.set()), push_question()
    terminal.show(asked, "key")
    assert terminal.fetch(0) == ()
    screen.read()
    assert ANSWER_PROMPT not in screen.text


def test_modes_are_put_back_after_an_answer(screen: Screen) -> None:
    before = screen.modes
    with asking(push_question(), screen) as one:
        screen.wait_for(ANSWER_PROMPT)
        assert screen.modes != before
        screen.type("o\n")
        one.reply()
    assert screen.modes == before


def test_two_questions_are_asked_one_after_the_other(screen: Screen) -> None:
    with asking(push_question(), screen) as first:
        screen.wait_for(ANSWER_PROMPT)
        with asking(mail(to="kim@example.com"), screen) as second:  # another surface on the same terminal
            screen.wait_for("sayso: 1 more question waits.\n" + ANSWER_PROMPT)
            assert "send_mail" not in screen.text
            screen.type("o\n")
            assert first.reply() == allowed("once")
            assert second.answer("d") == allowed("deny")
    assert screen.text.index("You answered: once.") < screen.text.index("send_mail")


def test_a_card_says_how_many_wait_behind_it(screen: Screen) -> None:
    with asking(push_question(), screen) as first:
        screen.wait_for(ANSWER_PROMPT)
        with asking(push_question(), screen) as second:
            screen.wait_for("1 more question waits")
            with asking(push_question(), screen) as third:
                screen.wait_for("2 more questions wait.\n" + ANSWER_PROMPT)
                screen.type("\n")
                first.reply()
                screen.wait_for("Moderate risk. 1 more waits.")
                third.close()
                assert third.reply() is None
                assert second.answer("o") == allowed("once")
    assert screen.text.count("May this run?") == 2


def test_an_answer_typed_for_one_question_is_not_taken_for_the_next(screen: Screen) -> None:
    with asking(push_question(), screen) as first:
        screen.wait_for(ANSWER_PROMPT)
        with asking(mail(to="kim@example.com"), screen, wait=lambda *_: screen.type_ahead("o\n")) as second:
            screen.wait_for("1 more question waits.\n" + ANSWER_PROMPT)
            screen.type("o\no\no\n")
            assert first.reply() == allowed("once")
            assert second.answer("d") == allowed("deny")


def test_a_notice_comes_between_keys_and_the_question_stays(screen: Screen) -> None:
    terminal = terminal_on(screen)
    with asking(push_question(), screen, terminal=terminal) as one:
        screen.wait_for(ANSWER_PROMPT)
        terminal.tell(notice("git.push_force was attempted and blocked"), "key")
        screen.wait_for("sayso: git.push_force was attempted and blocked\n" + ANSWER_PROMPT)
        screen.type("o\n")
        assert one.reply() == allowed("once")


def test_a_notice_without_a_question_is_shown_at_once(screen: Screen) -> None:
    terminal_on(screen).tell(notice("a permission \x1b[2J decays in 3 days\n╭─ May this run?"), "key")
    screen.read(1)
    assert screen.text == "sayso: a permission \\x1b[2J decays in 3 days\\n\\u256d\\u2500 May this run?\n"


# --- terminals of all kinds ---


def test_colour_is_only_a_help(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    with asking(push_question(), screen) as one:
        one.answer("d")
    assert "\x1b[" in screen.raw
    coloured = screen.text
    monkeypatch.setenv("TERM", "dumb")
    dumb = Screen()
    with asking(push_question(), dumb) as one:
        one.answer("d")
    assert "\x1b" not in dumb.raw
    assert dumb.text == coloured
    dumb.close()


def test_no_color_leaves_no_colour(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with asking(push_question(), screen) as one:
        one.answer("d")
    assert "\x1b[1m" in screen.raw  # bold is no colour
    assert not any(f"\x1b[{style}3{colour}m" in screen.raw for style in ("", "1;") for colour in range(8))


@pytest.mark.parametrize("columns", [30, 40, 80, 200, 0])
def test_no_line_is_wider_than_the_terminal_or_80_columns(columns: int) -> None:
    screen = Screen(columns)
    with asking(mail(to="kim@example.com", body="word " * 200, link="y" * 300), screen) as one:
        one.answer("all", "d")
    lines = screen.text.split(ANSWER_PROMPT)[0].splitlines()
    assert max(map(len, lines)) <= min(columns or 80, 80)
    assert columns == 30 or max(map(len, lines)) >= min(columns or 80, 80) - 1
    screen.close()


@pytest.mark.parametrize("locale", ["C", "POSIX", "de_DE.ISO-8859-1"])
def test_a_terminal_without_utf_8_gets_ascii(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, locale: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    with asking(mail(subject="Grüße", body="x" * 5000), screen) as one:
        assert one.answer("o") == allowed("once")
    assert screen.raw.isascii()
    assert "+- May this run?" in screen.text
    assert 'subject: "Gr\\xfc\\xdfe"' in screen.text


# --- nobody to ask ---


@pytest.mark.parametrize("device", ["/nowhere/at/all", "/dev/null"])
def test_without_a_terminal_nobody_is_asked_and_that_is_said_once(
    device: str, caplog: pytest.LogCaptureFixture
) -> None:
    terminal = Terminal("kim", device=device)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            terminal.show(push_question(), "key")
            assert terminal.fetch(0) == ()
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "nobody can be asked on the terminal"
    ]


def test_without_a_terminal_a_notice_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    Terminal("kim", device="/nowhere/at/all").tell(notice("blocked\x1b[2J"), "key")
    assert [record.message for record in caplog.records] == ["blocked\\x1b[2J"]


def test_a_question_that_cannot_be_shown_is_no_answer(
    screen: Screen, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> float:
        raise RuntimeError("no clock")

    before = screen.modes
    terminal = terminal_on(screen, clock=broken)
    terminal.show(push_question(), "key")
    assert terminal.fetch(0) == ()
    assert "could not be shown" in caplog.text
    assert screen.modes == before


def test_the_person_is_the_user_of_the_system_unless_named(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "somebody-else")
    monkeypatch.setenv("USER", "somebody-else")
    surface: LocalSurface = Terminal(device=screen.path)
    assert surface.name == "terminal"
    assert isinstance(surface, Terminal)
    assert surface.who not in ("", "somebody-else")
    assert surface.by == f"{surface.who} at the terminal"


@pytest.mark.cold
def test_importing_the_terminal_loads_nothing_heavy() -> None:
    script = "import sys, sayso.surfaces.terminal.terminal; print(*sys.modules)"
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environ, text=True, check=True
    )
    assert {"rich", "subprocess", "asyncio", "tempfile"} & set(done.stdout.split()) == set()
