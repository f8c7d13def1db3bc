"""Whether git plainly ignores a file: what search tools pass over.

Only lines that are easily read count: names with wildcards, anywhere or beside the `.gitignore`. In doubt a
file is not ignored: a line that takes files out again (`!…`) counts for every file unless it is easily read,
and in the files that only search tools read it always does.
"""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

from sayso.reading.paths.file_content import read_whole

LARGEST = 64 * 1024
_FILES_OF_TOOLS = (".ignore", ".rgignore", ".geminiignore")
"""Files that search tools prefer to `.gitignore`."""


def is_git_ignored(path: str, workspace: str) -> bool:
    """Return whether a `.gitignore` of this repository plainly names the path or its folder."""
    names = Path(os.path.relpath(path, workspace)).parts
    if names[:1] == ("..",) or not (Path(workspace) / ".git").exists():
        return False
    try:
        if _tools_take_files_out(workspace, names):
            return False
        return any(
            _is_named(workspace, names[: depth + 1], depth + 1 < len(names)) for depth in range(len(names))
        )
    except (OSError, ValueError):  # a file that cannot be read may take something out again
        return False


def _is_named(workspace: str, names: tuple[str, ...], is_folder: bool) -> bool:
    """Return what the last line says that fits this file or folder, from the top down."""
    ignored = False
    for depth in range(len(names)):
        for line in _read_lines(Path(workspace, *names[:depth]) / ".gitignore"):
            if line.startswith("!"):
                ignored = ignored and not _may_fit(line[1:], names[-1])
            elif _fits(line, names[-1], beside=depth == len(names) - 1, is_folder=is_folder):
                ignored = True
    return ignored


def _tools_take_files_out(workspace: str, names: tuple[str, ...]) -> bool:
    """Return whether on the way to this path a file of search tools takes anything out again."""
    folders = (Path(workspace, *names[:depth]) for depth in range(len(names)))
    files = (folder / name for folder in folders for name in _FILES_OF_TOOLS)
    return any(line.startswith("!") for file in files for line in _read_lines(file))


def _may_fit(line: str, name: str) -> bool:
    """Return whether a line may be about this name: in doubt, yes."""
    pattern = line.removeprefix("**/").removesuffix("/")
    return any(letter in pattern for letter in "/\\[") or fnmatch.fnmatchcase(name, pattern)


def _fits(line: str, name: str, *, beside: bool, is_folder: bool) -> bool:
    pattern = line.removeprefix("**/")
    if pattern.endswith("/"):
        pattern = pattern[:-1] if is_folder else ""
    if pattern.startswith("/"):
        pattern = pattern[1:] if beside else ""
    return "/" not in pattern and "\\" not in pattern and fnmatch.fnmatchcase(name, pattern)


def _read_lines(file: Path) -> list[str]:
    try:
        text = read_whole(str(file), LARGEST).decode("utf-8")
    except FileNotFoundError:
        return []
    lines = (line.removesuffix("\r").rstrip(" ") for line in text.split("\n"))  # as git reads them
    return [line for line in lines if line and not line.startswith("#")]
