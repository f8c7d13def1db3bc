"""Which arguments of a call hold paths, whatever the tool: the one walk through its arguments.

- A text is a path if its argument's name says so, if it is spelled like one, or if there is a link so named.
- Keys of objects count as texts. A patch names files. Several texts together may be the pieces of one path.
- Arguments that hold content, messages or search terms only mention paths.
"""

from __future__ import annotations

import functools
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Any, Literal

import msgspec

from sayso.core.digest import MAX_DEPTH
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import PatchReading, names_in
from sayso.reading.paths.budget import current_budget, may_look
from sayso.reading.paths.finding.patches import WRITTEN, read_patches
from sayso.reading.paths.ground import real_folder
from sayso.reading.paths.places import is_secret, spells_secret
from sayso.reading.paths.protected import find_mentioned, find_named
from sayso.reading.paths.spellings import MAX_PATH_LENGTH, WILD, decode_text, fold_away, is_odd
from sayso.reading.urls import AROUND
from sayso.reading.verbs import words_in

_FILES = lazy_pattern(
    r"path|file|folder|dir(?:ectory)?s?$|ur[il]s?$|^(?:src|source|dst|dest|destination|target|location|output"
    r"|root|cwd|workdir)s?$",
    re.IGNORECASE,
)
"""Names of arguments that hold paths."""
_FILE_NAMES = lazy_pattern(r"path|(?<!pro)file(?!_?ur[il])|folder|dir(?:ectory)?s?$", re.IGNORECASE)
"""Those of them that hold files and folders of this machine."""
_PERHAPS = lazy_pattern(r"^(?:from|to|old|new|out|link|name|id)s?$", re.IGNORECASE)
"""Names of arguments that hold paths in some tools, and other words in others."""
_OWN = lazy_pattern(r"sayso|gate\.key", re.IGNORECASE)
"""Texts that may name one of Sayso's own files, however they are put."""
_OUTPUTS = lazy_pattern(
    r"^(?:out|output|dest|destination|dst|save|write|export|dump|report|log)(?:$|_|[A-Z]|file|path|dir)"
    r"|(?:^|_)(?:to|into|out|output)(?:_?(?:file|path|dir|folder))?$|[a-z](?:To|Into|Out|Output)(?:$|[A-Z])"
)
"""Names of arguments that hold where a tool writes, though it otherwise only reads."""
_MENTIONS = lazy_pattern(
    r"content|text|string|message|body|prompt|title|descri|comment|command|code|script|subject"
    r"|exclu|ignore",
    re.IGNORECASE,
)
"""Names of arguments in which a path is only mentioned."""
_NEVER_A_PIECE = lazy_pattern(
    r"content|body|message|comment|descri|string|prompt|command|exclu|ignore", re.IGNORECASE
)
_CONTENT = lazy_pattern(r"(?:contents?|text|string|body|code|lines)$", re.IGNORECASE)
"""Names that end so hold what is in a file, whatever else they say."""
_TITLES = lazy_pattern(r"title|subject", re.IGNORECASE)
"""Texts that a tool may make a file's name of."""
_LISTED = {"glob", "list", "find", "ls", "tree"}
"""Words for tools that take a pattern of paths."""
_PATTERNS = lazy_pattern(r"^(?!.*(?:includ|glob)).*(?:pattern|quer|regex)", re.IGNORECASE)
"""Names of arguments that hold what is searched for; `include_pattern` holds names of files."""
_ONE_WORD = lazy_pattern(r"[^\s/]{1,255}")
_OPTION = lazy_pattern(r"--?[\w-]+=(.+)|-[A-Za-z](.{3,})", re.DOTALL)
"""An option with its value in one text."""
_MOST_LINES = 64
"""Lines of a text to take for a path each."""
_REMOTE = lazy_pattern(
    r"(?:https?|wss?|ftps?|ssh|git)://[^/.\\\s][^/\\\s]*/?(?!.*\.\.)(?!.*[\r\n])", re.IGNORECASE | re.DOTALL
)
_PLAIN = lazy_pattern(r"(?:/|~|\.\.?/|file:|\$|%|[A-Za-z]:)\S{3,300}")
"""A path whatever the argument is called."""
_MOST_SHOWN = 80
_RUN = lazy_pattern(
    r"command|cmd|script|code|^(?:line|run|exec|shell|args|argv|arguments|options|flags)s?$", re.IGNORECASE
)
"""Names of arguments whose text a tool may run, or give to what it runs."""
_LONGEST_LINE = 10_000


