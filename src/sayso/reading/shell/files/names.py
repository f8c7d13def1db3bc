"""Commands whose output is names of files that hold no secret, numbers, or revisions: it may be read from.

What makes new text of its input (rev, tr, base64, sed, awk, printf, echo, cut …) is not among them.
"""

from __future__ import annotations

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.places import is_secret
from sayso.reading.secrets_below import find_secret, fits_secret, holds_link_to_secret, holds_secrets
from sayso.reading.shell.files.deep import find_tracked_secret
from sayso.reading.shell.grammar.syntax import Command, Pipeline, Sequence, Simple
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.words import ref_may_begin_with_dash, value_of_word

_FILTERS = frozenset({"head", "tail", "sort", "uniq", "wc", "tac", "grep", "egrep", "fgrep"})
_PLAIN = frozenset({"pwd", "which", "whoami", "hostname", "uname", "nproc", "id", "realpath"})
_WORDS = frozenset({"whoami", "hostname", "uname", "nproc", "id", "date", "seq"})
"""Those that print a few words, none of them a name of a file or an option."""
_TIME = lazy_pattern(r"-u|-I|--utc|\+%[YmdHMSsFTjuy](?:%[YmdHMSsFTjuyz]|[-_:.])*")
_NUMBER = lazy_pattern(r"\d+")
_NAMES_ONLY = lazy_pattern(r"-[a-zA-Z]*[lL][a-zA-Z]*|--files(?:-with(?:out)?-match(?:es)?)?")
_GIT_WORDS = frozenset(
    {
        "--verify",
        "--short",
        "--abbrev-ref",
        "-q",
        "--show-current",
        "--always",
        "--tags",
        "--all",
        "--count",
        "--list",
    }
)
FOLLOWS_LINKS = frozenset({"-L", "-H", "-follow", "--follow"})
_NOT_PLAIN = FOLLOWS_LINKS | {"-printf", "-exec", "-o", "-or", "-not", "!"}
_LISTERS = frozenset({"ls", "find", "fd", "rg", "grep", "egrep", "fgrep"})
_GIT_HASHES = frozenset({"rev-parse", "merge-base", "rev-list"})
_GIT = frozenset({"rev-parse", "merge-base", "describe", "rev-list", "symbolic-ref", "branch", "tag"})
_GIT_NAMES = frozenset({"diff", "show", "log", "diff-tree"})
_GIT_MESSAGES = frozenset({"show", "log"})
"""Those that print messages beside names, which are anybody's text, unless they are told not to."""
_NO_MESSAGE = frozenset({"--format=", "--pretty=", "--pretty=format:", "--pretty=tformat:"})
_NAMING = lazy_pattern(
    r"--(?:name-only|cached|staged|relative|no-commit-id|no-renames|no-merges|merge-base|root"
    r"|diff-filter=\w+)|-[rmMn]|-\d+|--"
)


def prints_names(command: Command, state: ShellState) -> bool:
    """Return whether all that this prints may stand for a file to be read."""
    if isinstance(command, Sequence):
        return all(prints_names(one, state) for _, one in command.items)
    if isinstance(command, Pipeline):
        first, rest = command.commands[0], command.commands[1:]
        return prints_names(first, state) and all(_is_filter(one) for one in rest)
    return isinstance(command, Simple) and _prints(command, state)


def prints_words(command: Command, state: ShellState) -> bool:
    """Return whether this prints words that are neither names of files nor options."""
    if isinstance(command, Sequence) and len(command.items) == 1:
        command = command.items[0][1]
    known = isinstance(command, Simple) and bool(command.words) and command.words[0].value in _WORDS
    return known and prints_names(command, state)


def _is_filter(command: Command) -> bool:
    words = [word.value or "-o" for word in command.words] if isinstance(command, Simple) else []
    name = words[0] if words else ""
    only = any(word[:1] == "-" and "o" in word for word in words[1:])  # prints a part of its input
    return name in _FILTERS and not (only and name in ("grep", "egrep", "fgrep"))


