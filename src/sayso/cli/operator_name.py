"""The name of the operator who gives a command."""

from __future__ import annotations

import os


def terminal_identity() -> str:
    """Return the id of whoever gives a command: the account, as a team's policy names it."""
    return f"account:{operator_name()}"


def operator_name() -> str:
    """Return the name of the operating system's account, whatever the environment says."""
    if hasattr(os, "getuid"):
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return f"uid {os.getuid()}"
    return os.getlogin()
