"""Commands that programs run often, started without typer where their arguments are plain.

- Only what typer would read in the same way is read here. Everything else is left to typer: help, completion
  and every mistake, so that its words and exit codes stay the same.
- A test compares this table with the options of the commands, and what both read from the same words.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sayso.cli import INTERRUPTED
from sayso.cli.front import find_command


class QuickCommand(NamedTuple):
    """A command's function and what it is given, by the names of its parameters."""

    function: str
    arguments: tuple[str, ...]
    options: Mapping[str, str]
    flags: Mapping[str, str]
    variables: Mapping[str, str]
    """The environment variables that stand in for options."""


def _deciding_command(function: str) -> QuickCommand:
    names = ("tool", "args", "session", "store", "policy", "preset", "approval")
    return QuickCommand(
        function,
        arguments=("domain", "action", "confidence"),
        options={f"--{name}": name for name in names},
        flags={"--json": "as_json"},
        variables={"SAYSO_STORE": "store"},
    )


QUICK = {"check": _deciding_command("check_and_print"), "explain": _deciding_command("explain_and_print")}


def find_quick_run(words: Sequence[str]) -> Callable[[], int] | None:
    """What runs this command and returns its exit code; None if it takes typer."""
    command = QUICK.get(find_command(words) or "")
    given = None if command is None or os.name == "nt" else read_plainly(command, words[1:])
    if command is None or given is None:
        return None
    return lambda: _run(command, given)


def read_plainly(command: QuickCommand, words: Sequence[str]) -> dict[str, Any] | None:
    """The parameters that are given, by name; None if anything about the words is not plain."""
    given: dict[str, Any] = {}
    places, rest = iter(command.arguments), iter(words)
    for word in rest:
        option, joined, value = word.partition("=")
        if not word.startswith("-"):
            name, value = next(places, None), word
        elif word in command.flags:
            name, value = command.flags[word], ""
        elif option in command.options:
            name, value = command.options[option], value if joined else next(rest, "-")
        else:
            return None
        if name is None or name in given or value.startswith("-"):
            return None
        given[name] = value if word not in command.flags else True
    found = {name: os.environ.get(variable, "") for variable, name in command.variables.items()}
    return {name: value for name, value in found.items() if value} | given


def _run(command: QuickCommand, given: Mapping[str, Any]) -> int:
    try:
        from sayso.cli import checking
        from sayso.cli.policy_choice import set_global_approval

        set_global_approval(None)
        run: Callable[[checking.CheckArguments], int] = getattr(checking, command.function)
        return run(checking.CheckArguments(**given))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
