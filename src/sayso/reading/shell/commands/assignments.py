"""Variables that a line sets: for one command, or for all that follow."""

from __future__ import annotations

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.places import locate
from sayso.reading.shell.files.mentions import judge_mentions
from sayso.reading.shell.grammar.syntax import Assignment, Compound, Simple, Word
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.known import default_effect, named_set
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import MAX_CHOICES, Value

_RISKY = lazy_pattern(
    r"(?:LD|DYLD|GIT|BASH|PYTHON|PERL|RUBY|GEM|BUNDLE|NODE|NPM|YARN|JAVA|JDK|MAVEN|GRADLE|GO|CARGO|RUST|LESS|MAN|FZF"
    r"|RIPGREP|GREP|TAR|ZIP|UNZIP|GZIP|XZ|BZIP|SSH|GPG|PG|MYSQL|DOCKER|KUBE|HELM|AWS|AZURE|SYSTEMD|SUDO|DBUS"
    r"|OPENSSL|PHP|LUA|MYPY|PYLINT|SQLITE|DENO|BUN|COMPOSER|DEBUGINFOD|XDG|TERM|PS|FD|BAT|DELTA|PYTEST|PIP|UV|RUFF|MAKE|CMAKE|CC|CXX|ANSIBLE|TF|SAYSO|CLAUDE|CODEX|GEMINI|COLUMNS_CMD)"
    r"(?:_?[A-Z0-9_]*)"
    r"|npm_.*|.*_(?:OPTIONS|OPTS|COMMAND|CMD|PATH|PAGER|EDITOR|HOME|CONFIG|CONFIG_.*|FLAGS|ARGS|PRELOAD|WRAPPER|PROXY|proxy)"
    r"|.*(?:CONF|RC)|.*(?:_|^)(?:PROGRAM|EXEC|SHELL|HOOKS?|STARTUP|INIT|RC|LIB|LIBRARY|PLUGINS?|LOADER)"
)

_HOOK = lazy_pattern(
    r"TRAP[A-Z0-9]+|chpwd|precmd|preexec|periodic|zshexit|zshaddhistory|zsh_\w+|command_not_found_handler?"
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


def is_hook(name: str) -> bool:
    """Return whether a shell calls a function of this name by itself."""
    return _HOOK.fullmatch(name) is not None


def is_risky(name: str, state: ShellState | None = None) -> bool:
    """Return whether programs or the shell itself go by this variable."""
    if (state is None or state.may_be_zsh) and name in named_set("zsh_variables"):
        return True
    return name in named_set("variables") or (
        name not in named_set("harmless_variables") and _RISKY.fullmatch(name) is not None
    )


_MODULE_PATHS = frozenset({"PYTHONPATH", "NODE_PATH", "RUBYLIB"})
_PAGERS = frozenset({"PAGER", "GIT_PAGER", "MANPAGER", "GH_PAGER", "AWS_PAGER", "SYSTEMD_PAGER", "BAT_PAGER"})


def is_project_setting(judge: Judge, name: str, value: str | None, state: ShellState) -> bool:
    """`PYTHONPATH=src`: code that the workspace holds; `PAGER=cat`: no pager at all."""
    if value is None or name not in _MODULE_PATHS:
        return name in _PAGERS and value in ("cat", "")
    where = judge.where
    return all(
        folder is not None
        and (
            judge.quick.find_inside(part or ".", folder) is not None
            or locate(part or ".", folder=folder, workspace=where.workspace, home=where.home).inside
        )
        for part in value.split(":")
        for folder in state.folders
    )


def _record_setting(judge: Judge, name: str, command: Simple) -> None:
    if name in _PAGERS or name == "IFS":
        judge.effect(default_effect("shell.inspect"), command.start, command.end)
    else:
        judge.record("build.run", Risk.MODERATE, "goes by code of the workspace", command.start, command.end)


def judge_assignments(
    judge: Judge, one: Assignment, value: Value, inner: list[Value], command: Simple, state: ShellState
) -> None:
    """Judge an assignment: before a command it counts for that alone, else from here on."""
    name, start, end = one.name, command.start, command.end
    is_setting = is_project_setting(judge, name, value.text, state)
    if (is_setting or _only_splits_a_line(name, command, value, state)) and not value.wild:
        _record_setting(judge, name, command)
    elif is_risky(name, state):
        judge.doubt(f"it sets {name}, which programs go by", start, end)
        if not command.words:
            state.changed = f"an earlier command sets {name}, which programs go by"
    elif value.odd is not None or any(each.odd for each in inner):
        judge.doubt(value.odd or "an assignment is not understood", start, end)
    elif not command.words:
        beyond = value.home or ":~" in (value.text or "")  # a tilde behind a colon is expanded as well
        state.assign(name, Value(None) if beyond else value)
        judge.effect(default_effect("shell.inspect"), start, end)
    elif name not in named_set("harmless_variables") and command.words[0].value not in named_set(
        "plain_programs"
    ):
        judge.effect(default_effect("shell.variables"), start, end)
    if name == "HOME":
        judge.record("shell.run", Risk.HIGH, "it sets HOME", start, end)


def _only_splits_a_line(name: str, command: Simple, value: Value, state: ShellState) -> bool:
    """`IFS= read -r line`: for `read` alone it says how a line is split.

    Anything but nothing would cut a name that was looked at into names that were not.
    """
    if name != "IFS" or not command.words or command.words[0].value != "read" or "read" in state.functions:
        return False
    return value.text is not None and (not value.text or state.input is None or not state.input.vetted)


def set_loop_variable(judge: Judge, command: Compound, values: list[Value], state: ShellState) -> None:
    """The variable of a `for` is any of its words: each of them is looked at as a path would be."""
    name = command.variable or ""
    if is_risky(name, state):
        judge.doubt(f"it sets {name}, which other programs go by", command.start, command.end)
    if len(values) == 1 and values[0].text is not None and not values[0].wild:
        state.assign(name, values[0])
        return
    judge_mentions(judge, list(command.words), state)
    known = [each for value in values for each in value.choices or (value,)]
    if values and len(known) <= MAX_CHOICES and all(one.text is not None for one in known):
        state.assign(name, Value(None, vetted=True, choices=tuple(known)))
        return
    vetted = all(value.text is not None or value.vetted for value in values)
    starts = {(value.text or value.prefix)[:1] for value in values}
    dash = not values or not vetted or not starts.isdisjoint({"-", "", "*", "?", "["})
    source = " ".join(value.source for value in values if value.source)
    state.assign(name, Value(None, vetted=vetted, prefix="" if dash else "x", source=source))
