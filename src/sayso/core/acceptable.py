"""The operations whose reading an operator may accept: those that only look at something far away.

A positive list, by name. What is on it neither changes, deletes, sends nor runs anything, and shows no
secret: `git.fetch`, and operations of single programs that end in a looking word, such as `gh.pr_view`. What
stands for many programs or for this machine (`remote.read`, `network.fetch`, `files.read`) is not on it.
"""

from __future__ import annotations

_NAMED = frozenset({"git.fetch", "gh.pr_diff"})
_LOOKS = frozenset({"describe", "get", "info", "list", "ls", "search", "show", "status", "view"})
_GENERAL = frozenset(
    {"build", "containers", "database", "files", "git", "lint", "network", "packages", "pr", "remote",
     "scripts", "secrets", "self_modification", "shell", "system", "tests", "tools"}
)  # fmt: skip
"""Domains of what many programs do, and of what is local: no looking word says enough there."""
_TELLING = ("auth", "credential", "key", "login", "pass", "secret", "state", "token")
"""Parts of the names of what may show a secret."""


def may_be_accepted(operation: str) -> bool:
    """Return whether a reading of this operation may be accepted. What is not recognised may not."""
    if operation in _NAMED:
        return True
    domain, _, action = operation.partition(".")
    told = any(part in operation for part in _TELLING)
    return domain not in _GENERAL and not told and action.rpartition("_")[2] in _LOOKS
