"""Who gives a command."""

from __future__ import annotations

import os


def operator_name() -> str:
    """Who sits at this terminal, by the system's account and not by what the environment says."""
    if hasattr(os, "getuid"):
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return f"uid {os.getuid()}"
    return os.getlogin()
