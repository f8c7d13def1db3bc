"""Parts that are installed on demand. One that is missing is named with the command that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sayso.core.errors import SaysoError

BROUGHT = frozenset({"h11", "jwt", "mcp", "segno", "starlette", "textual", "uvicorn", "webauthn"})
"""Packages that extras bring. Parts of others are always there, unless a file hides them."""


class MissingExtra(SaysoError):
    """An extra that this needs is not installed."""

    code = "missing_extra"


class BrokenImport(SaysoError):
    """A module is there, but is not what it should be."""

    code = "broken_import"
    advice = "a file of your own may have its name, such as http.py beside your program: rename it"


def install_command(extra: str) -> str:
    """Return how to install this extra, in any shell: from the checkout, because no registry has Sayso."""
    return f'pip install "./sayso[{extra}]" in the folder that holds the checkout'


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """While modules are imported that this extra brings: `what` is what needs them."""
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] == "sayso":
            raise
        if not _is_missing(error):
            raise BrokenImport(f"{what} cannot be loaded: {error}") from error
        raise MissingExtra(
            f"{what} needs the extra {extra}: {error.name} is not installed", hint=install_command(extra)
        ) from error


def _is_missing(error: ImportError) -> bool:
    """Return whether a package is missing. If only a part of it is, something else has its name."""
    package, dot, _ = (error.name or "").partition(".")
    return isinstance(error, ModuleNotFoundError) and (not dot or package in BROUGHT)
