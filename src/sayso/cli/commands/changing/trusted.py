"""`sayso trusted …`: the secret of the trusted channel, and sending through it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.options import JsonOption
from sayso.cli.policy_choice import print_note
from sayso.cli.views.wrapping import echo_line
from sayso.core.text.counts import count_of

if TYPE_CHECKING:
    from sayso.doors.trusted.send import Delivery, OutgoingMessage

app = typer.Typer(
    no_args_is_help=True, help="The trusted channel: signed messages, for what no agent may ask for itself."
)
FileOption = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The file with the secret; trusted.json in the data folder."),
]
DEFAULT_URL = "http://127.0.0.1:7333"
NOT_OURS = (
    "not sent: it was not kept by this sender, or with a secret that no longer counts. "
    "If you want it, make the request again"
)
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help=f"Where the service is: the one that runs here, else {DEFAULT_URL}; "
        "with --again where each message was sent before.",
    ),
]


@app.command("keygen", short_help="Make the secret of the channel.")
def make_secret(
    file: FileOption = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="ADDRESS", help="Accept messages only from here; may be repeated."),
    ] = None,
) -> None:
    """Make a secret, in a file that only you can read. Copy it to the sender, and to nobody else."""
    from sayso.gate.trusted.settings_file import make_trusted_file

    path = _path(file)
    make_trusted_file(path, allowed_sources=allow or ())
    echo_line(f"The secret is in {path}. The sender needs a copy: it is the only thing that lets them in.")


@app.command("rotate", short_help="Replace the secret.")
def replace_secret(
    file: FileOption = None,
    at_once: Annotated[
        bool, typer.Option("--now", help="The old secret stops counting at once, not after a day.")
    ] = False,
) -> None:
    """Make a new secret. The old one counts for another day, so that senders can be given the new one."""
    from sayso.gate.trusted.settings_file import rotate_secret

    path = _path(file)
    rotate_secret(path, time.time(), at_once=at_once)
    old = "The old one no longer counts." if at_once else "The old one counts for another 24 hours."
    echo_line(f"A new secret is in {path}. {old}")


@app.command("status", short_help="Show whether the channel is ready.")
def show_status(file: FileOption = None, as_json: JsonOption = False) -> None:
    """Check the file of the channel. Exit 1 if no message would be taken."""
    from sayso.cli.opening import show_or_json
    from sayso.doors.trusted.send import read_dead_letters
    from sayso.gate.trusted.settings_file import load_trusted_file

    path = _path(file)
    found = load_trusted_file(path)
    now = time.time()
    live = [one for one in found.secrets if one.until is None or now < one.until]
    told: dict[str, Any] = {
        "file": str(path),
        "secrets": len(live),
        "until": [one.until for one in live if one.until is not None],
        "allowed_sources": list(found.allowed_sources),
        "undelivered": len(read_dead_letters(_dead_letters(path))),
    }
    show_or_json(as_json, told, _describe_status(told))


def _describe_status(told: dict[str, Any]) -> list[str]:
    lines = [f"{told['file']}: {count_of(told['secrets'], 'secret')} in use."]
    lines += [
        f"  the old one until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC"
        for until in told["until"]
    ]
    lines.append(f"Messages are taken from {', '.join(told['allowed_sources']) or 'any address'}.")
    if told["undelivered"]:
        kept = count_of(told["undelivered"], "message")
        lines.append(f"Not delivered: {kept}. To send again: sayso trusted send --again")
    return lines


@app.command("send", short_help="Send a signed request.")
def send(
    operation: Annotated[
        str | None,
        typer.Argument(
            metavar="[OPERATION]", help="What you ask for, such as self_modification.prune_stale_memory."
        ),
    ] = None,
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="Its arguments, an object.")] = "{}",
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="N", help="Its confidence.", min=0.0, max=1.0)
    ] = 0.0,
    retry: Annotated[
        str | None, typer.Option("--retry", metavar="CALL", help="Retry a request that had to be asked.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Send what could not be delivered before.")] = False,
    url: UrlOption = None,
    file: FileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign a request and send it. Retries after network errors, and keeps what cannot be delivered.

    Exit 0 allowed, 3 waits for a person, 4 refused, 1 not delivered.
    """
    from sayso.core.errors import MalformedRequest

    if sum((operation is not None, retry is not None, again)) != 1:
        raise MalformedRequest("name an operation, or --retry CALL, or --again", hint="one of the three")
    path = _path(file)
    if again:
        raise typer.Exit(_send_again(path, url))
    data, url = _parse_arguments(args), url or _find_service()
    message = (
        _new_message(url, "sayso.retry", {"call": retry})
        if operation is None
        else _new_message(
            url, "sayso.request", {"operation": operation, "args": data, "confidence": confidence}
        )
    )
    raise typer.Exit(_send_and_tell(message, path, as_json))


