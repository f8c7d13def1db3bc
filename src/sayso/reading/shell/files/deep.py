"""Programs that read whole folders, or all that a repository records: what lies there may be a secret."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from sayso.core.model import Risk
from sayso.reading.paths.budget import follow_links, is_folder, look_at
from sayso.reading.paths.git_files import follow_git_file, list_tracked_secrets
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.protected import GUARDED_FIRST_NAMES, find_named
from sayso.reading.paths.spellings import WILD, expand_home
from sayso.reading.secrets_below import (
    find_secret,
    fits_name,
    fits_secret,
    leads_to_secret,
    type_as_pattern,
    walk_below,
)
from sayso.reading.shell.files.paths import split_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, named_set
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.state import join_path

MAX_NAMED = 200
MAX_WILD_PARTS = 2
_INCLUDES = frozenset({"--include", "-g", "--iglob", "-t", "--type", "--type-add"})
_TYPES = frozenset({"-t", "--type"})
_UNTOLD = "what cannot be told"
_EXCLUDES = frozenset({"--exclude", "--exclude-dir", "-x"})


class LinkUse(NamedTuple):
    """How a program treats links it finds: it opens links to files, it follows links to folders."""

    opens: bool = True
    follows: bool = False


class NamesTaken(NamedTuple):
    """Patterns of the names that a program leaves out, and of those that it is limited to, if any."""

    excluded: tuple[str, ...] = ()
    included: tuple[str, ...] = ()


OPENS_LINKS = LinkUse()
ALL_NAMES = NamesTaken()


def judge_deep_reading(
    judge: Judge,
    program: KnownProgram,
    parsed: ParsedOptions,
    paths: list[Argument],
    invocation: Invocation,
    *,
    hidden: bool,
) -> None:
    """Judge a reading of everything below these paths, or below the folder it runs in.

    What passes hidden files over (`hidden` is False) reads its input instead, where it has one.
    """
    if not hidden and not paths and invocation.body is not None:
        return
    texts = [(option.name, value.text) for option, value in parsed.options if value is not None]
    texts = [(name, type_as_pattern(text) if name in _TYPES and text else text) for name, text in texts]
    texts += [(name, text.partition(":")[2]) for name, text in texts if name == "--type-add" and text]
    included = [text for name, text in texts if name in _INCLUDES and text and text[:1] != "!"]
    if included and not any(fits_secret(text) for text in included):
        return
    if any(is_secret(text) for text in included):
        why = "it searches files that hold secrets"
        judge.record("files.search", Risk.HIGH, why, invocation.start, invocation.end)
        return
    excluded = [text for name, text in texts if name in _EXCLUDES and text]
    excluded += [text[1:] for name, text in texts if name in _INCLUDES and text and text[:1] == "!"]
    names = NamesTaken(tuple(excluded), tuple(included))
    follows = any(option.name in program.follows for option, _ in parsed.options)
    links = LinkUse(opens=not program.follows, follows=follows)
    for start in texts_of(paths) or ["."]:
        for folder in invocation.state.folders:
            secret = secret_under(judge, folder, start, names, hidden=hidden, links=links)
            if secret is not None:
                why = f"it reads everything below, and {secret} lies there"
                judge.record("files.search", Risk.HIGH, why, invocation.start, invocation.end)
                return


def texts_of(arguments: Iterable[Argument]) -> list[str | None]:
    """Return the possible texts of these values, all of them where the value is uncertain."""
    return [one.text for argument in arguments for one in argument.value.choices or (argument.value,)]


def _secret_in_pattern(
    judge: Judge, folder: str, pattern: str, names: NamesTaken, *, hidden: bool, links: LinkUse
) -> str | None:
    """The same below what a pattern names as the folders are now; of too many, below the folder before it."""
    wild = sum(WILD.search(part) is not None for part in pattern.split("/"))
    told = wild <= MAX_WILD_PARTS and not judge.changes.may_include(folder)
    found = list(islice(glob.iglob(pattern), MAX_NAMED + 1)) if told else []  # noqa: PTH207 - the line's own
    if not told or len(found) > MAX_NAMED:
        found = [split_pattern(pattern)[0]]
    below = (
        one if is_secret(one) else _secret_below(judge, one, names, hidden=hidden, links=links)
        for one in found
    )
    return next(filter(None, below), None)


def secret_under(
    judge: Judge,
    folder: str | None,
    start: str | None,
    names: NamesTaken = ALL_NAMES,
    *,
    hidden: bool = True,
    links: LinkUse = OPENS_LINKS,
) -> str | None:
    """What holds secrets below this start; None if nothing does."""
    if start is None or folder is None:
        return _UNTOLD if hidden or folder is None else None
    path = join_path(folder, expand_home(start, judge.where.home))
    if WILD.search(path) is not None:
        return _secret_in_pattern(judge, folder, path, names, hidden=hidden, links=links)
    return _secret_below(judge, path, names, hidden=hidden, links=links)


def _secret_below(judge: Judge, path: str, names: NamesTaken, *, hidden: bool, links: LinkUse) -> str | None:
    home, real = judge.where.home, follow_links(path)
    inside = f"{real}/".startswith(f"{judge.where.workspace}/")
    if not inside and f"{home}/".startswith(f"{real.rstrip('/')}/"):
        return "your home folder"
    if not inside and real.startswith(f"{home}/."):
        return "what programs keep for you"
    excluded = names.excluded if hidden else (".*", *names.excluded)
    return find_secret(real, excluded, opens=links.opens, follows=links.follows, included=names.included)


def judge_deep_edit(judge: Judge, value: Argument, invocation: Invocation) -> None:
    """Judge a change of all that lies in a folder: files that no agent changes may be among them.

    Of a folder that is called like one with such files, any change may be; else those of all kinds of text.
    """
    text = value.text or ""
    fixed, rest = split_pattern(text) if any(mark in text for mark in "*?[{") else (text, "")
    name = rest.rpartition("/")[2] if "." in rest else "*"
    takes_text = invocation.name.partition(" ")[0] in named_set("text_formatters")
    for folder in filter(None, invocation.state.folders):
        top = follow_links(join_path(folder, expand_home(fixed, judge.where.home)))
        named = is_folder(top) and find_named(top).around is not None
        found = top.rpartition("/")[2] if named else None
        if takes_text and not named:
            found = _guarded_below(judge, top, folder, name)
        if found is not None:
            why = f"it changes everything below, and {found[:60]} lies there"
            judge.record("files.edit", Risk.HIGH, why, value.start, value.end)


def _guarded_below(judge: Judge, top: str, folder: str, name: str) -> str | None:
    """The first file below of such a name that no agent changes; what is in the way, if nobody can tell."""
    try:
        for entry in walk_below(top, ()):
            if entry is None:
                return "more than can be looked at"
            likely = not GUARDED_FIRST_NAMES.isdisjoint(entry.path.casefold().split("/"))
            if (
                likely
                and fits_name(entry.name, (name,))
                and not entry.is_dir()
                and judge.quick.operation_at("files.edit", entry.path, folder).barred
            ):
                return entry.name
    except OSError:
        return "a folder that cannot be read"
    return None


def judge_tracked_reading(judge: Judge, paths: tuple[Argument, ...], invocation: Invocation) -> None:
    """Judge a reading of all that the repository records, or of what lies below the paths that are named."""
    texts = [one.text for one in paths]
    for folder in invocation.state.folders:
        if folder is None:
            continue  # which repository it is, is asked by whoever judges git
        places = [(text, join_path(folder, text)) for text in texts if text]
        named = [text for text, place in places if WILD.search(place) or os.path.lexists(place)]
        secret = find_tracked_secret(folder, named, opens=False) if None not in texts else _UNTOLD
        if secret is not None:
            why = f"it shows what the repository holds, and {secret[:60]} is in it"
            judge.record("files.search", Risk.HIGH, why, invocation.start, invocation.end)
            return


def find_tracked_secret(folder: str, paths: list[str], *, opens: bool = True) -> str | None:
    """A secret among the files that the repository records, below these paths if there are any.

    To who `opens` each of them, a link to a secret is one.
    """
    try:
        tree = follow_links(folder)
        while tree and look_at(f"{tree}/.git") is None:
            tree = tree.rpartition("/")[0]
        noted = list_tracked_secrets(follow_git_file(f"{tree}/.git")) if tree else None
    except (OSError, ValueError):
        return _UNTOLD
    if noted is None:
        return _UNTOLD
    below = _patterns(tree, folder, paths)
    secrets = (
        name
        for is_link, name in noted
        if any(fnmatch.fnmatchcase(f"{name}/", one) for one in below)
        and (is_secret(name) or (opens and is_link and leads_to_secret(f"{tree}/{name}")))
    )
    return next(secrets, None)


def _patterns(tree: str, folder: str, paths: list[str]) -> list[str]:
    """Return patterns for the names at or below these paths; in git a wildcard matches slashes as well."""
    found: list[str] = []
    for path in paths or ["."]:
        fixed, wild = split_pattern(path) if WILD.search(path) is not None else (path, "")
        place = f"{follow_links(join_path(folder, fixed or '.'))}/"
        if path[:1] == ":" or not place.startswith(f"{tree}/"):
            return ["*"]
        top = glob.escape(place[len(tree) + 1 :])
        found.append(f"{top}{wild}*" if wild else f"{top}*")
    return found
