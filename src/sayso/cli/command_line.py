"""The whole command line as typer has it: what every command shares, and the commands themselves."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from sayso.cli.front import COMMANDS, EPILOG, HELP, list_sections
from sayso.cli.options import ApprovalOption
from sayso.cli.policy_choice import set_global_approval


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
