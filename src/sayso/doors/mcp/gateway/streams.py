"""Lines on pipes, read and written without waiting."""

from __future__ import annotations

import os
import select
from contextlib import suppress

CHUNK = 65_536
AT_ONCE = 4_096
"""A pipe that is ready takes so many bytes without blocking."""


class TooLong:
    """In the place of a line that was longer than a line may be."""


class Lookout:
    """The watched lines, and the events each is watched for. Only changes reach the system."""

    def __init__(self) -> None:
        self._looked = select.poll()
        self._known: dict[int, int] = {}

    def wait(self, wanted: dict[int, int], seconds: float | None) -> list[int]:
        """Return the lines that something has happened on, after so many seconds at most."""
        if wanted != self._known:
            for fd in self._known.keys() - wanted.keys():
                self._looked.unregister(fd)
            for fd, events in wanted.items():
                if self._known.get(fd) != events:
                    self._looked.register(fd, events)
            self._known = wanted
        found = self._looked.poll(None if seconds is None else 1000 * seconds + 1)
        return [fd for fd, _ in found]


class LineReader:
    """The lines that come in, each with its end."""

    def __init__(self, fd: int, longest: int) -> None:
        self.fd, self._longest = fd, longest
        self._begun: list[bytes] = []
        self._size = 0
        self._skips = False

    def read(self) -> list[bytes | TooLong] | None:
        """Return the lines that are whole now; None at the end. A line without an end is not one."""
        try:
            part = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not part:
            return None
        *whole, rest = part.split(b"\n")
        lines = [found for piece in whole if (found := self._finish(piece)) is not None]
        self._grow(rest)
        return lines

    def _finish(self, piece: bytes) -> bytes | TooLong | None:
        self._grow(piece)
        line = b"".join(self._begun) + b"\n"
        skipped, self._skips = self._skips, False
        self._begun, self._size = [], 0
        return TooLong() if skipped else line

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            self._skips, self._begun = True, []
        elif not self._skips and piece:
            self._begun.append(piece)


class LineWriter:
    """Bytes on their way out. What nobody takes any more is dropped."""

    def __init__(self, fd: int, at_once: int = AT_ONCE) -> None:
        self.fd, self._at_once = fd, at_once
        self._left = bytearray()
        self._ends = self.is_broken = False
        self._looked = select.poll()
        self._looked.register(fd, select.POLLOUT)

    @property
    def size(self) -> int:
        return len(self._left)

    def put(self, line: bytes) -> None:
        if not (self._ends or self.is_broken):
            self._left += line
            self.flush()

    def flush(self) -> None:
        """Write as much as is taken now."""
        if self.fd < 0 or not (self._left or self._ends):
            return
        try:
            while self._left and self._looked.poll(0):
                del self._left[: os.write(self.fd, self._left[: self._at_once])]
        except BlockingIOError:
            return
        except OSError:
            self.is_broken = True
            self._left.clear()
        if self._ends and not self._left:
            self._close()

    def end(self) -> None:
        """Take no more, and close once everything is written."""
        if not self._ends:
            self._ends = True
            self.flush()

    def _close(self) -> None:
        self._ends, fd, self.fd = False, self.fd, -1
        self.is_broken = True
        with suppress(OSError):
            os.close(fd)
