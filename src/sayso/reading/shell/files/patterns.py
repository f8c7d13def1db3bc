"""Wildcards in paths: what a pattern reads or changes.

- What it reads is judged by the folder before its wildcards, and by every secret that it may name.
- What it changes is judged file by file: those that it names as the folder is now. If that cannot be told, or
  an earlier part of the line may have brought files, by everything that it may name.
"""

from __future__ import annotations

import fnmatch
import os

import msgspec

from sayso.core.model import Operation, Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.paths.budget import follow_links, list_folder
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.spellings import expand_home
from sayso.reading.secrets_below import leads_to_secret
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.state import join_path
from sayso.reading.verbs import DELETE_VERBS, READ_VERBS, verb_of

HIDDEN_PATTERN = lazy_pattern(r"(?:^|/)\.[*?\[{]")
_MAX_ENTRIES = 2_000
_MAX_NAMES = 200
_MAX_DEEPER = 20_000


def operation_at_pattern(judge: Judge, operation: str, pattern: str, where: CallFolders) -> Operation:
    """The operation at all that this pattern may name."""
    fixed, name = split_pattern(pattern)
    names = None if verb_of(operation) in READ_VERBS else _names_fitting(judge, fixed, name, where)
    if names is not None:
        return _change_each(judge, operation, [*names, "a-name"], pattern, fixed, where)
    found = judge.quick.operation_at(operation, fixed or ".", where.folder)
    if found.barred is not None or found.reading is Risk.HIGH:
        return found
    top = follow_links(join_path(where.folder, expand_home(fixed, where.home)))
    if where.home and f"{top}/".startswith(f"{where.home}/.") and not where.workspace.startswith(top):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="reads what programs keep for you")
    if HIDDEN_PATTERN.search(pattern) or _may_name_secret(
        pattern, fixed, name, where, opens=verb_of(operation) != "list"
    ):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="its pattern may name a secret")
    if verb_of(operation) not in READ_VERBS:
        whole = operation_at_path(operation, pattern, judge.policy, where, ())
        if whole.barred is not None or whole.name != found.name:
            return whole
    return found


def _change_each(
    judge: Judge, operation: str, names: list[str], pattern: str, fixed: str, where: CallFolders
) -> Operation:
    """The strictest of the changes of these files."""
    several = [judge.quick.operation_at(operation, f"{fixed}{one}", where.folder) for one in names]
    found = min(several, key=lambda one: (one.barred is None, one.reading is None, one is several[-1]))
    outside = next((one for one in several if one.name != several[-1].name), None)
    if found.barred is None and found.reading is None and outside is not None:
        found = outside
    if found.barred is None and verb_of(operation) in DELETE_VERBS and not pattern[len(fixed) :].strip("*?."):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="deletes every file that is there")
    if found.barred is None and is_secret(pattern):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="its pattern may name a secret")
    return found


def _names_fitting(judge: Judge, fixed: str, name: str, where: CallFolders) -> list[str] | None:
    """The names in the folder that a pattern fits as bash takes it; None if that cannot be told."""
    if name[:1] == "." or any(mark in name for mark in "/[{"):
        return None
    folder = join_path(where.folder, expand_home(fixed, where.home))
    if judge.changes.may_include(folder):
        return None
    try:
        entries = list_folder(folder, _MAX_ENTRIES)
    except FileNotFoundError:
        return []
    except OSError:
        return None
    found = [one.name for one in entries if one.name[0] != "." and fnmatch.fnmatchcase(one.name, name)]
    return found if len(entries) <= _MAX_ENTRIES and len(found) <= _MAX_NAMES else None


def split_pattern(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest."""
    first = min((pattern.find(mark) for mark in "*?[{" if mark in pattern), default=len(pattern))
    folder, slash, _ = pattern[:first].rpartition("/")
    return folder + slash, pattern[len(folder + slash) :]


def _may_name_secret(pattern: str, fixed: str, name: str, where: CallFolders, *, opens: bool) -> bool:
    """Return whether a file that it fits holds secrets or, to who `opens` files, leads to one that does."""
    if is_secret(pattern) or ".." in name:
        return True
    folder = join_path(where.folder, expand_home(fixed, where.home))
    parts = [part for part in name.replace("[^", "[!").split("/") if part]
    return _finds_secret(folder, parts, _MAX_DEEPER if "/" in name else _MAX_ENTRIES, opens=opens)


def _is_secret(entry: os.DirEntry[str], *, opens: bool) -> bool:
    return is_secret(entry.path) or (opens and entry.is_symlink() and leads_to_secret(entry.path))


def _finds_secret(folder: str, parts: list[str], most: int, *, opens: bool) -> bool:
    """Return whether a pattern of these names fits a secret, or there is more than is looked at."""
    waiting, seen = [(folder, 0)], 0
    while waiting:
        here, place = waiting.pop()
        wanted, last = parts[place], place == len(parts) - 1
        if wanted == "**" and not last:
            waiting.append((here, place + 1))
        try:
            entries = list_folder(here, most)
        except OSError:
            continue
        seen += 1 + len(entries)
        if seen > most:
            return True
        for entry in entries:
            if entry.name[0] == "." != wanted[:1] or not fnmatch.fnmatchcase(entry.name, wanted):
                continue  # a shell does not take a wildcard for the dot
            if last and _is_secret(entry, opens=opens):
                return True
            if not last and _is_folder(entry, through_links=wanted != "**"):
                waiting.append((entry.path, place + (wanted != "**")))
    return False


def _is_folder(entry: os.DirEntry[str], *, through_links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=through_links)
    except OSError:  # links in a circle
        return False
