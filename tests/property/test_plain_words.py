"""Arguments that are found to name no path at one look: the full reading finds none in them either."""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.core.digest import encode_canonical, read_arguments
from sayso.core.model import Call, Operation
from sayso.reading.paths.budget import share_budget
from sayso.reading.paths.finding.argument_texts import runs_text
from sayso.reading.paths.finding.path_arguments import collect_texts
from sayso.reading.paths.guard import (
    MOST_ARGUMENTS,
    SHORT_NUMBERS,
    PathReading,
    follow_every_path,
    follow_paths,
    name_no_path,
)
from sayso.reading.paths.protected_names import PATTERNS, SECRET_PLACES

NAMES = (
    "text", "number", "title", "name", "id", "path", "file", "to", "out", "content", "message", "pattern",
    "query", "patch", "diff", "input", "ext", "type", "format", "prefix", "branch", "script", "link",
    "folder", "amount", "profile", "command", "newName", "saveAs", "base", "value", "note", "x y",
)  # fmt: skip
TOOLS = ("label", "git_add", "apply", "glob_files", "read", "write_note", "mail.send")
IN_FOLDER = ("README", "docs", "to be read", "5", "linked", "hard", "docs 2")
PIECES = (
    *sorted({one.names[0] for one in PATTERNS}), "etc", "proc", "environ", "shadow", "id_rsa", "ID_RSA",
    "_netrc", "sayso", "SaySo", "gate.key", "settings.json", "settings", "json", "md", "agents", "claude",
    "ssh", ".ssh", ".env", "~", "..", ".", "/", "\\", "-", "--", "-o", "=", ":", "file:", "http://x", "%2e",
    "%", "$HOME", "{", "}", "[", "]", "*", "?", "diff", "---", "+++", "Index:", "<<<<<<< SEARCH", "\n",
    "\t", " ", "  ", ",", ";", "!", ", ", ". ", "_", "ſ", "ａ", "\u200b", "'", "L2V0Yy9zaGFkb3c",
    "YWdlbnRzLm1k", "tomorrow", "hello world", "1e5", "1.5", "-5", *IN_FOLDER,
)  # fmt: skip
WORDS = st.from_regex(r"[A-Za-z0-9]{1,8}([ _,.-] ?[A-Za-z0-9]{1,8}){0,3}[.!]?", fullmatch=True)
TEXTS = WORDS | st.sampled_from(PIECES) | st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
VALUES = TEXTS | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6) | st.booleans() | st.none()
NESTED = VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(TEXTS, VALUES, max_size=2)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES | NESTED, max_size=4)

