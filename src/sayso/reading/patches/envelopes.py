"""Patches of coding agents: `*** Begin Patch`, a header for each file, `*** End Patch`.

- Codex's own parser decides; opencode, Copilot and OpenAI's tools differ from it in what they put up with.
- A line that not all of them read alike is not consumed. None of them skips a line that is.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import (
    AGENT_HEADER,
    BLANKS,
    Change,
    PatchedFile,
    PatchReading,
    names_one_file,
)

_HERE = ("<<EOF", "<<'EOF'", '<<"EOF"')
_HEADER = lazy_pattern(r"\*\*\* (Add|Update|Delete) File: (.+)")
_CHANGES: dict[str, Change] = {"Add": "write", "Update": "edit", "Delete": "delete"}
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"


def read_envelope(text: str) -> PatchReading:
    """Read this patch of a coding agent."""
    lines = text.strip(BLANKS).split("\n")
    if lines[0] in _HERE and lines[-1] == "EOF" and len(lines) > 3:
        lines = lines[1:-1]
    first, last = lines[0].strip(BLANKS), lines[-1].strip(BLANKS)
    files, unread = _read_files(lines[first == "*** Begin Patch" : len(lines) - (last == "*** End Patch")])
    if first != "*** Begin Patch" or last != "*** End Patch":
        unread.append(first)
    return PatchReading(
        tuple(dict.fromkeys(spelled for file in files for spelled in _spell(file))), tuple(unread)
    )


def _spell(file: PatchedFile) -> tuple[PatchedFile, ...]:
    """Return a file also as hosts find it that shorten `link/..` before they look where the link leads."""
    return (file, PatchedFile(posixpath.normpath(file.path), file.change)) if "/.." in file.path else (file,)


def _read_files(lines: Sequence[str]) -> tuple[list[PatchedFile], list[str]]:
    """Return the files of the lines between the first and the last, and the lines that are not consumed.

    After one of those all are lost, up to the next header.
    """
    files: list[PatchedFile] = []
    unread: list[str] = []
    section, begins = "", False
    for line in lines:
        header = _HEADER.fullmatch(line.strip(BLANKS))
        if header and names_one_file(header[2]) and (section != "Update" or line[:1] == "*"):
            section, begins = header[1], True
            files.append(PatchedFile(header[2], _CHANGES[section]))
            continue
        if begins and section == "Update" and line.startswith(_MOVE) and names_one_file(line[len(_MOVE) :]):
            moved = files.pop().path
            files += (PatchedFile(moved, "delete"), PatchedFile(line[len(_MOVE) :], "write"))
        elif not _is_content(section, line):
            unread.append(line)
            section = ""
        begins = False
    return files, unread


def _is_content(section: str, line: str) -> bool:
    """Return whether a line is of the content of the file above it, for every host."""
    if section != "Update":
        return section == "Add" and line[:1] == "+"
    if line[:1] == " ":
        return AGENT_HEADER.match(line) is None
    return line[:1] in ("", "+", "-") or line == "@@" or line[:3] == "@@ " or line == _END_OF_FILE
