"""Lines as typer prints them. It is loaded only for lines and streams that need its care."""

from __future__ import annotations

import sys


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
