"""Kinds of operands and option values: what is done with each."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.places import is_secret
from sayso.reading.shell.commands.projects import judge_project, judge_setting, judge_target
from sayso.reading.shell.commands.scripts import judge_script, only_computes
from sayso.reading.shell.files.deep import judge_deep_edit
from sayso.reading.shell.files.guard import judge_mentioned_guard, judge_process
from sayso.reading.shell.files.paths import judge_path, judge_path_into, split_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.languages import LANGUAGES, read_language
from sayso.reading.shell.languages.small import judge_template
from sayso.reading.shell.programs.compile import SHAPES
from sayso.reading.shell.programs.known import KnownProgram, ProgramEffect, default_effect, named_set
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import join_path
from sayso.reading.shell.value import Value

_PATHS = {
    "read": "files.read", "list": "files.list", "search": "files.search", "write": "files.write",
    "edit": "files.edit", "create": "files.create", "delete": "files.delete", "folder": "files.list",
    "named": "files.write",
}  # fmt: skip
_LENDS_RIGHTS = lazy_pattern(r"^0*[2-7][0-7]{3}$|[+=][rwxXt]*s")
_OWN_PATTERN = lazy_pattern(r"[*?{]")
_BRACES = lazy_pattern(r"\{[^{}]*\}")
_PLAIN_CODE_OPTIONS = frozenset({"-c", "-e", "-p", "--eval", "--print", "-I", "-S", "-E", "-s", "-B", "-u"})
"""Options beside code that neither load nor run more."""
_INTO = {"into": "files.write", "sources": "files.edit"}
WRITTEN_KINDS = frozenset({"write", "named", "edit", "create", "delete", "copied", "pair", *_INTO})
_READ_KINDS = frozenset({"read", "list", "search", "public", "document"})
RUN_KINDS = frozenset({"project", "target", "script", "module"})


def as_written(kind: str, written: str, *, named: bool) -> tuple[str, ...]:
    """Return the kinds of an operand whose command writes. `named`: its row says that it is only read.

    To run something, or to go by it, says nothing of writing, so that is written in any case.
    """
    if kind in _READ_KINDS and not named:
        return (written,)
    return (kind, written) if kind in RUN_KINDS else (kind,)


def _without_depth(value: Argument) -> Argument:
    """Return a pattern that the program itself expands, without the folders that it goes through.

    It changes what fits in folders below, as it would if it were given the folder: `"src/**/*.{ts,tsx}"`.
    """
    text = value.text or ""
    if value.value.wild or not _OWN_PATTERN.search(text):
        return value
    folder, rest = split_pattern(_BRACES.sub("*", text))
    if ".." in rest.split("/"):
        return value
    name = rest.rpartition("/")[2]
    wild = _OWN_PATTERN.search(name) is not None
    made = msgspec.structs.replace(value.value, text=folder + name, wild=wild)
    return msgspec.structs.replace(value, value=made)


def judge_kind(
    judge: Judge,
    kind: str,
    value: Argument,
    program: KnownProgram,
    invocation: Invocation,
    effect: ProgramEffect | None = None,
) -> int:
    """Judge one value of this kind. 1 if it was looked at as a path that the program works on."""
    operation = _PATHS.get(kind)
    if operation is not None:
        if kind == "named" and value.text == "-":
            value = Argument(Value("./-"), value.start, value.end)
        if effect is not None and effect.operation.startswith("files.") and kind in effect.operation:
            operation = effect.operation
        judge_path(judge, operation, value, invocation.state)
        return int(kind != "folder")
    if kind in _INTO:
        if kind == "sources":
            judge_deep_edit(judge, value, invocation)
            value = _without_depth(value)
        judge_path_into(judge, _INTO[kind], value, invocation.state)
        if value.text == os.devnull and "edit*" in program.operands:
            judge.record(
                "files.delete", Risk.HIGH, "moves files to where they are lost", value.start, value.end
            )
        return 1
    if kind != "public":  # of which only what is public is shown, whatever its name
        _OTHERS[kind](judge, value, program, invocation)
    return 0


def _judge_socket(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    if not (value.text or "").startswith(("tcp://", "ssh://", "http://", "https://")):
        judge_path(judge, "files.write", value, invocation.state)
    judge.effect(default_effect("network.api"), value.start, value.end)


def _judge_run(
    kind: str, judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation
) -> None:
    if value.text is None:
        judge.doubt(f"which command {program.name} runs is not known", value.start, value.end)
    elif kind == "template":
        judge_template(judge, value.text, value, invocation)
    else:
        judge.script(value.text, invocation.state.copy(), value.start, value.end)


def _judge_script(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    given, name = invocation.arguments, program.name.partition(" ")[0]
    behind = given[given.index(value) + 1 :] if value in given else ()
    judge_script(judge, value, invocation.state, value.start, value.end, behind, name)


def _judge_config(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    judge.doubt(f"a file that {program.name} goes by may run other programs", value.start, value.end)


def _judge_code(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    folders, given = invocation.state.folders, [one.text or "-" for one in invocation.arguments]
    before = given[: given.index(value.text)] if value.text in given else ["-"]
    folder = folders[0] if len(folders) == 1 else None
    plain = _PLAIN_CODE_OPTIONS.issuperset(one for one in before if one[:1] == "-")
    if plain and folder is not None and only_computes(judge, program.name, value.text or "", folder):
        judge.effect(default_effect("shell.inspect"), value.start, value.end)
        return
    why = f"it runs code that {program.name} is given"
    judge.record("scripts.run", Risk.HIGH, why, value.start, value.end)
    if value.text is not None:
        judge_mentioned_guard(judge, value.text, value.start, value.end)


def _judge_url(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    judge.effect(default_effect("network.fetch"), value.start, value.end)


def _judge_document(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """A file, or an address that the program fetches."""
    if "://" in (value.text or value.value.prefix):
        _judge_url(judge, value, program, invocation)
    judge_path(judge, "files.read", value, invocation.state)


def _judge_rights(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """The mode of `chmod`: one that lends the owner's rights to whoever runs the file is high."""
    if value.text is None or _LENDS_RIGHTS.search(value.text):
        why = "lets others run it with the rights of its owner"
        judge.record("files.edit", Risk.HIGH, why, value.start, value.end)


