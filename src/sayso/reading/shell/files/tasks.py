"""The command lines of a project's tasks: scripts of package.json and its kind, targets of make and just.

What is not known of a value is `$__unknown`, which a shell reading does not know either. A file with anything
in it that is not plainly read has no known tasks.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from graphlib import TopologicalSorter

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.file_content import read_whole

MAX_FILE = 200_000
MAX_LINES = 400
MAX_DEPTH = 10
UNKNOWN = "$__unknown"
_JSON_FILES = {"deno": ("deno.json", "tasks"), "composer": ("composer.json", "scripts")}
_PACKAGE = ("package.json", "scripts")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_ASSIGNMENT = lazy_pattern(r"(?:export +)?([\w.-]+)[ \t]*(\?=|\+=|!=|::?:?=|=)[ \t]*(.*)", re.DOTALL)
_RULE = lazy_pattern(r"([^:=#&]+?)[ \t]*::?(?!=)[ \t]*([^=;:&]*?)(?:;[ \t]*(.*))?", re.DOTALL)
_REFERENCE = lazy_pattern(r"\$(?:\$|\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\{([^{}]*)\}|(.))", re.DOTALL)
_CHANGES_MAKE = lazy_pattern(
    r"(?m)^ *(?:define|-?s?include|load|vpath|unexport|override)\b"
    r"|^ *(?:MAKE|(?:COMPILE|LINK|LEX|YACC)[.\w]*) *[:?+]*="
    r"|^ *export *(?:$|(?:LD|DYLD|GIT|BASH|ENV|SHELL|PATH|PYTHON|NODE|PERL|RUBY|SSH))"
    r"|^ *export +\w*(?:COMMAND|CMD|PAGER|EDITOR)\b"
    r"|\.(?:ONESHELL|RECIPEPREFIX|SECONDEXPANSION|DEFAULT(?!_GOAL)|POSIX|EXPORT_ALL_VARIABLES)\b"
    r"|^[^\t#=\n]*\b(?:GNUm|m|M)akefile\b[^=\n]*:"
    r"|\$[({](?:eval|call|file|guile)\b|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
)
"""Anything by which make reads the rest in another way, or makes its own file again."""
_SHELL_CALL = lazy_pattern(r"\$[({]shell[ \t]")
_CONDITIONAL = lazy_pattern(r" *(ifeq|ifneq|ifdef|ifndef|else|endif)\b")
_SUFFIXES = lazy_pattern(r"\.\w+(?:\.\w+)?")
_BUILT_IN = {"MAKE": "make", "CC": "cc", "CXX": "g++", "AR": "ar", "LD": "ld", "AS": "as", "RM": "rm -f"}
_CHANGES_NPM = lazy_pattern(r"script-shell|node-options|shell-emulator|ignore-scripts")
_RUNS_MAKE = frozenset(
    {"SHELL", ".SHELLFLAGS", "MAKEFLAGS", "PATH", "BASH_ENV", "ENV", "CC", "CXX", "LD", "AR", "AS", "RM"}
)
_PLAIN_TOOLS = frozenset(
    ["sh", "/bin/sh", "bash", "/bin/bash", "/usr/bin/env bash", "gcc", "g++", "clang", "clang++", "cc", "c++",
     "ld", "ar", "as"]
)  # fmt: skip
_JUST_LINE = lazy_pattern(r"@?([\w-]+)((?: +[*+]?[\w-]+(?:=\S+)?)*) *:((?: *[\w-]+)*) *(?:#.*)?")
_JUST_PLAIN = lazy_pattern(
    r"#.*|\[[\w-]+\]|[\w-]+ *:= *(?:'[^']*'|\"[^\"]*\"|[\w./-]+)|"
    r"|set +(?:dotenv-load|positional-arguments|quiet).*"
)


TASK_FILES = (*_MAKEFILES, *_JUSTFILES, "package.json", "deno.json", "composer.json", ".npmrc")


class TaskLine(msgspec.Struct, frozen=True):
    """A command line of a task, the folder that it runs in, and the file that it is written in."""

    text: str
    folder: str
    file: str


class _Unread(Exception):
    """A file of tasks is not understood."""


def find_tasks(
    runner: str,
    folder: str,
    names: tuple[str, ...],
    settings: Mapping[str, str],
    file: str | None = None,
    set_before: Collection[str] = (),
) -> tuple[TaskLine, ...] | None:
    """Return each command line that a runner may run for these names. None if they cannot be read.

    `settings` are those on make's command line, `set_before` the variables that its environment may have.
    Returns () if no file has such a task: the runner then runs nothing of the project, or a program.
    """
    try:
        if runner in ("make", "gmake"):
            found = _in_folder(folder, _MAKEFILES, file, above=False)
            return () if found is None else _make_tasks(*found, names, settings, set_before)
        if runner == "task":
            return None
        if runner == "just":
            found = _in_folder(folder, _JUSTFILES, file, above=True)
            return () if found is None else _just_tasks(*found, names)
        name, key = _JSON_FILES.get(runner, _PACKAGE)
        found = _in_folder(folder, (name,), file, above=True)
        settings_of_npm = None if runner == "deno" else _in_folder(folder, (".npmrc",), None, above=True)
        if settings_of_npm is not None and _CHANGES_NPM.search(settings_of_npm[2]):
            return None
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
    name = names[0] if names else ""
    main = [name] if name in scripts else {"restart": ["stop", "start"], "start": ["start"]}.get(name, [])
    if "start" in main and "start" not in scripts and os.path.lexists(f"{folder}/server.js"):
        raise _Unread
    found: list[TaskLine] = []
    for one in [f"{way}{each}" for each in main for way in ("pre", "", "post")]:
        lines = scripts.get(one, [])
        for line in [lines] if isinstance(lines, (str, dict)) else lines:
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
            if re.search(r"\{\{[^}]*[`(]", line):
                raise _Unread
            lines.append(re.sub(r"\{\{.*?\}\}", UNKNOWN, line.strip().lstrip("@-")))
        elif head is not None and "`" not in line:
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
    """Variables that the command line sets: what the file says of them does not count."""
    set_before: Collection[str]
    """Variables that the line may have put into the environment."""
    needs: dict[str, list[str]] = {}
    lines: dict[str, list[str]] = {}
    rules: Counter[str] = msgspec.field(default_factory=Counter)
    always: list[str] = []
    goal: str = ""
    targets: list[str] = []
    """The targets that the recipe lines here belong to."""
    depth: int = 0
    """Conditionals that this line stands in."""

    def read_line(self, line: str) -> None:
        """Read a rule, a line of its recipe, a conditional or an assignment."""
        setting, rule = _ASSIGNMENT.fullmatch(line.strip()), _RULE.fullmatch(line)
        if line[:1] == "\t":
            if not self.targets:
                raise _Unread
            for one in self.targets:
                self.lines[one].append(line[1:])
        elif found := _CONDITIONAL.match(line):
            self.depth += (found[1][:2] == "if") - (found[1] == "endif")
        elif setting is not None:
            self.targets = []
            if setting[1] not in self.given:
                self._assign(setting[1], setting[2], setting[3])
        elif rule is not None:
            self._begin_rule(rule)
        elif line.strip():
            raise _Unread

    def _begin_rule(self, rule: re.Match[str]) -> None:
        heads = self.expand(rule[1], {})
        if not set(":;=#&").isdisjoint(heads):
            raise _Unread
        self.targets = heads.split()
        for one in self.targets:
            self.rules[one] += 1 + ("|" in rule[2])
            self.needs.setdefault(one, []).extend(self.expand(rule[2], {}).replace("|", " ").split())
            self.lines.setdefault(one, []).extend([rule[3]] if rule[3] else [])
            self.goal = self.goal or ("" if one[:1] == "." or "%" in one else one)

    def _assign(self, name: str, sign: str, text: str) -> None:
        """Set a variable. One that has several values, or is set on a condition, is not known."""
        if name in _RUNS_MAKE and text.strip() not in _PLAIN_TOOLS:
            raise _Unread
        before = self.values.get(name)
        if sign == "!=":
            self.always.append(self.expand(text, {}))
            text = f"${UNKNOWN}"
        elif sign[-2:] == ":=":
            text = self.expand(text, {}).replace("$", "$$")
        elif sign == "+=":
            text = f"{self._value(name, before)} {text}"
        elif sign == "?=" and (before is not None or name in self.set_before):
            text = self._value(name, before)
        changed = sign == "=" and before not in (None, text)
        self.values[name] = f"${UNKNOWN}" if changed or self.depth else text

    def _value(self, name: str, known: str | None) -> str:
        if known is None:
            known = f"${UNKNOWN}" if name in self.set_before else _BUILT_IN.get(name, "")
        return known

    def expand(self, text: str, own: Mapping[str, str], depth: int = 0) -> str:
        """Return a text with its references replaced."""
        if depth > MAX_DEPTH or len(text) > MAX_FILE:
            raise _Unread
        return _REFERENCE.sub(lambda found: self._refer(found, own, depth), text)

    def _refer(self, found: re.Match[str], own: Mapping[str, str], depth: int) -> str:
        name = found[1] or found[2] or found[3]
        if name is None:
            return "$"
        command, blank, rest = name.replace("\t", " ").partition(" ")
        if blank:
            return self._call(command, self.expand(rest, own, depth + 1))
        base, colon, change = name.partition(":")
        value = own.get(base)
        if value is None:
            if base[:1] in "@<^+*?%|" or "$" in name:
                return UNKNOWN
            value = self.expand(self._value(base, self.values.get(base)), own, depth + 1)
        old, _, new = change.partition("=")
        return value if not colon else _substitute(old, new, value)

    def _call(self, function: str, rest: str) -> str:
        """Return what a function gives, of those that only name files; of others it is not known."""
        given = [one.strip() for one in rest.split(",", 2)]
        if function == "patsubst" and len(given) == 3:
            return _substitute(given[0], given[1], given[2])
        return " ".join(rest.split()) if function in ("wildcard", "strip") else UNKNOWN


def _substitute(old: str, new: str, text: str) -> str:
    """Return words with their ending replaced, or the part around the percent sign."""
    old, new = (old, new) if "%" in old else (f"%{old}", f"%{new}")
    fits = re.compile("(.*)".join(map(re.escape, old.split("%", 1))))
    changed = (
        new.replace("%", found[1], 1) if (found := fits.fullmatch(one)) is not None else one
        for one in text.split()
    )
    return UNKNOWN if UNKNOWN in text else " ".join(changed)


def _make_tasks(
    folder: str,
    path: str,
    text: str,
    names: tuple[str, ...],
    settings: Mapping[str, str],
    set_before: Collection[str],
) -> tuple[TaskLine, ...] | None:
    """Return what every make of this file runs, and the recipes of these targets and of those they need."""
    if _CHANGES_MAKE.search(text):
        raise _Unread
    made = _Makefile(dict(settings), dict(settings).keys(), set_before)
    for line in _logical_lines(text):
        made.read_line(line)
    first_needed = [*TopologicalSorter(made.needs).static_order()]  # ValueError if they go in a circle
    patterns = [one for one in made.lines if "%" in one or _SUFFIXES.fullmatch(one)]
    for one in patterns:  # any of them may apply, and so may the rule of what it needs
        fitting = [
            name for need in made.needs[one] for name in fnmatch.filter(made.lines, need.replace("%", "*"))
        ]
        made.needs[one] = [*made.needs[one], *fitting]
    goals = list(names) or made.expand(made.values.get(".DEFAULT_GOAL", made.goal), {}).split()
    if any(UNKNOWN in one for one in (*goals, *made.lines)):
        raise _Unread
    wanted = _with_needs([*goals, *patterns], made.needs)
    order = [one for one in first_needed if one in wanted]
    lines = [*_recipes(made, [*order, *(one for one in wanted if one not in order)], {*patterns})]
    made.always += [made.expand(one, {}) for one in _find_shell_calls(text)]
    if len(lines) > MAX_LINES:
        raise _Unread
    return tuple(TaskLine(one, folder, path) for one in dict.fromkeys((*made.always, *lines)) if one)


def _find_shell_calls(text: str) -> Iterator[str]:
    """Yield each command of `$(shell …)`, wherever it stands: some of them run in every make of the file."""
    for found in _SHELL_CALL.finditer(text):
        opening, depth = text[found.start() + 1], 1
        closing = ")" if opening == "(" else "}"
        for end in range(found.end(), len(text)):
            depth += (text[end] == opening) - (text[end] == closing)
            if depth == 0:
                yield text[found.end() : end].replace("\\\n", " ")
                break
        else:
            raise _Unread


def _recipes(made: _Makefile, targets: list[str], patterns: set[str]) -> Iterator[str]:
    """Yield the expanded recipe lines of these targets. A file that a pattern fits is called `x`."""
    for target in targets:
        needs = [one.replace("%", "x") for one in made.needs.get(target, [])]
        own = {"@": target.replace("%", "x")}
        if target in patterns and "%" in target:
            own |= {"<": needs[0] if needs else "x", "^": " ".join(needs), "*": "x"}
        elif made.rules[target] == 1 and target not in patterns:
            own |= {"<": needs[0] if needs else "", "^": " ".join(dict.fromkeys(needs)), "+": " ".join(needs)}
        for line in made.lines.get(target, []):
            yield made.expand(line, own).strip().lstrip("@-+ \t")


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; outside of recipes, those that a backslash joins are one."""
    joined = ""
    for line in text.split("\n"):
        joined = f"{joined}\n{line}" if joined else line
        if not line.endswith("\\"):
            if joined[:1] != "\t":
                if "\\#" in joined:
                    raise _Unread
                joined = re.sub(r"\s*\\\n\s*", " ", re.sub(r"(?s)#.*", "", joined))
            yield joined
            joined = ""
    if joined:
        raise _Unread
