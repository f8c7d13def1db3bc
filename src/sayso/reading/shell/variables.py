"""Variables that a line sets: for one command, or for all that follow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import Simple, Word
from sayso.reading.shell.programs.known import default_effect, named_set
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.words import Value

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_RISKY = lazy_pattern(
    r"(?:LD|DYLD|GIT|BASH|PYTHON|PERL|RUBY|GEM|BUNDLE|NODE|NPM|YARN|JAVA|JDK|MAVEN|GRADLE|GO|CARGO|RUST|LESS|MAN|FZF"
    r"|RIPGREP|GREP|TAR|ZIP|UNZIP|GZIP|XZ|BZIP|SSH|GPG|PG|MYSQL|DOCKER|KUBE|HELM|AWS|AZURE|SYSTEMD|SUDO|DBUS"
    r"|OPENSSL|PHP|LUA|MYPY|PYLINT|SQLITE|DENO|BUN|COMPOSER|DEBUGINFOD|XDG|TERM|PS|FD|BAT|DELTA|PYTEST|PIP|UV|RUFF|MAKE|CMAKE|CC|CXX|ANSIBLE|TF|SAYSO|CLAUDE|CODEX|GEMINI|COLUMNS_CMD)"
    r"(?:_?[A-Z0-9_]*)"
    r"|npm_.*|.*_(?:OPTIONS|OPTS|COMMAND|CMD|PATH|PAGER|EDITOR|HOME|CONFIG|CONFIG_.*|FLAGS|ARGS|PRELOAD|WRAPPER|PROXY|proxy)"
    r"|.*(?:CONF|RC)|.*(?:_|^)(?:PROGRAM|EXEC|SHELL|HOOKS?|STARTUP|INIT|RC|LIB|LIBRARY|PLUGINS?|LOADER)"
)

_SECRET_NAME = lazy_pattern(
    r"\$\{?!?([A-Z0-9_]*(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|PRIVATE_KEY|ACCESS_KEY)[A-Z0-9_]*)"
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name holds a secret."""
    return _SECRET_NAME.fullmatch(f"${name}") is not None


def judge_secret_names(judge: Judge, word: Word, state: ShellState) -> None:
    """A word that shows a variable which holds a secret, unless this line itself set it."""
    for match in _SECRET_NAME.finditer(word.text):
        known = state.variables.get(match[1])
        if known is None or (known.text is None and not known.choices):
            why = f"it shows {match[1][:60]}, which holds a secret"
            judge.record("secrets.read", Risk.HIGH, why, word.start, word.end)


def is_risky(name: str) -> bool:
    """Return whether programs or the shell itself go by this variable."""
    return name in named_set("variables") or (
        name not in named_set("harmless_variables") and _RISKY.fullmatch(name) is not None
    )


_MODULE_PATHS = frozenset({"PYTHONPATH", "NODE_PATH", "RUBYLIB"})


def _stays_inside(judge: Judge, value: Value, state: ShellState) -> bool:
    """Return whether every part of a search path lies in the workspace."""
    if value.text is None or value.wild or len(state.folders) != 1 or state.folders[0] is None:
        return False
    folder, workspace = state.folders[0], judge.where.workspace
    parts = [os.path.realpath(join_path(folder, one)) for one in value.text.split(":")]
    return bool(workspace) and all(f"{one}/".startswith(f"{workspace}/") for one in parts)


def judge_assignments(judge: Judge, command: Simple, state: ShellState) -> ShellState:
    """Judge assignments; those before a command count for it alone, others from here on."""
    target = state.copy() if command.words else state
    for one in command.assignments:
        for inner in one.inner:
            judge.value(inner, state)
        value = Value(None) if one.value is None else judge.value(one.value, state)
        if one.name in _MODULE_PATHS and command.words and _stays_inside(judge, value, state):
            judge.record(
                "scripts.run", Risk.MODERATE, "runs code of the workspace", command.start, command.end
            )
        elif is_risky(one.name):
            judge.doubt(f"it sets {one.name}, which programs go by", command.start, command.end)
            if not command.words:
                state.changed = f"an earlier command sets {one.name}, which programs go by"
        elif value.odd is not None or any(judge.value(each, state).odd for each in one.inner):
            judge.doubt(value.odd or "an assignment is not understood", command.start, command.end)
        elif not command.words:
            target.variables[one.name] = value
            judge.effect(default_effect("shell.inspect"), command.start, command.end)
        elif one.name not in named_set("harmless_variables") and command.words[0].value not in named_set(
            "plain_programs"
        ):
            judge.effect(default_effect("shell.variables"), command.start, command.end)
        # Words after `X=1` do not see X: the shell expands them before it sets it.
        if one.name == "HOME":
            judge.record("shell.run", Risk.HIGH, "it sets HOME", command.start, command.end)
    return target if not command.words else state
