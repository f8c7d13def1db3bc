"""Arguments that name files of the guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

GUARD = lazy_pattern(
    r"(?i)sayso|\.claude|\.codex|\.gemini|\.cursor|opencode|clinerules|copilot|openclaw|goose"
)


def judge_guard_mentions(judge: Judge, arguments: tuple[Argument, ...], state: ShellState) -> None:
    """Arguments of a program that is not understood: those that name the guard's files are barred."""
    for one in arguments:
        text = one.value.text
        if text is None or GUARD.search(text) is None:
            continue
        for piece in (text, text.partition("=")[2]):
            if not piece:
                continue
            for folder in state.folders:
                where = CallFolders(folder or judge.where.folder, judge.where.workspace, judge.where.home)
                found = operation_at_path("files.write", piece, judge.policy, where, ())
                if found.barred is not None:
                    judge.record(found.name, Risk.HIGH, found.barred, one.start, one.end, found.barred)
