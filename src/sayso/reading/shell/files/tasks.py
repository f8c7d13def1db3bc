"""The command lines of a project's tasks: scripts of package.json and its kind, targets of make and just.

What is not known of a value is `$__unknown`, which a shell reading does not know either. A file with anything
in it that is not plainly read has no known tasks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.file_content import read_whole

MAX_FILE = 200_000
MAX_LINES = 400
UNKNOWN = "$__unknown"
_JSON_FILES = {"deno": ("deno.json", "tasks"), "composer": ("composer.json", "scripts")}
_PACKAGE = ("package.json", "scripts")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_ASSIGNMENT = lazy_pattern(
    r"(?:override +|export +)*([\w.-]+)[ \t]*(\?=|\+=|!=|::?:?=|=)[ \t]*(.*)", re.DOTALL
)
_RULE = lazy_pattern(r"([^:=#]+?)[ \t]*::?(?!=)[ \t]*([^=;]*?)(?:;[ \t]*(.*))?", re.DOTALL)
_REFERENCE = lazy_pattern(r"\$(?:\$|\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\{([^{}]*)\}|(.))", re.DOTALL)
_CHANGES_MAKE = lazy_pattern(
    r"(?m)^ *(?:define|-?s?include|load|vpath|unexport|\.(?:ONESHELL|RECIPEPREFIX))\b"
    r"|\$[({](?:eval|call|file|guile)\b"
)
_CONDITIONAL = lazy_pattern(r"[ \t]*(?:ifeq|ifneq|ifdef|ifndef|else|endif)\b")
_RUNS_MAKE = frozenset(
    {"SHELL", ".SHELLFLAGS", "MAKEFLAGS", "PATH", "BASH_ENV", "ENV", "CC", "CXX", "LD", "AR", "AS", "RM"}
)
_PLAIN_TOOLS = frozenset(
    {
        "sh",
        "/bin/sh",
        "bash",
        "/bin/bash",
        "/usr/bin/env bash",
        "gcc",
        "g++",
        "clang",
        "clang++",
        "cc",
        "c++",
        "ld",
        "ar",
        "as",
    }
)
_JUST_LINE = lazy_pattern(r"@?([\w-]+)((?: +[*+]?[\w-]+(?:=\S+)?)*) *:((?: *[\w-]+)*) *(?:#.*)?")
_JUST_PLAIN = lazy_pattern(
    r"#.*|\[[\w-]+\]|(?:export +)?[\w-]+ *:= *(?:'[^']*'|\"[^\"]*\"|[\w./-]+)|alias .*|"
    r"|set +(?:dotenv-load|positional-arguments|quiet).*"
)


class TaskLine(msgspec.Struct, frozen=True):
    """A command line of a task, the folder that it runs in, and the file that it is written in."""

    text: str
    folder: str
    file: str


class _Unread(Exception):
    """A file of tasks is not understood."""


def find_tasks(
    runner: str, folder: str, names: tuple[str, ...], settings: Mapping[str, str], file: str | None = None
) -> tuple[TaskLine, ...] | None:
    """Return each command line that a runner may run for these names. None if they cannot be read.

    Returns () if no file has such a task: the runner then runs nothing of the project, or a program.
    """
    try:
        if runner in ("make", "gmake"):
            found = _in_folder(folder, _MAKEFILES, file, above=False)
            return () if found is None else _make_tasks(*found, names, settings)
        if runner == "task":
            return None
        if runner == "just":
            found = _in_folder(folder, _JUSTFILES, file, above=True)
            return () if found is None else _just_tasks(*found, names)
        name, key = _JSON_FILES.get(runner, _PACKAGE)
        found = _in_folder(folder, (name,), file, above=True)
        return () if found is None else _json_tasks(*found, key, names[:1])
    except (_Unread, OSError, ValueError, RecursionError):
        return None


def _in_folder(
    folder: str, names: tuple[str, ...], file: str | None, *, above: bool
) -> tuple[str, str, str] | None:
    """Return the folder, path and text of the first of these files, here or above; None if there is none."""
    while True:
        for name in (file,) if file is not None else names:
            path = name if name.startswith("/") else f"{folder}/{name}"
            try:
                return path.rpartition("/")[0], path, read_whole(path, MAX_FILE).decode()
            except (FileNotFoundError, NotADirectoryError):
                continue
        if not above or file is not None or folder in ("", "/"):
            return None
        folder = folder.rpartition("/")[0]


def _json_tasks(
    folder: str, path: str, text: str, key: str, names: tuple[str, ...]
) -> tuple[TaskLine, ...] | None:
    """Return the scripts of this name, with those before and after it."""
    scripts = json.loads(text).get(key) or {}
    found: list[TaskLine] = []
    for name in (f"pre{names[0]}", names[0], f"post{names[0]}") if names and names[0] in scripts else ():
        lines = scripts.get(name, [])
        for line in [lines] if isinstance(lines, str) else lines:
            if not isinstance(line, str) or (key == "scripts" and line[:1] == "@") or "::" in line:
                raise _Unread
            found.append(TaskLine(line, folder, path))
    return tuple(found)


def _just_tasks(folder: str, path: str, text: str, names: tuple[str, ...]) -> tuple[TaskLine, ...] | None:
    """Return the lines of these recipes, or the first, and of those that they need."""
    recipes: dict[str, tuple[list[str], list[str]]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        head = _JUST_LINE.fullmatch(line)
        if line[:1] in (" ", "\t") and line.strip():
            lines.append(re.sub(r"\{\{.*?\}\}", UNKNOWN, line.strip().lstrip("@-")))
        elif head is not None:
            lines = []
            recipes[head[1]] = (head[3].split(), lines)
        elif not _JUST_PLAIN.fullmatch(line.strip()):
            raise _Unread
    wanted = [one for one in names if one in recipes] or list(recipes)[:1]
    if any(line[:2] == "#!" for _, body in recipes.values() for line in body):
        raise _Unread
    every = _with_needs(wanted, {name: needs for name, (needs, _) in recipes.items()})
    return tuple(TaskLine(line, folder, path) for name in every for line in recipes.get(name, ([], []))[1])


def _with_needs(wanted: list[str], needs: Mapping[str, list[str]]) -> list[str]:
    """Return these names and all that they need, each once."""
    found: dict[str, None] = {}
    waiting = wanted[::-1]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += needs.get(name, [])
    return list(found)


class _Makefile(msgspec.Struct):
    """Variables, rules and the command lines that every run of make runs."""

    values: dict[str, str]
    given: Collection[str]
    needs: dict[str, list[str]] = {}
    lines: dict[str, list[str]] = {}
    always: list[str] = []
    goal: str = ""
    targets: list[str] = []
    """The targets that the recipe lines here belong to."""

    def read_line(self, line: str) -> None:
        """Read a rule, a line of its recipe or an assignment."""
        if line[:1] == "\t" and self.targets:
            for one in self.targets:
                self.lines[one].append(line[1:])
            return
        setting, rule = _ASSIGNMENT.fullmatch(line.strip()), _RULE.fullmatch(line)
        if setting is not None:
            if setting[1] not in self.given:
                self.assign(setting[1], setting[2], setting[3])
        elif rule is not None:
            self.targets = self.expand(rule[1], {}).split()
            needs = [one for one in self.expand(rule[2], {}).split() if one != "|"]
            for one in self.targets:
                self.needs.setdefault(one, []).extend(needs)
                self.lines.setdefault(one, []).extend([rule[3]] if rule[3] else [])
                self.goal = self.goal or ("" if one[:1] == "." or "%" in one else one)
        elif line.strip() and not _CONDITIONAL.match(line):
            raise _Unread

    def expand(self, text: str, own: Mapping[str, str], depth: int = 0) -> str:
        """Return a text with its references replaced."""
        if depth > 10 or len(text) > MAX_FILE:
            raise _Unread

        def value(found: re.Match[str]) -> str:
            name = found[1] or found[2] or found[3]
            if name is None:
                return "$"
            command, blank, rest = name.partition(" ")
            if command == "shell" and blank:
                self.always.append(self.expand(rest, own, depth + 1))
                return UNKNOWN
            if name in own:
                return own[name]
            if name in ("MAKE", "@D", "<D", "CURDIR"):
                return "make" if name == "MAKE" else "."
            known = self.values.get(name)
            return UNKNOWN if known is None else self.expand(known, own, depth + 1)

        return _REFERENCE.sub(value, text)

    def assign(self, name: str, sign: str, text: str) -> None:
        """Set a variable; one that has several values, or stands in a conditional, is not known."""
        if name in _RUNS_MAKE and text.strip() not in _PLAIN_TOOLS:
            raise _Unread
        if sign == "!=":
            self.always.append(self.expand(text, {}))
            text = f"${UNKNOWN}"
        elif sign == "+=":
            text = f"{self.values.get(name, '')} {text}".strip()
        elif name in self.values and self.values[name] != text:
            text = self.values[name] if sign == "?=" else f"${UNKNOWN}"
        self.values[name] = text


def _make_tasks(
    folder: str, path: str, text: str, names: tuple[str, ...], settings: Mapping[str, str]
) -> tuple[TaskLine, ...] | None:
    """Return what every make of this file runs, and the recipes of these targets and of those they need."""
    if _CHANGES_MAKE.search(text):
        raise _Unread
    made = _Makefile(dict(settings), dict(settings).keys())
    for line in _logical_lines(text):
        made.read_line(line)
    every = _with_needs(list(names) or [made.values.get(".DEFAULT_GOAL", made.goal)], made.needs)
    lines = [*_recipes(made, every)]
    if len(lines) > MAX_LINES:
        raise _Unread
    return tuple(TaskLine(one, folder, path) for one in dict.fromkeys((*made.always, *lines)))


def _recipes(made: _Makefile, targets: list[str]) -> Iterator[str]:
    """Yield the expanded recipe lines of these targets, and of pattern rules, any of which may apply."""
    patterns = [one for one in made.lines if "%" in one or (one[:1] == "." and one.count(".") == 2)]
    for target in (*targets, *patterns):
        own = {
            "@": target,
            "*": UNKNOWN,
            "?": UNKNOWN,
            "^": " ".join(made.needs.get(target, [])),
            "+": UNKNOWN,
        }
        own["<"] = (made.needs.get(target) or [UNKNOWN])[0]
        for line in made.lines.get(target, []):
            yield made.expand(line, own).replace("%", UNKNOWN).strip().lstrip("@-+ \t")


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; outside of recipes, those that a backslash joins are one."""
    joined = ""
    for line in text.splitlines():
        joined = f"{joined}\n{line}" if joined else line
        if not line.endswith("\\"):
            recipe = joined[:1] == "\t"
            yield joined if recipe else re.sub(r"\\\n\s*", " ", re.sub(r"(?<!\\)#.*", "", joined))
            joined = ""
    if joined:
        raise _Unread
