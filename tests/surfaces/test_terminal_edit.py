"""Editing a call at the terminal: strictly read, shown again, and allowed only by the whole word."""

from __future__ import annotations

import os
import shlex
import sys
import termios
from pathlib import Path

import msgspec
import pytest

from sayso.core.model import Risk
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.surface import AskedQuestion, EditDecided, Reply
from sayso.surfaces.terminal.edit import find_editor, write_draft
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT, CONFIRM_PROMPT
from tests.support.questions import asked_about, push_question
from tests.support.terminals import Asking, Screen, asking

NEW_VALUE = "New value [keep]: "


def edited(values: dict[str, object]) -> Reply:
    return Reply("edit", "kim at the terminal", edited=values)


def type_at(screen: Screen, *steps: tuple[str, str]) -> None:
    for prompt, line in steps:
        screen.wait_for(prompt)
        screen.type(f"{line}\n")


def by_line(one: Asking, screen: Screen, *lines: str) -> None:
    type_at(screen, (ANSWER_PROMPT, "edit"), *((NEW_VALUE, line) for line in lines))


# --- line by line ---


def test_each_argument_is_asked_for_and_enter_keeps_it(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen, "git push origin topic", "")
        type_at(screen, (CONFIRM_PROMPT, "allow"))
        assert one.reply() == edited({"command": "git push origin topic", "timeout": 30})
    assert 'command: "git push origin main"\n' in screen.text
    assert '"command": "git push origin topic",' in screen.text.split(NEW_VALUE)[-1]


def test_what_replaces_text_is_text_and_what_replaces_a_number_is_json(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen, "5", "soon", "[1, 2", '{"a": 1, "a": 2}', "60")
        type_at(screen, (CONFIRM_PROMPT, "allow"))
        assert one.reply() == edited({"command": "5", "timeout": 60})
    assert "this is not JSON" in screen.text
    assert "an object names the same key twice" in screen.text


@pytest.mark.parametrize("said", ["", "yes", "once", "y", "edit"])
def test_an_edit_that_is_not_confirmed_allows_nothing(screen: Screen, said: str) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen, "git push origin topic", "")
        type_at(screen, (CONFIRM_PROMPT, said))
        assert one.answer("") == Reply("deny", "kim at the terminal")


def test_an_edit_that_changes_nothing_is_no_answer(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen, "", "30.0")
        assert one.answer("") == Reply("deny", "kim at the terminal")
    assert "Nothing was changed." in screen.text


def test_a_number_that_cannot_be_held_exactly_is_refused(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen, "", str(2**64 + 1))
        assert one.answer("") == Reply("deny", "kim at the terminal")
    assert "Not edited: a whole number is too large" in screen.text


def test_a_line_the_terminal_would_cut_off_is_not_taken(screen: Screen) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen, "x" * 5000, "git push origin topic", "")
        type_at(screen, (CONFIRM_PROMPT, "allow"))
        assert one.reply() == edited({"command": "git push origin topic", "timeout": 30})
    assert "longer than a terminal line" in screen.text


@pytest.mark.parametrize("keys", ["\x03", "\x04"])
def test_ctrl_c_and_the_end_of_input_in_an_edit_are_a_no(screen: Screen, keys: str) -> None:
    with asking(push_question(), screen) as one:
        by_line(one, screen)
        screen.wait_for(NEW_VALUE)
        screen.type(keys)
        reply = one.reply()
    assert reply is not None
    assert reply.answer == "deny"


def no_arguments() -> AskedQuestion:
    return asked_about(make_call("beep"))


def only_no() -> AskedQuestion:
    return push_question(("deny",))


@pytest.mark.parametrize("asked", [no_arguments(), only_no()], ids=["no arguments", "nothing to allow"])
def test_where_there_is_nothing_to_edit_it_is_asked_again(screen: Screen, asked: AskedQuestion) -> None:
    with asking(asked, screen) as one:
        assert one.answer("edit", "") == Reply("deny", "kim at the terminal")
    assert NEW_VALUE not in screen.text


# --- what the policy makes of it ---


def decided(asked: AskedQuestion, risk: Risk, *, denied: bool = False) -> AskedQuestion:
    """The same question, and a policy that decides every edit of its call so."""
    verdict = EditDecided("d" * 64, risk, denied, "it is out of bounds")
    return msgspec.structs.replace(asked, decide_edit=lambda values: verdict)


def test_an_edit_that_raises_the_risk_says_so_before_it_is_confirmed(screen: Screen) -> None:
    with asking(decided(push_question(), Risk.HIGH), screen) as one:
        by_line(one, screen, "git push --force", "")
        type_at(screen, (CONFIRM_PROMPT, "allow"))
        reply = one.reply()
        assert reply is not None
        assert reply.seen_edited == "d" * 64
    assert "The edit changes the risk from moderate to high: it is out of bounds." in screen.text


