"""The command `sayso`: what every command shares, and how errors end it."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from sayso.cli.front import COMMANDS, EPILOG, HELP, find_command, list_sections
from sayso.cli.policy_choice import ApprovalOption, set_global_approval

USAGE, FAILURE = 2, 1

app: typer.Typer
"""All commands; made when it is asked for."""


def __getattr__(name: str) -> typer.Typer:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_command_line()


class SectionedCommands(TyperGroup):
    """The commands, listed under the headings of the front page."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, rows in list_sections():
            with formatter.section(title):
                formatter.write_dl(rows)


def make_command_line(only: str | None = None) -> typer.Typer:
    """The program with all of its commands, or with one."""
    made = typer.Typer(
        name="sayso",
        cls=SectionedCommands,
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog=EPILOG,
    )
    made.callback()(sayso_root)
    for one in COMMANDS:
        if only not in (None, one.name):
            continue
        found = getattr(import_module(f"sayso.cli.{one.module}"), one.attribute)
        if one.group:
            made.add_typer(found, name=one.name, short_help=one.help)
        else:
            made.command(one.name, short_help=one.help)(found)
    return made


def _version(wanted: bool) -> None:
    if wanted:
        from sayso import __version__

        typer.echo(f"sayso {__version__}")
        raise typer.Exit


def sayso_root(
    approval: ApprovalOption = None,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    set_global_approval(approval)


def run_command() -> None:
    """Run one command. Whatever goes wrong ends with a sentence and a code that is not 0."""
    from sayso.core.errors import MalformedRequest, SaysoError, UnknownAnswer

    if sys.stdout is None:
        sys.exit(FAILURE)  # nobody would see the answer
    try:
        make_command_line(find_command(sys.argv[1:]))()
    except (MalformedRequest, UnknownAnswer) as error:
        _fail(error.message, error.hint, USAGE)
    except SaysoError as error:
        _fail(error.message, error.hint, FAILURE)
    except KeyboardInterrupt:
        _fail("interrupted", None, FAILURE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILURE)
    except Exception as error:
        if os.environ.get("SAYSO_DEBUG"):
            raise
        hint = "this is a fault of Sayso; run again with SAYSO_DEBUG=1 to see where"
        _fail(f"unexpected {type(error).__name__}: {error}", hint, FAILURE)


def _fail(message: str, hint: str | None, code: int) -> None:
    from sayso.cli.views.wrapping import width_of, wrap_line

    text, width = f"sayso: {message}" + (f"\n  hint: {hint}" if hint else ""), width_of(sys.stderr)
    for line in text.split("\n"):
        for piece in wrap_line(line, width):
            typer.echo(piece, err=True)
    sys.exit(code)
