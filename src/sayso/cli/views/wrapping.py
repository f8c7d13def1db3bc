"""Lines at the width of the terminal, broken between words; what goes to a program is left as it is.

They are printed as typer prints them, which is loaded only for lines and streams that need its care.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

DEEPER = " " * 6
"""How far a line goes in where it is continued: deeper than any line of ours begins."""
NARROWEST = 20


def width_of(stream: TextIO) -> int | None:
    """Return the width for lines: the terminal's; else, for lists, that of COLUMNS; else None."""
    asked = stream is sys.stdout is not sys.stderr and os.environ.get("COLUMNS")
    if not stream.isatty() and not asked:
        return None
    import shutil

    return max(shutil.get_terminal_size().columns, NARROWEST)


def echo_wrapped(lines: Iterable[str]) -> None:
    """Print a list for people. It holds words of others, so nothing in it begins a line of its own."""
    width = width_of(sys.stdout)
    for line in lines:
        for piece in wrap_line(line, width, foreign=True):
            print_line(piece)


def echo_line(line: str) -> None:
    """Print a line of our own. A path or an address in it stays whole."""
    for piece in wrap_line(line, width_of(sys.stdout)):
        print_line(piece)


def wrap_line(line: str, width: int | None, *, foreign: bool = False) -> list[str]:
    """The line in pieces of this width. A longer word stays whole, so that it can be copied.

    In a list that holds `foreign` text it is broken: nothing an agent writes begins a line of its own.
    """
    if width is None or len(line) <= width:
        return [line]
    import textwrap

    indent = line[: len(line) - len(line.lstrip(" "))]
    pieces = textwrap.wrap(
        line,
        width,
        subsequent_indent=indent + DEEPER,
        break_long_words=foreign,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
    return pieces or [line]


def print_line(text: str, *, err: bool = False) -> None:
    """Print a line, and flush it. Typer strips escapes for what is no terminal, and mends odd encodings."""
    stream = sys.stderr if err else sys.stdout
    if "\x1b" in text or sys.platform == "win32" or not _writes_utf8(stream):
        import typer

        typer.echo(text, err=err)
        return
    stream.write(f"{text}\n")
    stream.flush()


def _writes_utf8(stream: object) -> bool:
    return str(getattr(stream, "encoding", None)).lower() == "utf-8"
