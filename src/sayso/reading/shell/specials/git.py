"""git: its options, the folder it works in, and what its configuration would run; and patches."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import Change, PatchedFile, PatchReading, names_in
from sayso.reading.patches.read import read_patch
from sayso.reading.shell.commands.usage import judge_by_data, judge_subcommand, names_chosen, report_problem
from sayso.reading.shell.files.guard import judge_guard_mentions, looks_like_file
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.specials.git_config import (
    FETCHING_HOOKS,
    READING_HOOKS,
    find_running_key,
    is_harmless_key,
)
from sayso.reading.shell.specials.local_tools import mentions
from sayso.reading.shell.specials.wrappers import go_to, read_named
from sayso.reading.shell.state import ChangedFiles, ShellState, join_path
from sayso.reading.shell.value import Value

_LOW = Risk.LOW
_RUNS_WHEN_SET = frozenset(
    {"sequence", "init", "alias", "gui", "am", "hooks", "guitool", "gitk", "remote", "url", "branch",
     "submodule", "lfs"}
)  # fmt: skip
"""Sections that do nothing when git reads, and may run something or name a remote when it does more."""
_GOES_BY_SETTINGS = frozenset({"git.fetch", "git.merge", "git.rebase"})
"""What may run a program that the repository's configuration names, though it changes little."""
_TOKEN_KEY = lazy_pattern(r"(?i)extraheader|token|passw|secret|cookie")
_TOKENS = lazy_pattern(r"(?i)extraheader|token|password|\[include|secret")
_NEEDS_NO_REPOSITORY = frozenset({"--version", "--help", "-h", "-v", "version"})


