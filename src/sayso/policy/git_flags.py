"""What a git tool really does, by the flags among its arguments.

A tool that is declared as `git.push` may take a flag that makes it a force push. Whatever stands among the
arguments as a flag is not what the operation was declared for: it is the riskier operation where there is
one, and high risk in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sayso.core.model import Operation, Risk

RISKIER = {
    "git.push": "git.push_force",
    "git.commit": "git.rewrite",
    "git.branch": "git.branch_force_delete",
    "git.branch_delete": "git.branch_force_delete",
}
KNOWN = frozenset(
    {
        "message", "msg", "body", "title", "description", "comment",
        "path", "paths", "file", "files", "pathspec", "filename", "file_path",
        "branch", "branch_name", "name", "remote", "ref", "refspec", "revision", "commit", "sha", "base",
        "head", "target", "source", "start_point", "tag", "author", "since", "until", "max_count", "limit",
        "n", "count", "staged", "cached", "stat", "name_only", "oneline", "short", "porcelain", "create",
        "all", "context", "context_lines", "timeout",
    }
)  # fmt: skip
"""Names of arguments that leave a git command what it is. Any other that is set may make it another one."""
_PLAIN_REMOTE = re.compile(r"[\w.@-]+")
_FLAG = re.compile(r"(?:^|\s)[-+]|::")
PROSE = re.compile(r"message|title|body|text|descri|comment", re.IGNORECASE)
"""Names of arguments whose text is nobody's flag."""
_NOTHING: tuple[object, ...] = (None, False, "", [], {}, 0)


def really_done(operation: str, args: Mapping[str, Any]) -> Operation:
    """The operation of a tool, as its arguments have it."""
    if not operation.startswith("git.") or not _has_flags(args):
        return Operation(operation)
    return Operation(RISKIER.get(operation, operation), reading=Risk.HIGH)


def _has_flags(args: Mapping[str, Any]) -> bool:
    given = {name: value for name, value in args.items() if value not in _NOTHING}
    remote = given.get("remote", "")
    if given.keys() - KNOWN or not (
        remote == "" or (isinstance(remote, str) and _PLAIN_REMOTE.fullmatch(remote))
    ):
        return True
    spoken = [value for name, value in given.items() if not PROSE.search(name)]
    return any(_FLAG.search(text) or text.startswith(":") for text in _texts(spoken))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _texts(member)