ArgumentKind = Literal["paths", "perhaps", "patterns", "mentions", "anything"]


class ArgumentText(msgspec.Struct, frozen=True):
    """A text or number, in which argument, under which name, and in which list, if in one.

    `coded`: it is written in another way there, which nobody reads. `key`: it is the name of a member.
    """

    argument: str
    name: str
    text: str
    group: int = 0
    coded: bool = False
    key: bool = False

    @property
    def holds(self) -> ArgumentKind:
        return classify_argument(self.name)

    @property
    def is_file_name(self) -> bool:
        """Return whether its argument is for a file or folder, and not for an address or a file's content."""
        named = _FILES.search(self.name) is not None and _FILE_NAMES.search(self.name) is not None
        return named and not _CONTENT.search(self.name)

    @property
    def may_name_files(self) -> bool:
        """Return whether files may stand in the middle of it, as in a command line of a tool not declared."""
        return len(self.text) <= _LONGEST_LINE and runs_text(self.name)

    @property
    def is_piece(self) -> bool:
        """Return whether it may be one piece of a path in several arguments."""
        inner = self.text.strip(AROUND)
        if self.holds in ("mentions", "patterns") and not _TITLES.search(self.name):
            return not _NEVER_A_PIECE.search(self.name) and _ONE_WORD.fullmatch(inner) is not None
        return 0 < len(inner) <= MAX_PATH_LENGTH and "\n" not in inner and not _REMOTE.match(inner)


@functools.lru_cache(maxsize=1024)
def classify_argument(name: str) -> ArgumentKind:
    """Return the kind of value that an argument of this name holds."""
    if _FILES.search(name):
        return "paths"
    if _PERHAPS.search(name):
        return "perhaps"
    if _PATTERNS.search(name):
        return "patterns"
    return "mentions" if _MENTIONS.search(name) else "anything"


@functools.lru_cache(maxsize=1024)
def runs_text(name: str) -> bool:
    """Return whether an argument of this name holds what a tool runs, or gives to what it runs."""
    return _RUN.search(name) is not None


class PathArgument(msgspec.Struct, frozen=True):
    """A path in the arguments.

    `sure`: it is a path for the guard, not just a text that looks like one. `file`: it counts for the risk.
    `hidden`: nobody who reads the arguments sees where it leads. `lost`: there is too much to follow, or, of
    a patch, these lines are not understood.
    `written`: its argument is for what the tool writes.
    """

    argument: str
    path: str
    sure: bool = False
    file: bool = False
    hidden: bool = False
    lost: bool = False
    written: bool = False


def collect_texts(arguments: Mapping[str, Any]) -> tuple[ArgumentText, ...]:
    """Every text and number in the arguments of a call, keys included but for plain names of arguments."""
    groups = count(1)

    def walk(value: Any, argument: str, name: str, group: int, depth: int) -> Iterator[ArgumentText]:
        if depth > MAX_DEPTH:
            current_budget().too_deep = True  # what lies deeper is not read, which makes the call high risk
            return
        if isinstance(value, Mapping):
            for key, member in value.items():
                if depth or not key.isidentifier():
                    yield ArgumentText(argument or key, name, key, group, key=True)
                yield from walk(member, argument or key, key, 0, depth + 1)
        elif isinstance(value, (list, tuple)):
            inner = 0 if group else next(groups)  # a list in a list is one path in pieces
            for member in value:
                yield from walk(member, argument, name, inner, depth + 1)
        elif isinstance(value, str):
            one = ArgumentText(argument, name, value, group)
            yield one
            inside = (walk(inner, argument, name, group, depth + 1) for inner in _read_inside(one))
            yield from _mark_coded(value, chain.from_iterable(inside))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield ArgumentText(argument, name, str(value), group)

    return tuple(walk(arguments, "", "", 0, 0))


def _parse_json(one: ArgumentText) -> Any:
    """The list or object that a text stands for, because many programs take it for that; None otherwise.

    In what is written to a file as it is, JSON stands for itself.
    """
    if one.text.lstrip()[:1] not in ("[", "{") or _CONTENT.search(one.name) or WRITTEN.search(one.name):
        return None
    try:
        return json.loads(one.text)
    except ValueError:
        return None
    except RecursionError:
        current_budget().too_deep = True
        return None


