"""`sayso store …`: make the store, see what it holds, bring it up to date, set its time right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.choice import Json
from sayso.cli.operate import StoreFile, acting

if TYPE_CHECKING:
    from sayso.gate.clock import Reading
    from sayso.store.base import Reader, Store

app = typer.Typer(help="The store: where consent is kept.", no_args_is_help=True, rich_markup_mode=None)

MANY = 1_000_000


@app.command(short_help="Make the store, if there is none.")
def init(store: StoreFile = None, as_json: Json = False) -> None:
    """Make the store where it belongs, for your eyes only. One that is there is left as it is."""
    where = _place(store)
    there = where.exists()
    _opened(where, upgrade=not there).close()
    said = "was there already" if there else "is ready"
    _tell(as_json, {"store": str(where), "made": not there}, [f"{where} {said}"])


@app.command(short_help="Where it is and what it holds.")
def info(store: StoreFile = None, as_json: Json = False) -> None:
    """Where the store is, its schema, and how much it holds. Nothing in it is changed."""
    where = _existing(store)
    opened = _opened(where, upgrade=False)
    try:
        with opened.read() as tx:
            told = {"store": str(where), "bytes": where.stat().st_size} | _held(tx)
    finally:
        opened.close()
    _tell(as_json, told, [f"{name.replace('_', ' ')}: {value}" for name, value in told.items()])


@app.command(short_help="Bring an older store up to date.")
def migrate(store: StoreFile = None, as_json: Json = False) -> None:
    """Bring the schema of an older store up to date. Make a copy first."""
    from sayso.store.base import StoreBusy, StoreError, StoreNewer
    from sayso.store.migrate import LATEST

    where = _existing(store)
    try:
        _opened(where, upgrade=False).close()
        changed = False
    except (StoreBusy, StoreNewer):
        raise
    except StoreError:
        _opened(where, upgrade=True).close()
        changed = True
    said = f"brought up to schema {LATEST}" if changed else f"nothing to do, the schema is {LATEST}"
    _tell(as_json, {"store": str(where), "schema": LATEST, "changed": changed}, [f"{where}: {said}"])


@app.command(short_help="Whether time can be trusted, and your word that it can.")
def clock(
    accept: Annotated[bool, typer.Option("--accept", help="Say that the clock is right now.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
    store: StoreFile = None,
    as_json: Json = False,
) -> None:
    """The highest time stored beside the time now, and what follows from it. Exit 1 if time is not trusted.

    After the clock was wrong for a while, set it right and say so with --accept: time counts again. All
    consent of the open sessions ends with that, as nobody can say how long it should still have lived.
    """
    from sayso.cli.operating import operator
    from sayso.gate.clock import read_clock, trust_clock

    if store is None or "://" not in store:
        _existing(store)
    with acting(store) as gate:
        found = read_clock(gate)
        if accept and not found.trusted:
            for line in [] if yes else _clock_lines(found):
                typer.echo(line, err=True)
            if not yes:
                typer.confirm("Is the time now right, and may all consent end?", abort=True, err=True)
            trust_clock(gate, by=operator())
            found = read_clock(gate)
    _tell(as_json, _clock_told(found), _clock_lines(found))
    raise typer.Exit(0 if found.trusted else 1)


def _clock_told(found: Reading) -> dict[str, Any]:
    return {
        "now": _time(found.now),
        "stored": None if found.stored is None else _time(found.stored),
        "behind_seconds": round(found.behind, 3),
        "trusted": found.trusted,
    }


def _clock_lines(found: Reading) -> list[str]:
    stored = "nothing yet" if found.stored is None else _time(found.stored)
    lines = [f"highest time stored: {stored}", f"time now:            {_time(found.now)}"]
    if found.trusted:
        return [*lines, "Time is trusted."]
    return [
        *lines,
        f"Time is not trusted: the clock is {found.behind:,.0f} seconds behind what is stored.",
        "Until you accept it, grants count as expired and autonomous permissions as decayed.",
        "If the time now is right, `sayso store clock --accept` says so, and all consent ends.",
        "If it is wrong, set the clock of this machine right first.",
    ]


def _time(seconds: float) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _place(store: str | None) -> Path:
    from sayso.core.errors import SaysoError
    from sayso.gate.open import data_folder

    if store is not None and "://" in store:
        raise SaysoError("these commands are for stores that are files", hint="name a file")
    return Path(store) if store is not None else data_folder() / "sayso.db"


def _existing(store: str | None) -> Path:
    from sayso.store.base import StoreError

    where = _place(store)
    if not where.exists():
        raise StoreError(f"there is no store at {where}", hint="sayso store init makes one")
    return where


def _opened(where: Path, *, upgrade: bool) -> Store:
    from sayso.store.sqlite import SqliteStore

    return SqliteStore(where, upgrade=upgrade)


def _held(tx: Reader) -> dict[str, Any]:
    from sayso.store.migrate import LATEST

    streams = {stream: tx.head(stream) for stream in tx.streams()}
    return {
        "schema": LATEST,
        "epoch": int(tx.meta("epoch") or 1),
        "open_sessions": len(tx.sessions(limit=MANY)),
        "open_questions": len(tx.questions(limit=MANY)),
        "audit_entries": sum(head.seq for head in streams.values() if head is not None),
    }


def _tell(as_json: bool, told: dict[str, Any], lines: list[str]) -> None:
    import json

    for line in [json.dumps(told, ensure_ascii=False)] if as_json else lines:
        typer.echo(line)