def judge_git(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge a git command. One that only reads is low if the repository's configuration runs nothing."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    folders, named, inside = invocation.state.folders, None, invocation
    if parsed.options:
        inside = msgspec.structs.replace(invocation, state=invocation.state.copy())
        folders, named = _follow_options(judge, parsed, inside.state)
        inside.state.folders = folders
    before = len(judge.findings)
    judge_subcommand(judge, program, parsed, inside)
    if _needs_no_repository(parsed):
        return
    invocation.state = inside.state
    found = judge.findings[before:]
    risky = any(one.risk is not _LOW for one in found)
    if not risky or not _GOES_BY_SETTINGS.isdisjoint(one.operation for one in found):
        hooks = FETCHING_HOOKS if risky else READING_HOOKS
        _check_configuration(judge, invocation, folders, named, hooks)


def _needs_no_repository(parsed: ParsedOptions) -> bool:
    named = [parsed.operands[0].text] if parsed.operands else names_chosen(parsed)
    return not _NEEDS_NO_REPOSITORY.isdisjoint(named)


def _follow_options(
    judge: Judge, parsed: ParsedOptions, state: ShellState
) -> tuple[tuple[str | None, ...], Argument | None]:
    """The folders after `-C`, and the repository that is named outright."""
    folders: tuple[str | None, ...] = state.folders
    named: Argument | None = None
    for option, value in parsed.options:
        if option.name == "--bare":
            named = named or Argument(Value("."), 0, 0)  # the folder itself, whatever .git is in it
        elif value is None:
            continue
        elif option.name == "-C":
            folders = go_to(folders, value)
        elif option.name == "-c":
            _check_setting(judge, value, parsed)
        elif option.name in ("--git-dir", "--work-tree") and value.text is None:
            judge.doubt("which repository it works on is not known", value.start, value.end)
        elif option.name == "--git-dir":
            named = value
        elif option.name == "--work-tree":
            judge_path(judge, "files.list", value, state)
            settings = Argument(Value(f"{value.text}/settings.json"), value.start, value.end)
            judge_guard_mentions(judge, (settings,), state)
    return folders, named


_NEVER_EDITS = frozenset({"log", "diff", "show", "status", "blame", "shortlog", "rev-parse", "ls-files"})
"""Subcommands that never open an editor, whatever it is."""


def _check_setting(judge: Judge, value: Argument, parsed: ParsedOptions) -> None:
    key, _, setting = (value.text or "").partition("=")
    subcommand = parsed.operands[0].text if parsed.operands else None
    folded = key.casefold()
    if (
        value.text is None
        or folded.partition(".")[0] in _RUNS_WHEN_SET
        or (folded == "core.editor" and subcommand not in _NEVER_EDITS)
        or not is_harmless_key(key, setting)
    ):
        judge.doubt(f"it sets {key[:60] or 'a key'}, which can run programs", value.start, value.end)


def judge_settings_of_git(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`git config`: as its data says; newer versions have subcommands."""
    words = [one.text for one in invocation.arguments]
    if words[:1] == ["get"] and len(words) > 1:
        invocation = msgspec.structs.replace(invocation, arguments=invocation.arguments[1:])
    parsed = judge_by_data(judge, program, invocation)
    first = parsed.operands[0].text if parsed.operands else None
    lists = "-l" in words or "--list" in words or first == "list"
    own = (f"{judge.where.home}/{name}" for name in (".gitconfig", ".config/git/config"))
    if lists and any(mentions(path, _TOKENS, 100_000) for path in own):
        why = "shows settings which hold tokens"
        judge.record("git.show", Risk.MODERATE, why, invocation.start, invocation.end)
    file = next((value for option, value in parsed.options if option.name == "-f"), None)
    if file is not None and any(one.operation == "git.configure" for one in judge.findings):
        judge_path(judge, "files.write", file, invocation.state)
    if any(_TOKEN_KEY.search(word or "") for word in words):
        judge.record("secrets.read", Risk.HIGH, "shows a token", invocation.start, invocation.end)
    if first in ("edit", "set", "unset", "rename-section", "remove-section"):
        judge.effect(default_effect("git.configure"), invocation.start, invocation.end)


def judge_checkout(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`git checkout`: with paths it throws their changes away."""
    parsed = judge_by_data(judge, program, invocation)
    words = [one.text for one in invocation.arguments]
    operands = parsed.operands
    paths = invocation.arguments[words.index("--") + 1 if "--" in words else len(words) :]
    if not paths and names_chosen(parsed).isdisjoint({"-b", "-c", "--orphan"}):
        paths = operands[1:]
    if not paths and len(operands) == 1 and _names_file(judge, operands[0], invocation.state):
        paths = operands
    for one in paths:
        judge.record("git.reset_hard", Risk.HIGH, "throws changes of files away", one.start, one.end)
        judge_path(judge, "files.write", one, invocation.state)


def _names_file(judge: Judge, one: Argument, state: ShellState) -> bool:
    """Return whether a word that may be a branch is a file, a folder, or where a guarded file belongs."""
    text = one.text or ""
    if text in (".", "./", "*", ":/"):
        return True
    for folder in filter(None, state.folders):
        path = join_path(folder, text)
        if (text and os.path.lexists(path)) or (
            looks_like_file(path, text)
            and judge.quick.operation_at("files.write", text, folder).barred is not None
        ):
            return True
    return False


def _check_configuration(
    judge: Judge,
    invocation: Invocation,
    folders: tuple[str | None, ...],
    named: Argument | None,
    hooks: tuple[str, ...],
) -> None:
    for folder in folders:
        if folder is None:
            judge.doubt("which repository it works on is not known", invocation.start, invocation.end)
            return
        at = None if named is None or named.text is None else join_path(folder, named.text)
        asked, keys = (folder, at, hooks), judge.quick.running_keys
        if asked not in keys:
            keys[asked] = find_running_key(judge.quick.find_real(folder), at, hooks)
        if keys[asked] is not None:
            why = f"the repository's configuration can run a program: {(keys[asked] or '')[:80]}"
            judge.record("shell.run", Risk.HIGH, why, invocation.start, invocation.end)
            return


_LOOKS_AT_PATCH = frozenset({"--dry-run", "--check", "--stat", "--numstat", "--summary"})
_OTHERWISE = frozenset({"--recount", "--inaccurate-eof", "-d", "-n", "-c", "-u"})
"""Options with which a patch is read in another way, or in another folder."""
_UNDONE: dict[Change, Change] = {"write": "delete", "delete": "write", "edit": "edit"}


def judge_patching(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A patch changes the files that it names: they are read from it, where it can be read."""
    earlier = invocation.state.changes.copy()
    parsed = judge_by_data(judge, program, invocation)
    chosen = {option.name: value for option, value in parsed.options}
    if _LOOKS_AT_PATCH & chosen.keys() and "--apply" not in chosen:
        return
    if program.name in ("apply_patch", "applypatch"):
        texts = [one.text for one in parsed.operands]
    else:
        files = [value for option, value in parsed.options if option.name == "-i" and value is not None]
        files += parsed.operands[1:] if program.name == "patch" else parsed.operands
        texts = [_read_patch(one, invocation.state, earlier) for one in files]
    texts = texts or [None if invocation.body is None else invocation.body.text]
    strip = _strip_of(chosen, -1 if program.name == "patch" else 1)
    for text in texts:
        found = PatchReading() if text is None else read_patch(text, strip)
        if strip is None or not found.complete or _OTHERWISE & chosen.keys():
            why = "which files the patch changes cannot be told"
            judge.record("files.edit", Risk.HIGH, why, invocation.start, invocation.end)
        lines = Argument(Value("\n".join(found.unread)), invocation.start, invocation.end)
        judge_guard_mentions(judge, (lines,), invocation.state)
        unread = (PatchedFile(name, "edit") for name in names_in(found.unread))
        for file in dict.fromkeys((*found.files, *unread)):
            change = _UNDONE[file.change] if "-R" in chosen else file.change
            _judge_patched(judge, change, file.path, chosen, invocation)


def _strip_of(chosen: Mapping[str, Argument | None], usual: int) -> int | None:
    """Return how many folders a patch's names lose; None if that cannot be told."""
    if "-p" not in chosen:
        return usual
    text = (chosen["-p"].text if chosen["-p"] is not None else None) or ""
    return int(text) if text.isdecimal() and len(text) < 4 else None


def _judge_patched(
    judge: Judge, change: Change, path: str, chosen: Mapping[str, Argument | None], invocation: Invocation
) -> None:
    """Judge the change of a file in the folder that an option names."""
    folder = chosen.get("--directory", chosen.get("-d"))
    base = Value("") if folder is None else folder.value
    text = None if base.text is None else f"{base.text}/{path}" if base.text and path[0] != "/" else path
    value = Value(path) if text is None else msgspec.structs.replace(base, text=text)
    judge_path(judge, f"files.{change}", Argument(value, invocation.start, invocation.end), invocation.state)


def _read_patch(file: Argument, state: ShellState, earlier: ChangedFiles) -> str | None:
    try:
        return read_named(file, state, earlier, 1_000_000)
    except FileNotFoundError:
        return None
