"""`sayso store …`: make the store, see what it holds, bring it up to date, set its time, move it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.opening import open_gate_to_act
from sayso.cli.options import JsonOption
from sayso.cli.policy_choice import print_note
from sayso.cli.short_ids import StoreOption
from sayso.cli.store_places import ADDRESSES, find_store_place, is_store_address
from sayso.cli.views.wrapping import echo_line

if TYPE_CHECKING:
    from sayso.gate.rows.keys import SigningKey
    from sayso.gate.upkeep.clock import ClockReading
    from sayso.gate.upkeep.copy import CopyReport
    from sayso.store.contract import Reader, Store

app = typer.Typer(help="The store: where consent is kept.", no_args_is_help=True, rich_markup_mode=None)

MANY = 1_000_000
MOST_TOLD = 20

TargetOption = Annotated[
    str,
    typer.Option("--to", metavar="ADDRESS", help="An empty database: postgresql://user@host/database."),
]
AbandonedOption = Annotated[
    str, typer.Option("--to", metavar="ADDRESS", help="The address that the move was for.")
]


@app.command("init", short_help="Create the store if it does not exist.")
def store_init(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Create the store: a file only you can read, or the tables in a PostgreSQL database.

    An existing store is left as it is. If several programs run this at once, one creates it.
    """
    place = find_store_place(store)
    there = place.schema() > 0
    place.open(upgrade=not there).close()
    said = "was there already" if there else "is ready"
    _print_result(as_json, {"store": place.shown, "made": not there}, [f"{place.shown} {said}"])