def test_an_edit_that_the_policy_denies_is_not_even_confirmed(screen: Screen) -> None:
    with asking(decided(push_question(), Risk.HIGH, denied=True), screen) as one:
        by_line(one, screen, "git push --force", "")
        assert one.answer("") == Reply("deny", "kim at the terminal")
    assert "the policy denies the edited call: it is out of bounds" in screen.text
    assert CONFIRM_PROMPT not in screen.text


# --- in an editor ---


def set_editor(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str, name: str = "EDITOR") -> None:
    """An editor that does this with the file it is given."""
    script = folder / "an editor.py"
    script.write_text(f"import os, stat, sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n{body}\n")
    monkeypatch.setenv(name, shlex.join([sys.executable, str(script)]))


REPLACE = "path.write_text(path.read_text().replace('main', 'topic'))"


@pytest.mark.parametrize("name", ["EDITOR", "VISUAL"])
def test_the_arguments_are_edited_in_the_persons_editor(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    set_editor(monkeypatch, tmp_path, REPLACE, name)
    with asking(push_question(), screen) as one:
        type_at(screen, (ANSWER_PROMPT, "e"), (CONFIRM_PROMPT, "allow"))
        assert one.reply() == edited({"command": "git push origin topic", "timeout": 30})


def test_the_file_is_the_persons_alone_and_gone_afterwards(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modes = "stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)"
    set_editor(monkeypatch, tmp_path, f"print('modes', *map(oct, ({modes})))\nprint('file', path)\n{REPLACE}")
    with asking(push_question(), screen) as one:
        type_at(screen, (ANSWER_PROMPT, "edit"), (CONFIRM_PROMPT, "allow"))
        one.reply()
    assert "modes 0o600 0o700\n" in screen.text
    path = Path(screen.text.partition("file ")[2].splitlines()[0])
    assert path.name == "arguments.json"
    assert not path.parent.exists()


def test_an_editor_has_the_terminals_own_modes(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_editor(
        monkeypatch, tmp_path, f"import termios\nprint('signals', termios.tcgetattr(0)[3] & {termios.ISIG})"
    )
    with asking(push_question(), screen) as one:
        assert one.answer("edit", "") == Reply("deny", "kim at the terminal")
    assert f"signals {termios.ISIG}\n" in screen.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("path.write_text('{')", "this is not JSON"),
        ("path.write_text('[1]')", "the arguments must be an object"),
        ('path.write_text(\'{"a": 1, "a": 2}\')', "names the same key twice"),
        ("path.write_text('{\"a\": NaN}')", "is not a number JSON can hold"),
        ("path.write_bytes(b'\\xff')", "left no text behind"),
        ("path.unlink()", "left no text behind"),
        ("sys.exit(3)", "ended with 3"),
    ],
)
def test_what_an_editor_leaves_is_read_strictly(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, said: str
) -> None:
    set_editor(monkeypatch, tmp_path, body)
    with asking(push_question(), screen) as one:
        assert one.answer("edit", "") == Reply("deny", "kim at the terminal")
    told = " ".join(screen.text.split())
    assert f"Not edited: {said}" in told or said in told
    assert CONFIRM_PROMPT not in screen.text


def test_an_editor_that_does_not_start_is_said(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    with asking(push_question(), screen) as one:
        assert one.answer("edit", "") == Reply("deny", "kim at the terminal")
    assert "/nowhere/editor did not start: No such file or directory" in screen.text


def test_a_draft_that_was_not_valid_is_there_again(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    again = "path.write_text('{\"command\": \"ls\"}' if path.read_text() == '{half\\n' else '{half')"
    set_editor(monkeypatch, tmp_path, again)
    with asking(push_question(), screen) as one:
        type_at(screen, (ANSWER_PROMPT, "edit"), (ANSWER_PROMPT, "edit"), (CONFIRM_PROMPT, "allow"))
        assert one.reply() == edited({"command": "ls"})


def test_a_question_that_is_over_closes_the_editor(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_editor(
        monkeypatch, tmp_path, "print('editor', os.getpid(), flush=True)\nimport time\ntime.sleep(600)"
    )
    with asking(push_question(), screen) as one:
        type_at(screen, (ANSWER_PROMPT, "edit"))
        screen.wait_for("editor ")
        screen.wait_for("\n")
        one.close()
        assert one.reply() is None
    editor = int(screen.text.partition("editor ")[2].split()[0])
    with pytest.raises(ProcessLookupError):
        os.kill(editor, 0)
    assert "No longer asked here." in screen.text


def test_characters_that_would_not_show_are_escaped_in_the_draft() -> None:
    assert write_draft({"to": "a\u202eb\x7f\U000e0041ü"}) == '{\n  "to": "a\\u202eb\\u007f\\udb40\\udc41ü"\n}'


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({}, []),
        ({"EDITOR": "vi"}, ["vi"]),
        ({"EDITOR": "vi", "VISUAL": "code --wait"}, ["code", "--wait"]),
        ({"EDITOR": "'"}, []),
    ],
)
def test_which_editor_it_is(environ: dict[str, str], command: list[str]) -> None:
    assert find_editor(environ) == command