def _judge_revision(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """A revision or a path in a repository; `HEAD:.env` shows a secret."""
    texts = [one.text or one.prefix for one in value.value.choices or (value.value,)]
    if any(is_secret(text) or is_secret(text.rpartition(":")[2]) for text in texts):
        why = "it shows a file that holds secrets"
        judge.record("files.read", Risk.HIGH, why, value.start, value.end)


def _judge_pair(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """`if=FILE of=FILE`, as dd wants it."""
    name, equals, rest = (value.text or "").partition("=")
    if equals and name in ("if", "of"):
        inner = Argument(Value(rest), value.start, value.end)
        judge_path(judge, "files.read" if name == "if" else "files.write", inner, invocation.state)


def _judge_suffix(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """The ending of a copy's name: with a slash or an asterisk it names another place."""
    if value.text is None or "/" in value.text or "*" in value.text:
        judge.doubt("where it keeps a copy is not understood", value.start, value.end)


def _judge_inventory(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """A list of machines: one that may be run is not only read."""
    text, folder = value.text or "", invocation.state.folders[0] or "/"
    if not text.endswith((".ini", ".yml", ".yaml")) or os.access(join_path(folder, text), os.X_OK):
        _judge_config(judge, value, program, invocation)
    else:
        judge_project(judge, value, program, invocation)


def _judge_copied(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """Judge the target of a copy: another machine (`host:path`), or a local file or folder."""
    if ":" not in (value.text or value.value.prefix).partition("/")[0]:
        judge_path_into(judge, "files.write", value, invocation.state)


@functools.cache
def _shapes(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in sorted(named_set(f"{name}_words"))))


def _judge_shape(
    name: str, judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation
) -> None:
    """Judge a word by the shapes in the data's set NAME_words."""
    text, fits = "" if value.value.wild else value.text or "", _shapes(name).fullmatch
    told = name == "endpoint" and is_secret(text.partition("?")[0])
    if told or (not fits(text) and not all(map(fits, text.split(",")))):
        judge.doubt(f"{program.name}: it is given no {name} that is known", value.start, value.end)


_OTHERS: dict[str, Callable[[Judge, Argument, KnownProgram, Invocation], None]] = {
    **{name: functools.partial(_judge_shape, name) for name in SHAPES},
    **{name: functools.partial(read_language, name) for name in LANGUAGES},
    "copied": _judge_copied,
    "socket": _judge_socket,
    "inventory": _judge_inventory,
    "suffix": _judge_suffix,
    **{name: functools.partial(_judge_run, name) for name in ("run", "template")},
    "script": _judge_script,
    "module": _judge_script,
    "config": _judge_config,
    "code": _judge_code,
    "url": _judge_url,
    "document": _judge_document,
    "rights": _judge_rights,
    "rev": _judge_revision,
    "pair": _judge_pair,
    "signal": judge_process,
    "project": judge_project,
    "target": judge_target,
    "setting": judge_setting,
}
