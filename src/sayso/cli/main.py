"""The command `sayso`: it is run without typer where it can be, and errors end it with a sentence."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sayso.cli.front import find_command
from sayso.cli.quick import find_quick_run

if TYPE_CHECKING:
    import typer

USAGE, FAILURE = 2, 1

app: typer.Typer
"""All commands; made when it is asked for."""


def __getattr__(name: str) -> typer.Typer:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sayso.cli.command_line import make_command_line

    return make_command_line()


def run_command() -> None:
    """Run one command. Whatever goes wrong ends with a sentence and a code that is not 0."""
    from sayso.core.errors import MalformedRequest, SaysoError, UnknownAnswer

    if sys.stdout is None:
        sys.exit(FAILURE)  # nobody would see the answer
    try:
        _run(sys.argv[1:])
    except (MalformedRequest, UnknownAnswer) as error:
        _fail(error.message, error.hint, USAGE)
    except SaysoError as error:
        _fail(error.message, error.hint, FAILURE)
    except KeyboardInterrupt:
        _fail("interrupted", None, FAILURE)
    except BrokenPipeError:
        _drop_unread()
        sys.exit(FAILURE)
    except Exception as error:
        if os.environ.get("SAYSO_DEBUG"):
            raise
        hint = "this is a fault of Sayso; run again with SAYSO_DEBUG=1 to see where"
        _fail(f"unexpected {type(error).__name__}: {error}", hint, FAILURE)


def _run(words: Sequence[str]) -> None:
    quick = find_quick_run(words)
    if quick is not None:
        sys.exit(quick())
    from sayso.cli.command_line import make_command_line

    command_line = make_command_line(find_command(words))
    if not gc.isenabled():
        gc.freeze()  # what is loaded by now stays
        gc.enable()
    command_line()


def _drop_unread() -> None:
    """Drop what nobody reads any more, so that the end of the process does not fail on it once more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, ValueError, AttributeError):
            pass  # full, closed or not there: that is not about readers


def _fail(message: str, hint: str | None, code: int) -> None:
    from sayso.cli.views.wrapping import print_line, width_of, wrap_line

    text, width = f"sayso: {message}" + (f"\n  hint: {hint}" if hint else ""), width_of(sys.stderr)
    try:
        for line in text.split("\n"):
            for piece in wrap_line(line, width):
                print_line(piece, err=True)
    except BrokenPipeError:
        _drop_unread()
    sys.exit(code)
