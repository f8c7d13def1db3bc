"""What others build on, written down: the names of the package, the commands, HTTP, and the policy's schema.

`python -m tests.architecture.public_api` writes it again. Read each line that differs before you commit it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import typer.main
from typer.testing import CliRunner

import sayso
from sayso.cli.main import app
from sayso.policy.schema import schema_text
from sayso.service.app import DESCRIBED
from sayso.service.openapi import build_document

FOLDER = Path(__file__).parent / "public"
PLAIN = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}


def python_names() -> str:
    """Every public name with its parameters, and its public methods with theirs."""
    return "\n".join(line for name in sayso.__all__ for line in _describe(name, getattr(sayso, name))) + "\n"


def _describe(name: str, value: object) -> Iterator[str]:
    yield f"{name}{_signature(value)}"
    if not inspect.isclass(value):
        return
    for member, found in inspect.getmembers(value):
        if not member.startswith("_") and callable(found):
            yield f"  {name}.{member}{_signature(found)}"


def _signature(value: object) -> str:
    try:
        return re.sub(r" at 0x\w+", "", str(inspect.signature(value))) if callable(value) else ""
    except (TypeError, ValueError):
        return "(...)"


def command_help() -> str:
    """The help of every command, as a terminal of 80 columns shows it."""
    return "\n".join(_help(words) for words in _commands(typer.main.get_command(app), ()))


def _commands(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, (*words, name))


def _help(words: tuple[str, ...]) -> str:
    done = CliRunner(env=PLAIN).invoke(app, [*words, "--help"], terminal_width=80, prog_name="sayso")
    return f"$ {' '.join(('sayso', *words))} --help\n{done.stdout}"


def http_interface() -> str:
    described = build_document(DESCRIBED)
    described["info"]["version"] = "x"
    return json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


WRITTEN = {
    "python.txt": python_names,
    "commands.txt": command_help,
    "openapi.json": http_interface,
    "policy-schema.json": schema_text,
}

if __name__ == "__main__":
    for file, make in WRITTEN.items():
        (FOLDER / file).write_text(make(), encoding="utf-8")
