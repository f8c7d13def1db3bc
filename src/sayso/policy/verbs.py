"""Words in the names of tools and operations that say whether a file is read, changed or deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable

READS = ("read", "list", "search", "show", "stat", "view", "history", "find", "grep")
DELETES = ("delete", "remove")
LISTS = ("list", "search", "find", "grep")
"""Reads that without a path go through the working folder."""
INTO = ("read", "search", "find", "grep")
"""Reads that go into what lies in a folder."""

_LOOKS = {
    *READS,
    "get",
    "glob",
    "cat",
    "head",
    "tail",
    "ls",
    "tree",
    "load",
    "check",
    "diff",
    "count",
    "peek",
}
_CHANGES = {
    *DELETES, "write", "edit", "create", "append", "insert", "replace", "update", "patch", "modify",
    "change", "overwrite", "save", "put", "move", "mv", "rename", "copy", "cp", "link", "symlink",
    "ln", "chmod", "chown", "rm", "rmdir", "unlink", "erase", "truncate", "touch", "mkdir", "download",
    "rewrite", "prepend", "persist", "dump",
    "wipe", "purge", "destroy", "trash", "drop", "clear", "reset", "revert", "refactor", "upsert", "paste",
    "export", "extract", "unzip", "restore", "checkout", "apply", "install", "sync", "format",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def verb_of(operation: str) -> str:
    """The first word of an operation's action: `read` of `files.read_many`."""
    return operation.partition(".")[2].partition("_")[0]


def words_in(name: str) -> set[str]:
    """The words of a name in snake, kebab or camel case, without case."""
    return {word.casefold() for word in _WORD.findall(name)}


def only_reads(names: Iterable[str]) -> bool:
    """Whether the names of a tool and its operations speak of reading and of nothing that changes."""
    words = {word for name in names for word in words_in(name)}
    return bool(words & _LOOKS) and not words & _CHANGES


def changes(names: Iterable[str]) -> bool:
    """Whether one of these names speaks of changing something."""
    return any(words_in(name) & _CHANGES for name in names)


def is_git(names: Iterable[str]) -> bool:
    """Whether one of these names is that of a git command, which keeps a link as a link."""
    return any("git" in words_in(name) for name in names)
