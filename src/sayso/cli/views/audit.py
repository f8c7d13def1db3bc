"""Views of `sayso audit …`: entries, the findings of a verification, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer

from sayso.cli.views.wrapping import echo_line, echo_wrapped
from sayso.core.text.counts import count_of

NOT_GIVEN = "erased, or not disclosed"
BAR = 24
"""The width of a bar, with which nine digits still fit on a line of 80."""

if TYPE_CHECKING:
    from sayso.core.audit.opened_receipt import ProvenEntry
    from sayso.gate.audit.read import EntryWithValues
    from sayso.gate.audit.verifying.verify import AuditReport


def show_entry(found: EntryWithValues) -> None:
    from sayso.core.audit.commitments import RevealState
    from sayso.core.words import visible
    from sayso.gate.audit.read import format_entry_text

    row = found.row
    lines = [format_entry_text(row), f"entry {row.seq} of {row.stream}"]
    lines += [f"hash {row.hash.hex()}", f"after {row.prev.hex()}"]
    for name, value in found.values.items():
        kept = value.state is RevealState.KEPT
        lines += [f"{visible(name)}: {visible(json_text(value.value)) if kept else value.state.value}"]
    echo_wrapped(lines)


def show_opened(proven: tuple[ProvenEntry, ...], *, as_json: bool) -> None:
    """Every entry of an opened receipt, with the values that it was proven to commit to."""
    from sayso.core.audit.commitments import RevealState
    from sayso.core.audit.entry import split_leaf
    from sayso.core.audit.text import format_text_line
    from sayso.core.words import visible

    if as_json:
        parts = [
            {
                "seq": one.receipt.index + 1,
                "size": one.size,
                "entry": decode_body(split_leaf(one.receipt.content)[1]),
                "values": {n: {"state": v.state.value, "value": v.value} for n, v in one.values.items()},
            }
            for one in proven
        ]
        echo_json({"proven": True, "origin": proven[0].signed.origin, "parts": parts})
        return
    for one in proven:
        lines = [format_text_line(split_leaf(one.receipt.content)[1])]
        place, size = one.receipt.index + 1, one.size
        lines += [f"Proven: entry {place} of the {size} that {one.signed.origin} had when signed."]
        for name, value in one.values.items():
            kept = value.state is RevealState.KEPT
            lines += [f"  {visible(name)}: {visible(json_text(value.value), None) if kept else NOT_GIVEN}"]
        echo_wrapped(lines)


def show_verification(verified: AuditReport) -> None:
    for report in verified.reports:
        pruned = f", {report.pruned} of them without bodies" if report.pruned else ""
        counted = f"{count_of(report.entries, 'entry', 'entries')}{pruned}"
        echo_line(f"{report.stream}: {counted}, signed through {report.held_through}")
        for one in report.findings:
            echo_line(f"  {one.kind.value}: {one.text}")
        if report.found > len(report.findings):
            typer.echo(f"  … and {report.found - len(report.findings)} more")
    if not verified.clean:
        typer.echo(count_of(verified.found, "finding"))
    elif not verified.tampering.entries:
        typer.echo("Verified: nothing in it was changed.")
    if verified.tampering.entries:
        echo_line(verified.tampering.text(whole=verified.clean))


def verification_to_json(verified: AuditReport) -> dict[str, Any]:
    streams = [
        {
            "stream": one.stream,
            "entries": one.entries,
            "pruned": one.pruned,
            "signed_through": one.held_through,
            "root": None if one.root is None else one.root.hex(),
            "found": one.found,
            "findings": one.findings,
        }
        for one in verified.reports
    ]
    told = {"clean": verified.clean, "found": verified.found, "checkpoints": verified.checkpoints}
    beside = {"outside": verified.outside, "tampering": verified.tampering, "streams": streams}
    return told | beside


class ProgressLine(Protocol):
    """Shows how many entries are done, and what is being done if that changes."""

    def __call__(self, done: int, doing: str | None = None) -> None: ...


@contextmanager
def show_progress(doing: str, of: int | None = None) -> Iterator[ProgressLine]:
    """Show the number of entries done on a terminal, and remove it at the end; elsewhere show nothing.

    With `of`, how many there are, also as a bar, which moves to and fro until the first of each part is done.
    """
    if not sys.stderr.isatty():
        yield lambda done, doing=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    bar = () if of is None else (BarColumn(bar_width=BAR),)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *bar, TextColumn("{task.fields[count]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(doing, total=None, count="")

        def tell(done: int, doing: str | None = None) -> None:
            nonlocal task
            if doing is not None:  # a new one: a total cannot be taken back, and a full bar stands still
                shown.remove_task(task)
                task = shown.add_task(doing, total=None, count="")
            if done:
                shown.update(task, completed=done, total=of, count=_count(done, of))

        yield tell


def _count(done: int, of: int | None) -> str:
    """`of` may fall behind where others go on writing."""
    return f"{done:,} entries" if of is None else f"{done:,} of {max(done, of):,} entries"


def decode_body(body: bytes) -> object:
    import msgspec

    return msgspec.json.decode(body)


def json_text(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def echo_json(value: object) -> None:
    typer.echo(json_text(value))
