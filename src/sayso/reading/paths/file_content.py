"""The content of files that a reading looks into: plain files only, whole, and never more than a limit.

They lie where an agent may write. What is not a plain file, or is longer than the limit, is refused: whoever
judges by half of a file misses the other half.
"""

from __future__ import annotations

import os
import stat


def read_whole(path: str, limit: int) -> bytes:
    """Return the content of a plain file; ValueError if it is none or too long, OSError if it cannot be read.

    It is opened without waiting: a pipe that nobody writes to holds nobody up.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as file:  # noqa: PTH123
        found = os.fstat(file.fileno())
        content = file.read(limit + 1) if stat.S_ISREG(found.st_mode) and found.st_size <= limit else None
    if content is None or len(content) > limit:
        raise ValueError(f"{path} is not a plain file of at most {limit} bytes")
    return content
