"""The state of the shell between commands: its folder, variables, functions, and what has been changed.

- A folder is a row of candidates: after `cd x; ls` the listing runs in x, or, if that failed, where it was.
- Commands in a shell of their own (pipes, parentheses, substitutions, `&`) work on a copy.
"""

from __future__ import annotations

import os
from copy import copy

import msgspec

from sayso.reading.shell.grammar.syntax import Function
from sayso.reading.shell.value import Value

MAX_FOLDERS = 4


def join_path(folder: str, path: str) -> str:
    """This path, seen from this folder."""
    return path if path.startswith("/") else f"{folder}/{path}"


class ChangedFiles(msgspec.Struct, gc=False):
    """The files that the line has changed so far, in whatever shell of it.

    What was looked at before the line runs does not hold for them: their content, and the names in a folder.
    """

    places: list[str] = []

    def copy(self) -> ChangedFiles:
        """The changes so far, whatever comes after."""
        return ChangedFiles(list(self.places))

    def add(self, path: str | None) -> None:
        """Note a change of this file, or folder with all that is in it; None: of whatever."""
        self.places.append("" if path is None else os.path.normpath(path).rstrip("/"))

    def may_include(self, path: str) -> bool:
        """Return whether this file may be another one by now, or this folder may hold others."""
        whole = f"{os.path.normpath(path).rstrip('/')}/"
        return any(whole.startswith(f"{one}/") or f"{one}/".startswith(whole) for one in self.places)


class ShellState(msgspec.Struct, gc=False):
    """One shell's state while a line is judged."""

    folders: tuple[str | None, ...]
    home: str
    changes: ChangedFiles = msgspec.field(default_factory=ChangedFiles)
    variables: dict[str, Value] = {}
    functions: dict[str, Function] = {}
    input: Value | None = None
    """What stands on the standard input, where a pipe brings it."""
    changed: str | None = None
    """What an earlier command did that may change what later ones mean."""
    linked: bool = False
    """It may have come here by a link, and `..` leads back along it."""
    previous: tuple[str | None, ...] | None = None
    """Where it was before it went here, if it did: `cd -` leads back."""
    arguments: tuple[Value, ...] | None = None
    """What `$@` stands for, where it is known."""
    may_be_zsh: bool = True
    bins: bool = False
    """Programs of the project come before others of their name, as in its own scripts."""
    assigned: list[str] = []
    """The name of each variable that was set so far, in whatever shell of the line."""

    def is_private(self, folder: str | None) -> bool:
        """Return whether a folder is, holds or belongs to what programs keep for the user; in doubt, yes."""
        if folder is None or not self.home:
            return True
        return f"{self.home}/".startswith(f"{folder}/") or folder.startswith(f"{self.home}/.")

    def copy(self) -> ShellState:
        """Return the state of a shell that begins here."""
        made = copy(self)
        made.variables, made.functions = self.variables.copy(), self.functions.copy()
        return made

    def merge(self, other: ShellState) -> None:
        """Make this the state after either of two ways: where they differ, nothing is known."""
        self.add_folders(other.folders)
        if self.variables != other.variables:
            for name in self.variables.keys() | other.variables.keys():
                if self.variables.get(name) != other.variables.get(name):
                    self._lose(name, other.variables.get(name))
        if self.functions != other.functions:
            self.functions.update(other.functions)
            self.changed = self.changed or "a function may be defined by now, or not"
        self.changed = self.changed or other.changed
        self.linked = self.linked or other.linked
        self.previous = self.previous if self.previous == other.previous else None

    def begin_script(
        self, arguments: tuple[Value, ...], folder: str | None = None, path: str | None = None
    ) -> ShellState:
        """Return the state of a new shell that runs the script at this path with these arguments."""
        made = ShellState(self.folders if folder is None else (folder,), self.home, self.changes)
        made.input, made.assigned, made.linked = self.input, self.assigned, self.linked
        made.bind(arguments)
        made.may_be_zsh = self.may_be_zsh and path is None and folder is None
        if path is not None:
            made.variables["0"] = made.variables["BASH_SOURCE"] = Value(path)
        return made

    def bind(self, arguments: tuple[Value, ...] | None) -> None:
        """Set the positional parameters; None if they are not known."""
        self.arguments = arguments
        for place in range(1, 10):
            self.variables.pop(str(place), None)
        for place, one in enumerate((arguments or ())[:9], 1):
            self.variables[str(place)] = one

    def assign(self, name: str, value: Value) -> None:
        """Set a variable."""
        self.assigned.append(name)
        self.variables[name] = value

    def forget(self, name: str) -> None:
        """Set a variable to a value that is not known."""
        self.assigned.append(name)
        self._lose(name)

    def forget_since(self, mark: int) -> None:
        """Forget each variable that was set since then, in whatever order."""
        for name in dict.fromkeys(self.assigned[mark:]):
            self._lose(name)

    def _lose(self, name: str, other: Value | None = None) -> None:
        """Keep of a variable only how the commands are written that may make its value."""
        known = [one.source for one in (other, self.variables.get(name)) if one is not None and one.source]
        self.variables[name] = Value(None, source=known[0] if known else "")

    def add_folders(self, folders: tuple[str | None, ...]) -> None:
        """The shell may be in any of these as well."""
        every = tuple(dict.fromkeys((*self.folders, *folders)))
        self.folders = every if len(every) <= MAX_FOLDERS else (None,)
