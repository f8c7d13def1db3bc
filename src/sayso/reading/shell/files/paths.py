"""Paths that commands read, write and delete, each in every folder the command may run in.

- A pattern that is read is judged by the folder before its wildcards, and by every secret that it may name.
- A pattern that is changed is judged file by file: those that it names as the folder is now. If that cannot
  be told, or an earlier part of the line may have brought files, by everything that it may name.
"""

from __future__ import annotations

import fnmatch
import os

import msgspec

from sayso.core.model import Operation, Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links, is_folder, list_folder, may_look
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.spellings import expand_home
from sayso.reading.secrets_below import leads_to_secret
from sayso.reading.shell.files.guard import GUARD, bar_change_of_program, finds_program, judge_guard_mentions
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.known import default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.quick import effect_of_operation
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.value import Value
from sayso.reading.verbs import DELETE_VERBS, READ_VERBS, verb_of

HIDDEN_PATTERN = lazy_pattern(r"(?:^|/)\.[*?\[{]")
_MAX_ENTRIES = 2_000
_MAX_NAMES = 200
_MAX_DEEPER = 20_000
_COST_OF_LINK = 10
_STREAMS = frozenset({"-", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty", "/dev/fd/0"})


def judge_path(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """Judge this operation at this path."""
    value = argument.value
    if value.choices:
        for one in value.choices:
            judge_path(judge, operation, Argument(one, argument.start, argument.end), state)
    elif value.text is None:
        _judge_unknown(judge, operation, argument, state)
    elif value.text in _STREAMS:
        judge.effect(default_effect("shell.inspect"), argument.start, argument.end)
    elif value.home and not (value.text == "~" or value.text.startswith("~/")):
        judge.record(operation, Risk.HIGH, "whose folder it is cannot be told", argument.start, argument.end)
    else:
        for folder in state.folders:
            _judge_in(judge, operation, argument, folder)
        if verb_of(operation) not in READ_VERBS:
            _note_changes(judge, value, state)


def judge_path_into(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """Judge a change of a file or, where this is a folder, of files in it that other words name."""
    value = argument.value
    if value.text is not None and not value.wild and not value.choices:
        at_home = judge.where.home + value.text[1:] if value.home else value.text
        places = [join_path(folder or "/", at_home) for folder in state.folders]
        if any(map(is_folder, places)):
            inner = msgspec.structs.replace(value, text=f"{value.text.rstrip('/')}/a-name")
            argument = Argument(inner, argument.start, argument.end)
    judge_path(judge, operation, argument, state)


def _note_changes(judge: Judge, value: Value, state: ShellState) -> None:
    text = split_pattern(value.text or "")[0] if value.wild else value.text or ""
    text = judge.where.home + text[1:] if value.home else text
    for folder in state.folders:
        known = text.startswith("/") or folder is not None
        state.changes.add(join_path(folder or "/", text) if known else None)


def _judge_unknown(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """A path that is not known: reading one that was vetted is what reading is."""
    prefix = argument.value.prefix
    if "/" in prefix and GUARD.search(prefix):
        known = Argument(Value(prefix.rpartition("/")[0]), argument.start, argument.end)
        judge_guard_mentions(judge, (known,), state)
    if argument.value.vetted and verb_of(operation) in READ_VERBS:
        judge.effect(default_effect(operation), argument.start, argument.end)
        return
    if verb_of(operation) not in READ_VERBS:
        state.changes.add(None)
        if finds_program(argument.value):
            bar_change_of_program(judge, argument)
    why = "which file it is cannot be told before it runs"
    judge.record(operation, Risk.HIGH, why, argument.start, argument.end)


def _judge_in(judge: Judge, operation: str, argument: Argument, folder: str | None) -> None:
    text = argument.value.text or ""
    if folder is None and not text.startswith(("/", "~")):
        if is_secret(text):  # wherever it lies
            found = judge.quick.operation_at(operation, text, "/")
            why = "it names a file that holds secrets"
            judge.record(found.name, Risk.HIGH, why, argument.start, argument.end, found.barred)
        why = "the folder it runs in cannot be told"
        judge.record(operation, Risk.HIGH, why, argument.start, argument.end)
        return
    folder = folder or judge.where.folder
    quoted = text if text[:1] != "~" or argument.value.home else f"./{text}"
    if argument.value.wild:
        found = _operation_at_pattern(judge, operation, quoted, folder)
        effect = effect_of_operation(found)
    else:
        found, effect = judge.quick.effect_at(operation, quoted, folder)
    why = effect.why or found.name
    judge.record(found.name, effect.risk, why, argument.start, argument.end, found.barred)


def _operation_at_pattern(judge: Judge, operation: str, pattern: str, folder: str) -> Operation:
    """The operation at all that this pattern may name."""
    fixed, name = split_pattern(pattern)
    verb, where = verb_of(operation), judge.where
    top = join_path(folder, expand_home(fixed, where.home))
    names = None if verb in READ_VERBS else _names_fitting(judge, top, name)
    if names is not None:
        return _change_each(judge, operation, [*names, "a-name"], pattern, fixed, folder)
    found = judge.quick.operation_at(operation, fixed or ".", folder)
    if found.barred is not None or found.reading is Risk.HIGH:
        return found
    real = follow_links(top)
    if where.home and f"{real}/".startswith(f"{where.home}/.") and not where.workspace.startswith(real):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="reads what programs keep for you")
    hidden = is_secret(pattern) or HIDDEN_PATTERN.search(pattern) or ".." in name
    if hidden or _finds_secret(top, name, opens=verb != "list"):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="its pattern may name a secret")
    whole = found if verb in READ_VERBS else judge.quick.operation_at(operation, pattern, folder)
    return whole if whole.barred is not None or whole.name != found.name else found


def _change_each(
    judge: Judge, operation: str, names: list[str], pattern: str, fixed: str, folder: str
) -> Operation:
    """The strictest of the changes of these files."""
    several = [judge.quick.operation_at(operation, f"{fixed}{one}", folder) for one in names]
    found = min(several, key=lambda one: (one.barred is None, one.reading is None, one is several[-1]))
    outside = next((one for one in several if one.name != several[-1].name), None)
    if found.barred is None and found.reading is None and outside is not None:
        found = outside
    if found.barred is None and verb_of(operation) in DELETE_VERBS and not pattern[len(fixed) :].strip("*?."):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="deletes every file that is there")
    if found.barred is None and is_secret(pattern):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="its pattern may name a secret")
    return found


def _names_fitting(judge: Judge, folder: str, name: str) -> list[str] | None:
    """The names in the folder that a pattern fits as bash takes it; None if that cannot be told."""
    if name[:1] == "." or any(mark in name for mark in "/[{") or judge.changes.may_include(folder):
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


def _finds_secret(folder: str, pattern: str, *, opens: bool) -> bool:
    """Return whether a file below this folder that the pattern fits holds secrets; in doubt, yes.

    To who `opens` files, a link to a secret is one.
    """
    parts = [part for part in pattern.replace("[^", "[!").split("/") if part] or [pattern]
    most = _MAX_DEEPER if "/" in pattern else _MAX_ENTRIES
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
        if seen > most or not may_look(1 + len(entries)):
            return True
        for entry in entries:
            if entry.name[0] == "." != wanted[:1] or not fnmatch.fnmatchcase(entry.name, wanted):
                continue  # a shell does not take a wildcard for the dot
            linked = last and opens and entry.is_symlink()
            if (linked and (not may_look(_COST_OF_LINK) or leads_to_secret(entry.path))) or (
                last and is_secret(entry.path)
            ):
                return True
            if not last and _is_folder(entry, through_links=wanted != "**"):
                waiting.append((entry.path, place + (wanted != "**")))
    return False


def _is_folder(entry: os.DirEntry[str], *, through_links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=through_links)
    except OSError:  # links in a circle
        return False
