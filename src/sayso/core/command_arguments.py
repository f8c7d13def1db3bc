"""Arguments beside a command line, by their names: which of them decide what it does."""

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
