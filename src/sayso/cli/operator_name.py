"""The name of the operator who gives a command."""

from __future__ import annotations

import os


def operator_name() -> str:
    """Return the name of the operating system's account, whatever the environment says."""
    if hasattr(os, "getuid"):
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return f"uid {os.getuid()}"
    return os.getlogin()
