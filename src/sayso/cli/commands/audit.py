"""`sayso audit …`: read the audit trail, verify it, prove from it, and drop what may be dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.options import JsonOption
from sayso.cli.policy_choice import print_note
from sayso.cli.short_ids import StoreOption
from sayso.cli.views.audit import (
    decode_body,
    echo_json,
    show_entry,
    show_opened,
    show_progress,
    show_verification,
    verification_to_json,
)
from sayso.cli.views.wrapping import echo_wrapped
from sayso.core.text.counts import count_of

if TYPE_CHECKING:
    from datetime import datetime

    from sayso.core.audit.checkpoint import Verifier
    from sayso.gate.gate import Gate

app = typer.Typer(
    help="The audit trail: who allowed what, with proof.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FOUND = 1
MOST_BYTES = 1 << 24

SeqArg = Annotated[int, typer.Argument(metavar="SEQ", help="The number of an entry.", min=1)]
StreamOption = Annotated[str, typer.Option("--stream", metavar="NAME", help="The stream.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
DISCLOSES = "this receipt discloses the call it is about, with its arguments"
ERASED = "the call that this entry commits to was erased: the receipt discloses nothing more"
COMMITS_TO_NOTHING = (
    "this entry commits to no call, and no earlier one does for it: the receipt discloses nothing more "
    "(a call that the policy allows by itself is recorded by its digest alone)"
)
OTHER_KEY = "The public key to trust, as `sayso audit checkpoint --json` prints it; default: your own."


@app.command("tail", short_help="Show the newest entries.")
def audit_tail(
    count: Annotated[int, typer.Option("-n", "--count", metavar="N", min=1, help="How many.")] = 20,
    stream: StreamOption = "main",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the newest entries, the newest last."""
    from sayso.gate.audit.read import format_entry_json, format_entry_text
    from sayso.gate.audit.read import load_newest_entries as newest

    with _open_audit(store) as gate:
        rows = newest(gate, count, stream=stream)
    if not as_json:
        echo_wrapped(map(format_entry_text, rows))
        return
    for row in rows:
        typer.echo(format_entry_json(row))