@app.command("info", short_help="Show where it is and what it holds.")
def store_info(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show where the store is, its schema, and how much it holds. Changes nothing."""
    place = find_store_place(store)
    place.check_made()
    opened = place.open(upgrade=False)
    try:
        with opened.read() as tx:
            told = {"store": place.shown, "bytes": place.bytes_used()} | _store_contents(tx)
    finally:
        opened.close()
    _print_result(as_json, told, [f"{name.replace('_', ' ')}: {value}" for name, value in told.items()])


@app.command("migrate", short_help="Bring an older store up to date.")
def store_migrate(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Bring the schema of an older store up to date. Make a copy first: of the file, or a dump."""
    from sayso.store.sql.migrate import LATEST

    place = find_store_place(store)
    changed = place.check_made() < LATEST
    place.open(upgrade=changed).close()
    said = f"brought up to schema {LATEST}" if changed else f"nothing to do, the schema is {LATEST}"
    _print_result(
        as_json, {"store": place.shown, "schema": LATEST, "changed": changed}, [f"{place.shown}: {said}"]
    )


@app.command("clock", short_help="Check whether the clock can be trusted, or confirm it.")
def store_clock(
    accept: Annotated[bool, typer.Option("--accept", help="Confirm that the clock is right now.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the highest stored time with the time now. Exit 1 if time is not trusted.

    If the clock was wrong for a while, correct it and confirm with --accept. That ends all consent of the
    open sessions, because nobody knows how long it should still have lasted.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.upkeep.clock import read_clock, trust_clock

    if not is_store_address(store):
        _existing_file(store)
    with open_gate_to_act(store) as gate:
        found = read_clock(gate)
        if accept and not found.trusted:
            for line in [] if yes else _clock_lines(found):
                typer.echo(line, err=True)
            if not yes:
                typer.confirm("Is the time now right, and may all consent end?", abort=True, err=True)
            trust_clock(gate, by=operator_name())
            found = read_clock(gate)
    _print_result(as_json, _clock_to_json(found), _clock_lines(found))
    raise typer.Exit(0 if found.trusted else 1)


def _clock_to_json(found: ClockReading) -> dict[str, Any]:
    return {
        "now": _format_time(found.now),
        "stored": None if found.stored is None else _format_time(found.stored),
        "behind_seconds": round(found.behind, 3),
        "trusted": found.trusted,
    }


def _clock_lines(found: ClockReading) -> list[str]:
    stored = "nothing yet" if found.stored is None else _format_time(found.stored)
    lines = [f"highest time stored: {stored}", f"time now:            {_format_time(found.now)}"]
    if found.trusted:
        return [*lines, "Time is trusted."]
    return [
        *lines,
        f"Time is not trusted: the clock is {found.behind:,.0f} seconds behind what is stored.",
        "Until you accept it, grants count as expired and autonomous permissions as decayed.",
        "If the time now is right, `sayso store clock --accept` says so, and all consent ends.",
        "If it is wrong, set the clock of this machine right first.",
    ]


def _format_time(seconds: float) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


@app.command("copy", short_help="Move the store to PostgreSQL.")
def store_copy(to: TargetOption, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Move everything to an empty PostgreSQL database, verify it there, and seal the file.

    The file becomes read-only at once. Sessions, questions and the audit trail continue in the database.
    Grants do not, so people are asked again. If the move is interrupted, finish it by running the command
    again with the same address, or abandon it with `sayso store unseal`.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.open import gate_data_folder
    from sayso.gate.upkeep.copy import copy_store

    where, address = _existing_file(store).absolute(), _clean_address(to)
    with _open_both(where, to) as (key, source, target), _progress() as told:
        copied = copy_store(
            source,
            target,
            key,
            came_from=str(where),
            to=address,
            by=operator_name(),
            marks=gate_data_folder(),
            progress=told,
        )
    _print_copied(as_json, where, copied)
    for finding in copied.findings[:MOST_TOLD]:
        print_note(f"{finding}: copied unchanged; it has no effect")
    if len(copied.findings) > MOST_TOLD:
        print_note(f"and {len(copied.findings) - MOST_TOLD} more; an entry TAMPERED in the audit tells")
    print_note(
        f"key and marks stay in {gate_data_folder()}: "
        "take that folder along to whatever machine opens the store"
    )


@app.command("unseal", short_help="Abandon an unfinished move.")
def store_unseal(to: AbandonedOption, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Unseal a store whose copy was never finished, and use it again as it was.

    Refused if the database shows that the copy was finished: then the store lives there.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.open import gate_data_folder
    from sayso.gate.upkeep.copy import unseal_store

    where, address = _existing_file(store).absolute(), _clean_address(to)
    with _open_both(where, to) as (key, source, target):
        unseal_store(source, target, key, to=address, by=operator_name(), marks=gate_data_folder())
    _print_result(as_json, {"store": str(where), "sealed": False}, [f"{where} is in use again"])


def _existing_file(store: str | None) -> Path:
    """The file that a move is made from."""
    from sayso.core.errors import MalformedRequest

    if is_store_address(store):
        raise MalformedRequest("a store moves from a file to PostgreSQL", hint="name a file with --store")
    place = find_store_place(store)
    where = Path(place.where)
    if not where.exists():
        place.check_made()
    return where


def _clean_address(to: str) -> str:
    """The address as it may be shown and kept."""
    from sayso.core.errors import MalformedRequest

    if not to.startswith(ADDRESSES):
        raise MalformedRequest(
            "a store moves to PostgreSQL only", hint="--to postgresql://user@host/database"
        )
    from sayso.store.postgres.server import url_without_password

    return url_without_password(to)


@contextmanager
def _open_both(where: Path, to: str) -> Iterator[tuple[SigningKey, Store, Store]]:
    """The key, the store that is moved, and where it goes."""
    from sayso.gate.open import KEY_NAME, gate_data_folder, open_store
    from sayso.gate.rows.keys import load_key

    key = load_key(KEY_NAME, gate_data_folder() / "gate.key")
    with ExitStack() as opened:
        source = opened.enter_context(closing(find_store_place(str(where)).open(upgrade=False)))
        yield key, source, opened.enter_context(closing(open_store(to)))


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """Show the progress on a terminal, and remove it at the end; elsewhere show nothing."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    err = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed} rows"))
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as shown:
        task = shown.add_task("Looking at both places")
        yield lambda doing, done: shown.update(task, description=doing, completed=done)


def _print_copied(as_json: bool, where: Path, copied: CopyReport) -> None:
    streams = {name: {"entries": row.seq, "head": row.hash.hex()} for name, row in copied.heads.items()}
    told = {"store": str(where), "to": copied.to, "epoch": copied.epoch, "rows": copied.rows}
    entries, sessions = copied.rows.get("entry", 0), copied.rows.get("session", 0)
    lines = [
        f"{where} has moved to {copied.to}",
        f"{sum(copied.rows.values())} rows were read back and are the same, {sessions} sessions among them",
        f"The audit chain is intact: {entries} entries",
        f"Epoch {copied.epoch} begins there: no grant moved along. The file is sealed, and can be read.",
    ]
    _print_result(as_json, told | {"streams": streams, "findings": list(copied.findings)}, lines)


def _store_contents(tx: Reader) -> dict[str, Any]:
    from sayso.gate.rows.moves import load_move_seal
    from sayso.store.sql.migrate import LATEST

    seal = load_move_seal(tx)

    streams = {stream: tx.head(stream) for stream in tx.streams()}
    return {
        "schema": LATEST,
        "epoch": int(tx.meta("epoch") or 1),
        "open_sessions": len(tx.sessions(limit=MANY)),
        "open_questions": len(tx.questions(limit=MANY)),
        "audit_entries": sum(head.seq for head in streams.values() if head is not None),
    } | ({} if seal is None else {"moved_to": seal.to, "move_finished": seal.finished})


def _print_result(as_json: bool, told: dict[str, Any], lines: list[str]) -> None:
    import json

    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    for line in lines:
        echo_line(line)
