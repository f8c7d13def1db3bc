"""Git calls: their real operations, by their arguments, whoever declared them.

A tool that is declared as `git.push` may take an argument that makes it a force push.

- An argument is harmless only if its name is known to leave this operation what it is, and its value is of
  the kind that the name promises. Any other makes the call the riskier operation where there is one, and high
  risk in any case.
- One text may say anything: the message of an operation that records one.
- With a command line, the shell reading says what that does; of the arguments beside it, those count that
  name flags.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.model import Operation, Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.verbs import is_git_operation

RISKIER = {
    "git.push": "git.push_force",
    "git.commit": "git.rewrite",
    "git.branch": "git.branch_force_delete",
    "git.branch_delete": "git.branch_force_delete",
    "git.checkout": "git.reset_hard",
}
_MESSAGES = ("message", "msg", "commit_message")
"""Names of the one argument that is prose, in the operations that record a message."""
_RECORDING = frozenset({"git.commit", "git.merge", "git.tag", "git.stash", "git.revert", "git.rewrite"})
_PATHS = frozenset({"path", "paths", "file", "files", "pathspec", "filename", "file_path"})
_CHANGES_MEANING = {
    "git.push": frozenset({"all", "create", "tag"}),
    "git.branch": frozenset({"all", "tag"}),
    "git.checkout": _PATHS,
    "git.stash": frozenset({"name", "ref", "revision", "commit", "target", "source", "branch", "create"}),
}
"""Names that are harmless elsewhere and not in this operation."""
_MISSED = lazy_pattern(r"no_|not_|without_|verify|hooks?$|safe|protect|keep_|lease", re.IGNORECASE)
"""Names of arguments that protect something: switching one off is not a default."""
_NOTHING: tuple[object, ...] = (None, "", [], {})

_PLAIN_REMOTE = lazy_pattern(r"\w[\w@-]*(?:\.[\w@-]+)*")
_PLAIN_REF = lazy_pattern(r"[\w@][\w./@~^{}#%=+-]*(?::\w[\w./@-]*)?")
_FLAG = lazy_pattern(r"(?:^|[^\w./@])[-+:](?=\S|$)|::")
"""A flag, a forced or an empty ref, at the start of any word, however the words are put together."""
_RUNS = lazy_pattern(r"[;|`\\]|\$[({\w]|&&")
"""What a shell would read as more than a word."""
_COUNTED = lazy_pattern(r"\d{1,6}")

_NAMED_FLAG = lazy_pattern(
    r"(?:force|amend|mirror|delete|prune|flags?|options?|extra_args|argv)(?:[_-].*|(?-i:[A-Z].*))?",
    re.IGNORECASE,
)
"""Names of arguments beside a command line that could put flags into it."""


def read_flags(
    operations: Sequence[Operation],
    args: Mapping[str, Any],
    command: Collection[Operation] | None = None,
    beside: Iterable[str] = (),
    *,
    evaluated: bool = False,
) -> tuple[Operation, ...]:
    """The operations of a call, those of git as its arguments have them.

    `command` is what its command line does, if it has one. `evaluated` says that its arguments are those of
    an AuthZEN evaluation, which holds a call that somebody else carries out; no call says so of itself.
    """
    named = command is not None and any(
        _NAMED_FLAG.fullmatch(name) and args.get(name) not in _NOTHING for name in beside
    )
    names = {one.name for one in operations}
    more = any(one.name not in names and one.reading is not Risk.LOW for one in command or ())
    return tuple(
        _riskier(one)
        if is_git_operation(one.name)
        and (
            named
            or more
            or (command is None and (_holds_flags(args) if evaluated else _adds_flags(one.name, args)))
        )
        else one
        for one in operations
    )


def _riskier(operation: Operation) -> Operation:
    """The riskier operation; where it has another name, with the sentence that explains it."""
    name = RISKIER.get(operation.name, operation.name)
    found = words.flags_found(operation.name) if name != operation.name else operation.found
    return msgspec.structs.replace(operation.read_as(Risk.HIGH), name=name, found=found)


def _adds_flags(operation: str, args: Mapping[str, Any]) -> bool:
    """Return whether any argument is not known to leave the operation what it is."""
    prose = next((name for name in _MESSAGES if name in args), None) if operation in _RECORDING else None
    return any(
        not _is_harmless(operation, name, value) for name, value in args.items() if name != prose
    ) or not (prose is None or _is_prose(args[prose]))


def _is_harmless(operation: str, name: str, value: Any) -> bool:
    if value is False or (value == 0 and not isinstance(value, float)):
        return not _MISSED.match(name)
    if value in _NOTHING:
        return True
    if name == "authzen" and isinstance(value, Mapping):
        return not _holds_flags(value)
    fits = _KINDS.get(name)
    if fits is None or name in _CHANGES_MEANING.get(operation, ()):
        return False
    return all(map(fits, value)) if isinstance(value, (list, tuple)) else fits(value)


def _holds_flags(value: object) -> bool:
    """Return whether a flag is named or written anywhere in this value."""
    if isinstance(value, Mapping):
        named = any(
            _NAMED_FLAG.fullmatch(name) and one not in (*_NOTHING, False) for name, one in value.items()
        )
        return named or any(map(_holds_flags, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_holds_flags, value))
    return isinstance(value, str) and not _is_text(value)


def _is_prose(value: object) -> bool:
    """Return whether a message is one text, and not a flag in a message's place."""
    return value is None or (isinstance(value, str) and not re.match(r"\s*['\"]?[-+]{1,2}\w\S*\s*$", value))


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    text = unicodedata.normalize("NFKC", value)
    hidden = any(unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") and one not in "\n\t" for one in value)
    return not (hidden or _FLAG.search(text) or _RUNS.search(text))


def _is_ref(value: object) -> bool:
    return _is_text(value) and _PLAIN_REF.fullmatch(str(value)) is not None


def _is_remote(value: object) -> bool:
    return isinstance(value, str) and _PLAIN_REMOTE.fullmatch(value) is not None


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    return number or (isinstance(value, str) and _COUNTED.fullmatch(value) is not None)


def _is_switch(value: object) -> bool:
    return value is True or (isinstance(value, str) and value in ("true", "false"))


_KINDS: dict[str, Callable[[Any], bool]] = {
    "remote": _is_remote,
    **dict.fromkeys(
        ("branch", "branch_name", "name", "ref", "refspec", "revision", "commit", "sha", "base", "head",
         "target", "source", "start_point", "tag"),
        _is_ref,
    ),
    **dict.fromkeys(
        (*_PATHS, "author", "since", "until", "body", "title", "description", "comment"), _is_text
    ),
    **dict.fromkeys(
        ("max_count", "limit", "n", "count", "context", "context_lines", "timeout"), _is_number
    ),
    **dict.fromkeys(
        ("staged", "cached", "stat", "name_only", "oneline", "short", "porcelain", "create", "all"),
        _is_switch,
    ),
}  # fmt: skip
"""Names of arguments that leave a git command what it is, each with the values that do."""