@app.command("show", short_help="Show one entry in full.")
def audit_show(
    seq: SeqArg, stream: StreamOption = "main", store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Show one entry with its hashes and the sensitive values still kept."""
    from sayso.gate.audit.read import entry_with_values_to_json
    from sayso.gate.audit.read import load_entry_with_values as shown

    with _open_audit(store) as gate:
        found = shown(gate, seq, stream=stream)
    if as_json:
        echo_json(entry_with_values_to_json(found))
    else:
        show_entry(found)


@app.command("verify", short_help="Find changed, missing or inserted entries.")
def audit_verify(
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="A checkpoint you kept elsewhere; may be repeated."
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify the whole trail: chain, tree and signatures. Exit 1 if anything is wrong.

    Only a checkpoint kept elsewhere reveals that the whole store was restored from an older copy.
    """
    from sayso.gate.audit.read import count_entries
    from sayso.gate.audit.verifying.verify import verify_audit
    from sayso.gate.audit.verifying.workers import count_cores

    outside = [_read_file(file) for file in checkpoint or ()]
    done: dict[str, int] = {}
    with _open_audit(store) as gate, show_progress("Verifying", of=count_entries(gate)) as told:

        def progress(stream: str, entries: int) -> None:
            done[stream] = entries
            told(sum(done.values()))

        verified = verify_audit(
            gate, outside, progress=progress, begin=lambda part: told(0, part), processes=count_cores()
        )
    if as_json:
        echo_json(verification_to_json(verified))
    else:
        show_verification(verified)
        if not outside:
            print_note("without --checkpoint, an older copy of the whole store would look as good")
    raise typer.Exit(0 if verified.clean else FOUND)


@app.command("prove", short_help="Write a receipt for one entry.")
def audit_prove(
    seq: SeqArg,
    stream: StreamOption = "main",
    opened: Annotated[
        bool,
        typer.Option("--open", help="Disclose what was asked and approved: the call with its arguments."),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it to this new file.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write a receipt (C2SP tlog-proof) that proves offline that this entry is in the signed trail.

    An entry holds only commitments to the call it is about. With --open the receipt holds the call as well,
    for an auditor to see what was approved: whoever gets that file can read all of it.
    """
    from sayso.gate.audit.joined_proofs import prove_entry_of
    from sayso.gate.audit.opened_receipts import commits, discloses, prove_entry_opened

    with _open_audit(store) as gate:
        proof = prove_entry_opened(gate, seq, stream=stream) if opened else prove_entry_of(gate, stream, seq)
        if opened:
            print_note(DISCLOSES if discloses(proof) else ERASED if commits(proof) else COMMITS_TO_NOTHING)
        print_note(f"whoever checks it needs the public key {_public_key_text(gate)}")
    if output is None:
        typer.echo(proof.decode(), nl=False)
    else:
        _write_new_file(output, proof)


@app.command("check-proof", short_help="Check a receipt, offline.")
def audit_check_proof(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A receipt that audit prove wrote.")],
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help=OTHER_KEY)] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a receipt without the store: that its entry is in a trail signed by a key you trust.

    For an opened receipt, also check the values against the entry's commitments, and print them.
    Exit 0 and the entry if all is well, else 1.
    """
    from sayso.core.audit.entry import MAIN
    from sayso.core.audit.joined_receipt import check_proof
    from sayso.core.audit.opened_receipt import check_opened, is_opened
    from sayso.core.audit.text import format_text_line

    proof, keys = _read_file(file), (_load_trusted_key(key),)
    if is_opened(proof):
        show_opened(check_opened(proof, keys), as_json=as_json)
        return
    found = check_proof(proof, keys)
    origin, seq = found.signed.origin, found.body.seq
    if as_json:
        told = {"proven": True, "origin": origin, "stream": found.stream, "seq": seq, "size": found.size}
        echo_json(told | {"entry": decode_body(found.text)})
    else:
        where = "" if found.stream == MAIN else f" in {found.stream}"
        proven = f"Proven: entry {seq} of the {found.size} that {origin} had{where} when signed."
        echo_wrapped([format_text_line(found.text), proven])


@app.command("checkpoint", short_help="Sign the current trail.")
def audit_checkpoint(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it to this new file.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign the current trail and print the checkpoint. Keep it where this machine cannot reach it."""
    from sayso.gate.audit.checkpoints import sign_audit as sign

    with _open_audit(store) as gate:
        note = sign(gate)
        public = _public_key_text(gate)
    if output is not None:
        _write_new_file(output, note.encode())
    if as_json:
        echo_json({"checkpoint": note, "key": public})
    elif output is None:
        typer.echo(note, nl=False)


@app.command("export", short_help="Print all entries.")
def audit_export(
    form: Annotated[str, typer.Option("--form", metavar="FORM", help="text or jsonl.")] = "text",
    stream: Annotated[str | None, typer.Option("--stream", metavar="NAME", help="Only this stream.")] = None,
    store: StoreOption = None,
) -> None:
    """Print every entry as a line. JSON lines hold exactly the bytes that were hashed."""
    from sayso.core.errors import MalformedRequest
    from sayso.gate.audit.read import export_audit as lines

    if form not in ("text", "jsonl"):
        raise MalformedRequest(f"unknown form {form!r}", hint="use text or jsonl")
    with _open_audit(store) as gate, show_progress("Exporting") as told:
        for number, line in enumerate(lines(gate, "jsonl" if form == "jsonl" else "text", stream=stream), 1):
            typer.echo(line)
            if number % 1_000 == 0:
                told(number)


@app.command("prune", short_help="Drop the bodies of old entries.")
def audit_prune(
    before: Annotated[
        str, typer.Option("--before", metavar="DATE|SEQ", help="2026-11-01, 2026-11-01T08:00Z, or a number.")
    ],
    yes: YesOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the bodies of old entries for good. Their hashes stay, and the trail still verifies.

    A date or time counts in UTC unless it names its zone, and in every stream; a number only in main.
    """
    until = _parse_before(before)
    if not yes:
        typer.confirm(f"Drop the bodies of all entries before {before} for good?", abort=True, err=True)
    from sayso.cli.operator_name import operator_name
    from sayso.gate.audit.prune import prune_audit as drop

    with _open_audit(store) as gate, show_progress("Pruning") as told:
        pruned = drop(gate, until, by=operator_name(), progress=told)
    if as_json:
        echo_json(pruned)
    else:
        typer.echo(f"{count_of(pruned.bodies, 'body', 'bodies')} dropped")


@app.command("recount", short_help="Add up the figures again.")
def audit_recount(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Drop what was added up from the trail for figures and history, and add it up again.

    Sayso keeps it up to date by itself. Use this if `sayso audit verify` reports that it differs.
    """
    from sayso.gate.summaries.add_up import recount

    with _open_audit(store) as gate, show_progress("Adding up") as told:
        added = recount(gate, told)
    if as_json:
        echo_json({"added": added})
    else:
        typer.echo(f"{added} entries and questions added up")


@app.command("erase", short_help="Erase one sensitive value.")
def audit_erase(
    seq: SeqArg,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The value's name, as audit show prints it.")],
    stream: StreamOption = "main",
    yes: YesOption = False,
    store: StoreOption = None,
) -> None:
    """Erase a sensitive value of an entry for good. The entry and its chain stay as they are."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.audit.prune import erase_value as forget

    if not yes:
        typer.confirm(f"Erase the value {name!r} of entry {seq} for good?", abort=True, err=True)
    with _open_audit(store) as gate:
        forget(gate, seq, name, by=operator_name(), stream=stream)
    typer.echo("Erased.")


@contextmanager
def _open_audit(store: str | None) -> Iterator[Gate]:
    from sayso.gate.open import open_audit

    gate = open_audit(store)
    try:
        yield gate
    finally:
        gate.store.close()


def _public_key_text(gate: Gate) -> str:
    from sayso.gate.audit.tree import require_key
    from sayso.gate.rows.keys import format_verifier_key, public_key_of

    key = require_key(gate)
    return format_verifier_key(key.name, public_key_of(key))


def _load_trusted_key(text: str | None) -> Verifier:
    from sayso.core.errors import SaysoError
    from sayso.gate.open import KEY_NAME, gate_data_folder
    from sayso.gate.rows.keys import load_key, make_verifier, parse_verifier_key, public_key_of

    if text is not None:
        return parse_verifier_key(text)
    own = gate_data_folder(make=False) / "gate.key"
    if not own.exists():
        hint = "give the signer's public key with --key; there, `sayso audit checkpoint --json` prints it"
        raise SaysoError("no key was given, and this machine has none of its own", hint=hint)
    return make_verifier(KEY_NAME, public_key_of(load_key(KEY_NAME, own)))


def _parse_before(text: str) -> int | datetime:
    from datetime import UTC, datetime

    from sayso.core.errors import MalformedRequest

    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise MalformedRequest(
            f"{text!r} is neither a date nor the number of an entry", hint="like 2026-11-01 or 5000"
        ) from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _read_file(file: Path) -> bytes:
    from sayso.core.errors import SaysoError

    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise SaysoError(f"cannot read {file}: {error.strerror}", hint="name a file") from error


def _write_new_file(file: Path, content: bytes) -> None:
    from sayso.core.errors import SaysoError

    try:
        with file.open("xb") as opened:
            opened.write(content)
    except OSError as error:
        raise SaysoError(f"cannot write {file}: {error.strerror}", hint="name a new file") from error
