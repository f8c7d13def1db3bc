"""Holders: the name under which this process holds calls and sessions; no other process has it.

A session that nobody opened by name belongs to the process that needed it. When that process is gone, the
program that comes after it on the same machine may go on with what it left.
"""

from __future__ import annotations

import os
import secrets
import socket

PROGRAM = "python"
"""The owner of sessions that a program opened without saying whose they are."""


def name_holder() -> str:
    """A name for a holder in this process, unlike that of any other."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def has_left(holder: str) -> bool:
    """Return whether this holder's process, on this machine, is gone. In doubt it is still there."""
    host, _, rest = holder.partition(":")
    number, _, mark = rest.partition(":")
    if host != socket.gethostname() or not (number.isascii() and number.isdigit() and mark):
        return False
    return int(number) == os.getpid() or not _runs(int(number))


def _runs(number: int) -> bool:
    if os.name != "posix":  # elsewhere, asking would end it
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
