"""Asking at a real terminal: what a person types, and what is no answer of theirs."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches this program
from sayso.doors.approval_manager import ApprovalManager, ApprovalMode, RiskLevel, ask_at_terminal
manager = ApprovalManager(ApprovalMode.BALANCED, ask_at_terminal)
approved = manager.request_approval("git_push", {"remote": "origin"}, RiskLevel.HIGH)
print("approved" if approved else "denied", flush=True)
"""


def read_until(end: int, *texts: bytes) -> bytes:
    seen = b""
    while not any(text in seen for text in texts):
        seen += os.read(end, 4096)
    return seen


@contextmanager
def person_at(program: str, *, before: bytes = b"") -> Iterator[int]:
    """The person's end of a terminal that a program runs at; `before` is typed before it starts."""
    person, terminal = pty.openpty()
    try:
        os.write(person, before)
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        yield person
        assert process.wait(timeout=180) == 0
    finally:
        os.close(terminal)
        os.close(person)


def answered(keys: bytes, *, before: bytes = b"") -> tuple[str, bool]:
    """What was shown before the person typed `keys`, and whether that approved."""
    with person_at(PROGRAM, before=before) as person:
        shown = read_until(person, b"\n> ")
        os.write(person, keys)
        said = read_until(person, b"approved", b"denied")
    return shown.decode(), b"approved" in said


@pytest.mark.parametrize("keys", [b"y", b"Y", b"yes", b"YES", b"Yes"])
def test_a_typed_yes_approves(keys: bytes) -> None:
    screen, approved = answered(keys + b"\n")
    assert "│  Risk: HIGH                                 │" in screen
    assert approved


NO = [b"\n", b"n\n", b"no\n", b"yy\n", b"yes please\n", b" y\n", b"ok\n", b"\xff\n", "уes\n".encode()]


@pytest.mark.parametrize("keys", [*NO, b"\x04", b"\x03", b"y\x03"])
def test_whatever_else_is_typed_is_a_no(keys: bytes) -> None:
    assert not answered(keys)[1]


def test_what_was_typed_before_the_question_does_not_answer_it() -> None:
    assert not answered(b"\n", before=b"y\nyes\n")[1]


def test_the_example_in_the_documentation_runs_as_shown_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "approval-modes.md").read_text(encoding="utf-8")
    _, program, _, transcript, *_ = text.split("```")
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", "trusting")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with person_at(program.removeprefix("python\n") + "print('the end', flush=True)") as person:
        screen = b""
        for keys in (b"y\n", b"\n"):
            screen += read_until(person, b"\n> ")
            os.write(person, keys)
        screen += read_until(person, b"the end")
    assert screen.decode().replace("\r", "").partition("the end")[0] == transcript.removeprefix("\n")
