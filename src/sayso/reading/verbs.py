"""Words in the names of tools and operations that say whether a file is read, changed or deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from sayso.core.text.patterns import lazy_pattern

READ_VERBS = ("read", "list", "search", "show", "stat", "view", "history", "find", "grep")
DELETE_VERBS = ("delete", "remove")
LIST_VERBS = ("list", "search", "find", "grep")
"""Reads that without a path go through the working folder."""
CONTENT_VERBS = ("read", "search", "find", "grep")
"""Reads that go into what lies in a folder."""

_LOOKS = {
    *READ_VERBS, "get", "glob", "cat", "head", "tail", "ls", "tree", "load", "check", "diff", "count", "peek",
    "look", "lookup", "fetch", "inspect", "display", "scan", "query", "retrieve", "describe", "browse",
    "preview", "examine", "status", "blame", "verify", "validate", "compare", "explain", "summarize",
    "summarise", "analyze", "analyse", "review", "exists", "info", "parse",
}  # fmt: skip
_SUBJECTS = {
    "file", "files", "fs", "filesystem", "folder", "dir", "directory", "text", "web", "notebook", "codebase",
    "semantic", "tool", "tools", "mcp",
}  # fmt: skip
"""What a tool works on, where its name begins with that: `file_read`."""
_GIT_LOOKS = {"log", "show", "shortlog", "reflog"}
_JOINTS = {"and", "or", "then"}
"""Words after which another verb stands."""
_DOUBTFUL = {
    "set", "add", "store", "generate", "merge", "fix", "convert", "render", "push", "post", "make",
    "compile", "run", "exec", "execute", "eval", "publish", "commit", "upload", "transform", "migrate",
    "inject", "register", "assign", "encrypt", "decrypt", "compress", "zip", "correct", "fill", "swap",
    "rotate", "prettify",
}  # fmt: skip
"""Words that take the certainty from a name that begins with reading: `read_fix_file`."""
_CHANGES = {
    *DELETE_VERBS, "write", "edit", "create", "append", "insert", "replace", "update", "patch", "modify",
    "change", "overwrite", "save", "put", "move", "mv", "rename", "copy", "cp", "link", "symlink",
    "ln", "chmod", "chown", "rm", "rmdir", "unlink", "erase", "truncate", "touch", "mkdir", "download",
    "rewrite", "prepend", "persist", "dump",
    "wipe", "purge", "destroy", "trash", "drop", "clear", "reset", "revert", "refactor", "upsert", "paste",
    "export", "extract", "unzip", "restore", "checkout", "apply", "install", "sync", "format",
}  # fmt: skip
_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=1024)
def verb_of(operation: str) -> str:
    """The first word of an operation's action: `read` of `files.read_many`."""
    return operation.partition(".")[2].partition("_")[0]


@lru_cache(maxsize=4096)
def words_in(name: str) -> frozenset[str]:
    """The words of a name in snake, kebab or camel case, without case."""
    return frozenset(_words(name))


def only_reads(names: Iterable[str]) -> bool:
    """Return whether the names of a tool and its operations say that it reads, each, and nothing of changing.

    What a name does not say for sure it does not say.
    """
    named = tuple(names)
    said = {word for name in named for word in words_in(name)}
    return bool(named) and not said & (_CHANGES | _DOUBTFUL) and all(map(_reads, named))


def _reads(name: str) -> bool:
    """Return whether the verbs of this name, at the start and after an `and`, are reading ones."""
    words = _words(re.split(r"[./:]|__", name)[-1])
    if words[:1] == ["git"]:
        return words[1:2] != [] and words[1] in _LOOKS | _GIT_LOOKS
    while len(words) > 1 and words[0] in _SUBJECTS:
        words = words[1:]
    after = [word for joint, word in pairwise(words) if joint in _JOINTS]
    return bool(words) and all(verb in _LOOKS for verb in (words[0], *after))


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def suggests_change(names: Iterable[str]) -> bool:
    """Return whether one of these names speaks of changing something."""
    return any(words_in(name) & _CHANGES for name in names)


def is_git_operation(operation: str) -> bool:
    """Return whether this is one of git's operations, whose flags count."""
    return operation.startswith("git.")


def is_git(names: Iterable[str]) -> bool:
    """Return whether one of these names is that of a git command, which keeps a link as a link."""
    return any("git" in words_in(name) for name in names)
