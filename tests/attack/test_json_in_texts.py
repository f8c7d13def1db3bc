"""JSON in a text is what it stands for: many programs decode it before their tool sees it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sayso.core.model import Verdict
from tests.attack.guarded_home import Agent, coder, home
from tests.support.rows import each_row

__all__ = ["coder", "home"]

GUARDED = (
    "AGENTS.md",
    ".claude/settings.json",
    ".env",
    "/etc/cron.d/x",
    "~/.bashrc",
    "~/.config/sayso/policy.yaml",
)


def plain(text: Any) -> str:
    return json.dumps(text)


def escaped(text: Any) -> str:
    """The same, with letters that nobody reads as such."""
    return "".join(f"\\u{ord(one):04x}" if one in "AsSey." else one for one in json.dumps(text))


def twice(text: Any) -> str:
    return json.dumps([json.dumps(text)])


def spaced(text: Any) -> str:
    return f"\n  {json.dumps(text, indent=2)}\n"


def in_base64(text: Any) -> str:
    return base64.b64encode(json.dumps(text).encode()).decode()


def in_an_address(text: Any) -> str:
    """As tokens and addresses have it: another alphabet, and no padding."""
    return base64.urlsafe_b64encode(json.dumps(text).encode()).decode().rstrip("=")


def in_lines(text: Any) -> str:
    return base64.encodebytes(json.dumps(text, indent=1).encode()).decode()


def as_data(text: Any) -> str:
    return f"data:application/json;base64,{in_base64(text)}"


def in_base64_twice(text: Any) -> str:
    return in_base64({"payload": in_base64(text)})


def as_an_option(text: Any) -> str:
    return f"--edits={json.dumps(text)}"


SPELLINGS = (
    plain, escaped, twice, spaced, in_base64, in_an_address, in_lines, as_data, in_base64_twice, as_an_option,
)  # fmt: skip


@pytest.fixture
def editing(coder: Agent) -> Iterator[Agent]:
    """An agent that may edit for its task, and still may after the test."""
    coder.session.hear("let's work on the parser")
    asked = coder.session.call("edit_file", {"path": "a.txt", "old": "a", "new": "b"})
    coder.session.hear("yes")
    asked.retry().succeeded()
    yield coder
    args = {"file_path": "a.txt", "edits": plain([{"file_path": "b.txt"}])}
    assert coder.verdict("MultiEdit", args) is Verdict.ALLOW


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("name", ["edits", "options", "target", "file_path"])
@each_row("path", GUARDED)
def test_no_json_in_a_text_hides_a_guarded_file(editing: Agent, path: str, spell: Any, name: str) -> None:
    args = {"file_path": "a.txt", name: spell([{"file_path": path, "old_string": "a", "new_string": "b"}])}
    assert editing.verdict("MultiEdit", args) is not Verdict.ALLOW


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("file", ["gate.key", "sayso.db"])
def test_no_json_in_a_text_reads_the_guard(coder: Agent, spell: Any, file: str) -> None:
    args = {"path": "a.txt", "paths": spell([f"~/.local/share/sayso/{file}"])}
    assert coder.verdict("read_file", args) is Verdict.DENY


def test_json_that_is_written_to_a_file_is_its_content(editing: Agent) -> None:
    content = json.dumps({"path": "AGENTS.md", "file": "/etc/hosts"})
    assert editing.verdict("edit_file", {"path": "a.json", "old": "", "new_string": content}) is Verdict.ALLOW


@pytest.mark.parametrize("path", ["~/.ssh/authorized_keys", "~/.config/sayso/policy.yaml"])
@pytest.mark.parametrize("depth", [1, 60, 62, 63, 64, 99, 5_000])
def test_no_depth_of_nesting_hides_a_file_from_the_person_who_said_yes_to_the_task(
    editing: Agent, path: str, depth: int
) -> None:
    nested = "[" * depth + escaped(path) + "]" * depth
    assert editing.verdict("MultiEdit", {"file_path": "a.txt", "edits": nested}) is not Verdict.ALLOW


@pytest.mark.parametrize("depth", [64, 99])
def test_nesting_beside_a_guarded_file_does_not_make_a_question_of_what_is_denied(
    editing: Agent, depth: int
) -> None:
    nested = "[" * depth + "1" + "]" * depth
    denied = editing.verdict("MultiEdit", {"file_path": "~/.config/sayso/policy.yaml", "edits": nested})
    assert denied is Verdict.DENY


@pytest.mark.parametrize(
    "word",
    ["configuration", "test_parser_edge_cases", "feature-branch-name", "AbstractFactoryBuilder", "UserId42"],
)
@pytest.mark.parametrize("name", ["file_path", "label"])
def test_ordinary_words_are_not_taken_for_base64(editing: Agent, word: str, name: str) -> None:
    assert editing.verdict("edit_file", {"path": "a.txt", name: word}) is Verdict.ALLOW
