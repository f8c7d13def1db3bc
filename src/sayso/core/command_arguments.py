"""Names that limit what a policy may say of command lines.

Arguments beside one that decide what it does, and operations whose reading may be accepted.
"""

from __future__ import annotations

NEVER_HARMLESS = frozenset(
    {
        "args", "arguments", "argv", "binary", "cd", "chdir", "chroot", "container", "cwd",
        "dangerouslydisablesandbox", "dir", "directory", "dirpath", "env", "environ", "environment",
        "environmentvariables", "environmentvars", "envs", "envvars", "executable", "file", "files", "folder",
        "folderpath", "host", "hostname", "image", "init", "input", "inputs", "interpreter", "machine",
        "path", "permissions", "prelude", "privileged", "profile", "program", "pwd", "rcfile", "remote",
        "root", "runas", "sandbox", "sandboxed", "script", "shell", "standardinput", "stdin", "stdinput",
        "sudo", "target", "uid", "umask", "unsandboxed", "user", "userid", "username", "variables", "vars",
        "wd", "workdir", "workingdir", "workingdirectory", "workingfolder",
    }
)  # fmt: skip
"""Arguments that decide what a command does, or to what, as their names are written in lower case."""


def fold_argument(name: str) -> str:
    """Return an argument's name as it is compared: `workingDirectory` and `working_directory` are one."""
    return name.casefold().replace("_", "").replace("-", "")


_NAMED = frozenset({"git.fetch", "gh.pr_diff"})
"""Reads of a remote whose reading may be accepted. A positive list: what is not recognised is not on it."""
_LOOKS = frozenset({"describe", "get", "info", "list", "ls", "search", "show", "status", "view"})
"""Last words of single programs' operations that only look at something far away, such as `gh.pr_view`."""
_GENERAL = frozenset(
    {"build", "containers", "database", "files", "git", "lint", "network", "packages", "pr", "remote",
     "scripts", "secrets", "self_modification", "shell", "system", "tests", "tools"}
)  # fmt: skip
"""Domains of what many programs do, and of what is local: no looking word says enough there."""
_TELLING = ("auth", "credential", "key", "login", "pass", "secret", "state", "token")
"""Parts of the names of what may show a secret."""


def may_be_accepted(operation: str) -> bool:
    """Return whether a policy may accept a reading of this operation.

    It neither changes, deletes, sends nor runs anything, and shows no secret. What stands for many programs,
    or for this machine (`remote.read`, `network.fetch`, `files.read`), may not be accepted.
    """
    if operation in _NAMED:
        return True
    domain, _, action = operation.partition(".")
    told = any(part in operation for part in _TELLING)
    return domain not in _GENERAL and not told and action.rpartition("_")[2] in _LOOKS
