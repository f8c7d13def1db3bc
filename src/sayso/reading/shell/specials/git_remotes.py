"""The remotes that a repository has configured, and whether fetching from them is all that a fetch does."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.specials.git_config import READING_HOOKS, find_running_key, read_own_keys

_HOOKS = (*READING_HOOKS, "pre-auto-gc", "reference-transaction")
"""The hooks that a fetch runs, and the tidying after it."""
_ADDRESS = lazy_pattern(r"(?:https?|ssh|git)://[\w.@~:/%+-]+|(?:[\w.-]+@)?[\w.-]+:(?!:)[\w.~/+-]+")
"""An address of another machine: no path, and nothing with `::`, which names a program."""
PLAIN_OPTIONS = frozenset(
    {"--all", "-a", "--atomic", "--depth", "--deepen", "-n", "-t", "-p", "-j", "-q", "-v", "--progress", "-4",
     "-6", "--no-progress", "--dry-run", "--unshallow", "--no-recurse-submodules", "-b", "-h", "--refs"}
)  # fmt: skip
"""Options of a fetch that neither change more than what is fetched nor go elsewhere."""
_RUNS = "gc.recentobjectshook"
_BY_REMOTE = frozenset({"fetch", "ls-remote", "remote"})
"""Subcommands whose first operand is a remote by its name, before it may be an address or a folder."""


def fetches_as_configured(folder: str, workspace: str, subcommand: str, operands: Sequence[str]) -> bool:
    """Return whether a fetch in this folder goes to configured remotes, and nothing configured runs with it.

    The repository is one of the workspace. The first operand is the remote; without one it is any that the
    configuration says.
    """
    found = read_own_keys(folder) if subcommand in _BY_REMOTE else None
    if found is None or find_running_key(folder, hooks=_HOOKS) is not None:
        return False
    tree, keys = found
    if not f"{tree}/".startswith(f"{workspace.rstrip('/')}/"):
        return False
    remotes = {_name(key) for key, _ in keys if key.startswith("remote.") and key.endswith(".url")}
    meant = {value for key, value in keys if key.startswith("branch.") and key.endswith(".remote")}
    asked = {operands[0]} if operands else {"origin", *meant}
    plain = all(_ADDRESS.fullmatch(value) for key, value in keys if key.endswith(".url"))
    return asked <= remotes and plain and all(key != _RUNS for key, _ in keys)


def _name(key: str) -> str:
    return key.removeprefix("remote.").removesuffix(".url")