def _mark_coded(text: str, inside: Iterable[ArgumentText]) -> Iterator[ArgumentText]:
    """What a text stands for; what cannot be read in it is coded."""
    for one in inside:
        yield one if one.text in text else msgspec.structs.replace(one, coded=True)


def _read_inside(one: ArgumentText) -> Iterator[Any]:
    """Yield what a text stands for besides itself: the value of an option, JSON, and what base64 holds."""
    option = _OPTION.fullmatch(one.text) if len(one.text) <= MAX_PATH_LENGTH else None
    if option is not None:
        yield option[1] or option[2]
    yield _parse_json(one)
    yield decode_text(one.text)


def find_paths(
    texts: Sequence[ArgumentText], *, folder: str, home: str, named: Collection[str]
) -> Iterator[PathArgument]:
    """Every path in these texts. `named` are the names of the tool and its operations."""
    from sayso.reading.paths.finding.pieces import find_joined_paths

    words = {word for name in named for word in words_in(name)}
    here = real_folder(folder)
    for one in texts:
        found = _path_alone(one, words, here)
        is_output = is_for_output(one.name)
        yield from (msgspec.structs.replace(each, written=True) for each in found) if is_output else found
    yield from _paths_in_patches(texts, words)
    yield from find_joined_paths(texts, folder=folder, home=home)


def find_other_paths(
    texts: Sequence[ArgumentText], read: Collection[str], *, folder: str, home: str, named: Collection[str]
) -> Iterator[PathArgument]:
    """Yield further possible paths where the policy reads some arguments as paths already."""
    given = find_paths(texts, folder=folder, home=home, named=named)
    yield from (one for one in given if one.hidden or one.argument not in read)
    for one in texts:
        mentioned = one.holds in ("mentions", "patterns")
        if one.argument not in read and not mentioned and _may_be_path(one.text):
            yield PathArgument(one.argument, one.text, written=is_for_output(one.name))


def is_for_output(name: str) -> bool:
    """Return whether an argument of this name says where a tool writes."""
    return _OUTPUTS.search(name) is not None


def _path_alone(one: ArgumentText, words: set[str], here: str) -> Iterator[PathArgument]:
    """The path that a text is by itself. One that is too long or odd is folded first."""
    inner, odd = one.text.strip(AROUND), is_odd(one.text.strip())
    inner = fold_away(inner) if odd else inner
    if is_link(inner, here):
        yield PathArgument(one.argument, inner, sure=True, file=True, hidden=find_named(inner).at is None)
    if _REMOTE.match(inner) or (
        current_budget().spent and one.holds != "paths" and not _mentions_guard(inner)
    ):
        return
    if is_odd(inner):
        yield from _paths_in_odd_text(one, inner, here)
        return
    found = _paths_by_name(one, one.text if not odd else inner, inner, words, here)
    yield from (msgspec.structs.replace(given, hidden=True) for given in found) if one.coded else found


def _paths_by_name(
    one: ArgumentText, text: str, inner: str, words: set[str], here: str
) -> Iterator[PathArgument]:
    """The path that a text is, by the name of its argument and by its spelling."""
    holds = one.holds
    if holds in ("paths", "perhaps") and " " in inner and not _exists(inner, here):
        words_alone = (word for word in inner.split() if find_named(word).at is not None)
        yield from (PathArgument(one.argument, word, sure=True) for word in words_alone)
    if holds == "paths":
        yield PathArgument(one.argument, text, sure=True, file=True)
    elif holds == "perhaps":
        yield PathArgument(one.argument, text, sure=True, file=_is_secret_file(inner, here))
    elif holds == "patterns" and words & _LISTED and spells_secret(_literal_part(inner)):
        yield PathArgument(one.argument, inner, file=True)
    elif holds != "anything":
        if _PLAIN.fullmatch(inner):
            yield PathArgument(one.argument, inner, file=_exists(inner, here))
    elif find_named(inner).at is not None:
        yield PathArgument(one.argument, inner, sure=True, file=_is_secret_file(inner, here))
    elif _OWN.search(inner) or _PLAIN.fullmatch(inner) or _is_secret_file(inner, here):
        yield PathArgument(one.argument, inner, file=_is_secret_file(inner, here))