def _find_service() -> str:
    """Return the address of the service that runs here; the usual one if none does, or several do."""
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import list_running_services

    running = list_running_services(gate_data_folder(make=False))
    return running[0].page.rstrip("/") if len(running) == 1 else DEFAULT_URL


def _parse_arguments(text: str) -> dict[str, Any]:
    from sayso.core.digest import parse_json
    from sayso.core.errors import MalformedRequest

    found = parse_json(text.encode())
    if not isinstance(found, dict):
        raise MalformedRequest("--args takes a JSON object", hint='--args \'{"reason": "..."}\'')
    return found


def _new_message(url: str, kind: str, data: dict[str, Any]) -> OutgoingMessage:
    from sayso.doors.trusted.send import make_message

    return make_message(url, kind, data, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _send_and_tell(message: OutgoingMessage, path: Path, as_json: bool) -> int:
    from sayso.core.words import visible
    from sayso.doors.trusted.send import DeadLetter, keep_dead_letter, seal_letter

    secret = _secret_in_use(path)
    sent = _deliver(message, secret)
    if not sent.delivered and (sent.status == 0 or sent.status >= 500):
        kept = _dead_letters(path)
        letter = DeadLetter(message, sent.error, sent.tries, time.time())
        keep_dead_letter(kept, seal_letter(letter, secret))
        print_note(f"not delivered, kept in {kept}: {visible(sent.error)}")
        return 1
    return _tell(sent, as_json)


def _tell(sent: Delivery, as_json: bool) -> int:
    from sayso.cli.opening import show_or_json
    from sayso.core.words import visible

    if not sent.delivered:
        print_note(f"refused: {visible(sent.error)}")
        return 4
    told = {"message": sent.message.id, "http_status": sent.status, **sent.answer}
    show_or_json(as_json, told, _describe_answer(sent))
    return {"allow": 0, "ask": 3, "deny": 4}.get(
        str(sent.answer.get("verdict")), 0 if sent.status == 409 else 4
    )


def _describe_answer(sent: Delivery) -> list[str]:
    from sayso.core.words import visible

    if sent.status == 409:
        return [f"{sent.message.id} was received before."]
    told = sent.answer
    lines = [f"{visible(str(told.get('status')))}: {visible(str(told.get('reason')))}"]
    if told.get("verdict") == "ask":
        where = "" if sent.message.url == _find_service() else f" --url {sent.message.url}"
        call = visible(str(told.get("operation_id")))
        lines.append(f"Once it is answered: sayso trusted send --retry {call}{where}")
    result = told.get("result")
    if isinstance(result, dict) and "proposal" in result:
        filed = visible(str(result["proposal"]))
        lines.append(f"Filed {filed}. It changes nothing until an operator approves it.")
    return lines


def _send_again(path: Path, url: str | None) -> int:
    """Send every kept message again, to this address if one is named; keep what still cannot be delivered.

    A line that the secret did not seal is left as it is: somebody else wrote it, and it would be signed.
    """
    from msgspec.structs import replace

    from sayso.core.words import visible
    from sayso.doors.trusted.send import FINAL, forget_dead_letters, is_ours, read_dead_letters
    from sayso.gate.trusted.settings_file import load_trusted_file

    file, secret = _dead_letters(path), _secret_in_use(path)
    known = load_trusted_file(path).live_secrets(time.time())
    settled = set()
    letters = read_dead_letters(file)
    for one in letters:
        if not is_ours(one, known):
            echo_line(f"{visible(one.message.id[:60])}: {NOT_OURS}")
            continue
        sent = _deliver(one.message if url is None else replace(one.message, url=url), secret)
        if sent.delivered or sent.status in FINAL:
            settled.add(one.message.id)
        echo_line(f"{one.message.id}: {'delivered' if sent.delivered else visible(sent.error)}")
    forget_dead_letters(file, settled)
    typer.echo(f"{len(settled)} of {len(letters)} settled.")
    return 1 if len(settled) < len(letters) else 0


def _secret_in_use(path: Path) -> bytes:
    from sayso.gate.trusted.settings_file import load_trusted_file

    return load_trusted_file(path).every_secret()[0]


def _deliver(message: OutgoingMessage, secret: bytes) -> Delivery:
    from sayso.doors.trusted.send import send_message

    return send_message(message, secret, now=time.time, wait=_wait_to_try_again)


def _wait_to_try_again(seconds: float) -> None:
    print_note(f"not delivered yet; trying again in {count_of(seconds, 'second')}")
    time.sleep(seconds)


def _dead_letters(path: Path) -> Path:
    return path.with_name("trusted-undelivered.jsonl")


def _path(file: Path | None) -> Path:
    from sayso.gate.open import gate_data_folder
    from sayso.gate.trusted.settings_file import FILE_NAME

    return file if file is not None else gate_data_folder() / FILE_NAME