def _prints(command: Simple, state: ShellState) -> bool:
    words = [value_of_word(word, state) for word in command.words]
    texts = [value.text for value in words]
    if not texts or any(text is None and not value.vetted for text, value in zip(texts, words, strict=True)):
        return False
    name, rest = texts[0], [text or "" for text in texts[1:]]
    if name in _PLAIN or (name == "command" and "-v" in rest):
        return True
    if name in ("date", "seq"):
        return all((_TIME if name == "date" else _NUMBER).fullmatch(one) for one in rest)
    if name in ("basename", "dirname"):
        return len(rest) == 1 and _is_plain_part(texts[1], name)
    if name == "git":
        return _git_prints(rest, state)
    if name in ("grep", "egrep", "fgrep", "rg") and not any(map(_NAMES_ONLY.fullmatch, rest)):
        return False
    return (
        name in _LISTERS
        and "-printf" not in rest
        and (finds_plain(rest, state) or _nothing_secret(rest, state))
    )


def _is_plain_part(path: str | None, name: str) -> bool:
    """Return whether this part of a path is a name in the workspace: no secret, and not an option."""
    if path is None:
        return True
    folder, _, last = path.rstrip("/").rpartition("/")
    part = last if name == "basename" else folder
    return part[:1] not in ("-", "/", "~") and ".." not in part and not (part and is_secret(part))


def _git_prints(rest: list[str], state: ShellState) -> bool:
    if not rest:
        return False
    if rest[0] == "ls-files":
        words = [one for one in rest[1:] if one != "--"]
        if any(one[:2] == "--" or (one[:1] == "-" and set(one) & set("oi")) for one in words):
            return _nothing_secret([], state)
        return _tracks_nothing_secret([one for one in words if one[:1] != "-"], state)
    if rest[0] in _GIT_NAMES:
        return _git_prints_files(rest) and (
            _tracks_nothing_secret([], state)
            if rest[0] == "diff" and all(one[:1] == "-" for one in rest[1:])
            else _nothing_secret([], state)  # files that were tracked once may lie there still
        )
    if rest[0] not in _GIT or not all(one[:1] != "-" or one in _GIT_WORDS for one in rest[1:]):
        return False
    prints_hash = rest[0] in _GIT_HASHES and "--abbrev-ref" not in rest
    return prints_hash or not ref_may_begin_with_dash(state)


def _git_prints_files(rest: list[str]) -> bool:
    told = any(one in _NO_MESSAGE for one in rest) or rest[0] not in _GIT_MESSAGES
    options = (one for one in rest if one[:1] == "-" and one not in _NO_MESSAGE)
    return told and "--name-only" in rest and all(map(_NAMING.fullmatch, options))


def finds_plain(rest: list[str], state: ShellState) -> bool:
    """`find … -name PATTERN` below this folder, where the pattern fits no file there that holds secrets."""
    if any(one[:1] in "/~" or ".." in one for one in rest) or any(map(state.is_private, state.folders)):
        return False
    at = next((i for i, one in enumerate(rest) if one in ("-name", "-iname")), len(rest))
    if at + 1 >= len(rest) or not _NOT_PLAIN.isdisjoint(rest):
        return False
    pattern = rest[at + 1]
    starts = [one for one in rest[:at] if one[:1] not in "-(!"] or ["."]
    return not is_secret(pattern) and not any(
        folder is None
        or (fits_secret(pattern) and find_secret(join_path(folder, one), included=(pattern,)) is not None)
        or holds_link_to_secret(join_path(folder, one), pattern)
        for folder in state.folders
        for one in starts
    )


def _tracks_nothing_secret(paths: list[str], state: ShellState) -> bool:
    """Return whether no file that the repository records, below these paths or at all, holds secrets."""
    return all(folder is not None and find_tracked_secret(folder, paths) is None for folder in state.folders)


def _nothing_secret(rest: list[str], state: ShellState) -> bool:
    """Return whether no secret lies in the folders that it looks in."""
    starts = [one for one in rest if one[:1] != "-" and ("/" in one or one == "..")]
    away = [one for one in starts if one[:1] in "/~" or ".." in one]
    return not any(one[:1] == "~" for one in away) and not any(
        folder is None
        or state.is_private(folder)
        or holds_secrets(folder)
        or any(holds_secrets(join_path(folder, one)) for one in away)
        for folder in state.folders
    )