def _paths_in_odd_text(one: ArgumentText, inner: str, here: str) -> Iterator[PathArgument]:
    """Yield the lines of a text that is too long or odd to be one path, even folded.

    The content of a file is none, unless there is a file or folder so named.
    """
    if _leads_somewhere(inner, here):
        yield PathArgument(one.argument, inner, sure=True, file=True)
    if one.holds not in ("paths", "perhaps") or _CONTENT.search(one.name):
        return
    lines = list(dict.fromkeys(line.strip(AROUND) for line in (inner, *inner.splitlines())))
    short = [line for line in lines if len(line) <= MAX_PATH_LENGTH]
    for line in short[: _MOST_LINES + 1]:
        yield PathArgument(one.argument, line, sure=True, file=one.holds == "paths")
    if len(short) < len(lines) or len(lines) > _MOST_LINES + 1 or inner.count("\n") > _MOST_LINES:
        yield PathArgument(one.argument, shorten(inner), lost=True)


def shorten(text: str) -> str:
    """The beginning of a text that is too long to be told whole."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _mentions_guard(text: str) -> bool:
    return find_mentioned(text).at is not None


def _leads_somewhere(inner: str, here: str) -> bool:
    """Return whether there is a file so named, or the folder that it would lie in."""
    if len(inner) > MAX_PATH_LENGTH:
        return False
    folder = os.path.dirname(inner)  # noqa: PTH120  a text, not a path yet
    return _exists(inner, here) or (is_odd(folder) and _exists(folder, here))


def _paths_in_patches(texts: Sequence[ArgumentText], words: set[str]) -> Iterator[PathArgument]:
    """Yield the files that patches change, what unread lines of them may name, and these lines themselves."""
    for one, found in read_patches(texts, words):
        paths = dict.fromkeys((*(file.path for file in found.files), *names_in(found.unread)))
        yield from (PathArgument(one.argument, path, sure=True, file=True) for path in paths)
        if found.unread:
            yield PathArgument(one.argument, "\n".join(found.unread), sure=True, hidden=True, lost=True)


def read_patches_in(arguments: Mapping[str, Any]) -> list[tuple[ArgumentText, PatchReading]]:
    """Return the patches in the arguments of a tool that takes nothing else."""
    return list(read_patches(collect_texts(arguments), {"patch"}))


def files_in_patches(texts: Sequence[ArgumentText], words: set[str]) -> Iterator[str]:
    """Yield the files that the patches among these texts may change."""
    yield from (one.path for one in _paths_in_patches(texts, words) if not one.lost)


def holds_content(name: str) -> bool:
    """Return whether an argument of this name holds what is in a file."""
    return _CONTENT.search(name) is not None


def is_remote(text: str) -> bool:
    """Return whether a text is an address on the internet, as most programs read it."""
    return _REMOTE.match(text) is not None


def is_link(text: str, here: str) -> bool:
    """Return whether a file of this name is a symbolic link, lies behind one, or has other names."""
    if not text or len(text) > MAX_PATH_LENGTH or "\0" in text or not may_look(1 + text.count("/")):
        return False
    path = text if text.startswith("/") else f"{here}/{text}"
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        found = None
    if found is None and "/" not in text:
        return False
    with suppress(OSError, ValueError):
        if os.path.realpath(path) != os.path.normpath(path):
            return True
    return found is not None and stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _is_secret_file(text: str, here: str) -> bool:
    return spells_secret(text) or (is_secret(text) and _exists(text, here))


def _exists(text: str, here: str) -> bool:
    if "\0" in text:
        return False
    return os.path.lexists(os.path.join(here, os.path.expanduser(text)))  # noqa: PTH111, PTH118  never raises


def _literal_part(pattern: str) -> str:
    """A pattern of paths without what follows the first wildcard in each name."""
    return "/".join(WILD.split(name, maxsplit=1)[0] for name in pattern.split("/"))


def _may_be_path(text: str) -> bool:
    """One line, not the content of a file, nor an address on the internet."""
    inner = text.strip()
    return len(inner) <= MAX_PATH_LENGTH and "\n" not in inner and not _REMOTE.match(inner)