COMMANDS = st.sampled_from((None, "make", "hello world"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files, folders and links whose names are plain words."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("README", "to be read", "5", "hard"):
        (folder / name).write_text("x")
    for name in ("docs", "docs 2"):
        (folder / name).mkdir()
        (folder / name / "AGENTS.md").write_text("x")
    (folder / "linked").symlink_to("/etc/shadow")
    os.link(folder / "hard", folder / "other")
    return folder


@settings(deadline=None, max_examples=1_000, suppress_health_check=list(HealthCheck))
@given(arguments=ARGUMENTS, tool=st.sampled_from(TOOLS), known=st.booleans(), command=COMMANDS)
def test_the_full_reading_finds_nothing_where_one_look_finds_nothing(
    arguments: dict[str, object], tool: str, known: bool, command: str | None, project: Path
) -> None:
    folder = str(project) if known else ""
    written = encode_canonical(arguments)
    call = Call(tool=tool, arguments=written, folder=folder, workspace=folder, command=command)
    operations = (Operation("mail.label"),)
    named = (tool, "mail.label")
    with chdir(project):
        with share_budget():
            plain = name_no_path(arguments, call.folder, named)
        with share_budget():
            quick = follow_paths(call, operations)
        with share_budget():
            full = follow_every_path(call, operations, named, collect_texts(read_arguments(call.arguments)))
    assert quick == full
    assert not plain or any(map(runs_text, arguments)) or full == PathReading(operations)


@pytest.mark.parametrize("text", ["to be done", "hello, world.", "tomorrow and later", "fifty-five times"])
def test_words_and_numbers_are_not_read_at_length(text: str, project: Path) -> None:
    assert name_no_path(
        {"text": text, "number": 17, "share": -1.5, "urgent": True, "by": None}, str(project), ("label",)
    )


@pytest.mark.parametrize("text", IN_FOLDER)
def test_a_text_that_is_an_entry_of_the_folder_is_read_at_length(text: str, project: Path) -> None:
    assert not name_no_path({"note": text}, str(project), ("label",))


def test_a_number_that_is_an_entry_of_the_folder_is_read_at_length(project: Path) -> None:
    assert not name_no_path({"number": 5}, str(project), ("label",))
    assert name_no_path({"number": 6}, str(project), ("label",))


@pytest.mark.parametrize("number", [SHORT_NUMBERS[0], -1, 0, 7, SHORT_NUMBERS[-1]])
def test_a_short_number_is_as_plain_as_its_text(number: int, project: Path) -> None:
    assert name_no_path({"note": number}, str(project), ("label",))
    assert name_no_path({"note": str(number)}, str(project), ("label",))


def test_no_guarded_or_secret_place_begins_with_a_number() -> None:
    begin = {one.names[0] for one in PATTERNS} | {place[0] for place in SECRET_PLACES}
    assert not [name for name in begin if name.lstrip("-").isdigit()]


@pytest.mark.parametrize(
    "text",
    [
        "id_rsa",
        "etc",
        "proc",
        "opt",
        "sayso",
        "a/b",
        "a.md",
        "-rabc",
        "x=y",
        "*",
        "~",
        "L2V0Yy9zaGFkb3cx",
        "a\nb",
    ],
)
def test_what_may_be_a_path_or_a_piece_of_one_is_read_at_length(text: str, project: Path) -> None:
    assert not name_no_path({"note": text}, str(project), ("label",))


def test_a_text_that_may_be_an_ending_is_read_at_length(project: Path) -> None:
    assert not name_no_path({"note": "AGENTS", "ext": "md"}, str(project), ("label",))
    assert name_no_path({"note": "AGENTS", "text": "two words"}, str(project), ("label",))
    assert name_no_path({"text": "md"}, str(project), ("label",)), "there is no name for it to end"


@pytest.mark.parametrize("name", ["path", "to", "id", "pattern", "patch", "prefix", "not a name"])
def test_under_names_that_hold_paths_or_pieces_every_text_is_read_at_length(name: str, project: Path) -> None:
    assert not name_no_path({name: "words"}, str(project), ("label",))


@pytest.mark.parametrize("tool", ["git_add", "apply", "show_diff"])
def test_what_git_and_tools_for_patches_are_given_is_read_at_length(tool: str, project: Path) -> None:
    assert not name_no_path({"note": "words"}, str(project), (tool,))


def test_a_call_without_a_folder_is_read_from_that_of_this_process(project: Path) -> None:
    with chdir(project):
        assert name_no_path({"note": "words", "number": 17}, "", ("label",))
        assert not name_no_path({"note": "README"}, "", ("label",))
        assert not name_no_path({"number": 5}, "", ("label",))


@pytest.mark.parametrize("name", ["args", "code", "script", "flags", "description"])
@pytest.mark.parametrize("text", ["run linked", "hard to tell", "see linked, now."])
def test_a_line_beside_the_declared_command_is_read_for_the_links_in_it(
    name: str, text: str, project: Path
) -> None:
    """As it is where no command is declared: what a tool runs or is given names files anywhere in it."""
    folder, arguments = str(project), {"command": "make", name: text}
    call = Call(
        tool="build", arguments=encode_canonical(arguments), folder=folder, workspace=folder, command="make"
    )
    assert follow_paths(call, (Operation("scripts.run"),)).links
    alone = {"command": "make linked"}
    call = Call(tool="build", arguments=encode_canonical(alone), folder=folder, command="make linked")
    assert not follow_paths(call, (Operation("scripts.run"),)).links, "its own reading has found these"


def test_many_arguments_a_deep_folder_and_a_relative_one_are_read_at_length(project: Path) -> None:
    many = {f"a{number}": "words" for number in range(MOST_ARGUMENTS + 1)}
    assert not name_no_path(many, str(project), ("label",))
    assert not name_no_path({"note": "words"}, "/x" * 5_000, ("label",))
    assert not name_no_path({"note": "words"}, "x", ("label",))
    assert not name_no_path(["words"], str(project), ("label",))
