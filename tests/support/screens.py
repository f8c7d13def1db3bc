"""A program on a real terminal of 80 by 24, and what stands on its screen (pyte keeps it)."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

PATIENCE = 180.0


class ScreenProgram:
    """A program whose terminal we are."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], columns: int = 80, lines: int = 24
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=dict(environ), start_new_session=True
        )
        os.close(slave)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def lines(self) -> list[str]:
        return list(self._screen.display)

    def colours(self) -> set[str]:
        """The colours on the screen, besides the terminal's own."""
        cells = (cell for row in self._screen.buffer.values() for cell in row.values())
        return {colour for cell in cells for colour in (cell.fg, cell.bg)} - {"default"}

    def wait_for(self, words: str) -> str:
        return self.wait_until(lambda text: words in text, words)

    def wait_until(self, true: Callable[[str], bool], what: str = "it") -> str:
        until = time.monotonic() + PATIENCE
        while not true(self.text):
            assert time.monotonic() < until, f"{what!r} did not come:\n{self.text}"
            self._read(0.2)
        return self.text

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Read until the program has ended; how."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < until, f"it did not end:\n{self.text}"
            self._read(0.1)
        seen = -1
        while seen < len(self.raw):  # what it said last may still be on its way to us
            seen = len(self.raw)
            self._read(0.0)
        return self.process.returncode

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._master)

    def _read(self, seconds: float) -> None:
        if not select.select([self._master], [], [], seconds)[0]:
            return
        try:
            told = os.read(self._master, 65536)
        except OSError:
            return
        self.raw += told
        self._stream.feed(told)
