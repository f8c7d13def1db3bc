"""Sending through the trusted channel: sign, send, try again, and keep what could not be delivered.

- Network errors and answers from 500 on are tried again; any other answer is final.
- Every try has the same id and a new timestamp, so that a message whose answer got lost counts once.
- What could not be delivered is appended to a file, one message a line, and can be sent again from there.
  Each line is sealed with the secret: what anybody else wrote there is never signed.
"""

from __future__ import annotations

import http.client
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.signed_messages import is_sealed, seal_kept, sign_message
from sayso.gate.decoding import decode_json
from sayso.gate.private_files import hold_file
from sayso.wire import TRUSTED_PATH

PAUSES = (1.0, 5.0, 25.0)
"""Seconds before each further try."""
FINAL = frozenset({400, 409, 422})
"""Answers after which a message that was kept is not sent again: what it says will never be taken."""
TIMEOUT = 15.0
LARGEST_ANSWER = 1024 * 1024


class OutgoingMessage(msgspec.Struct, frozen=True):
    """A message to be sent, the same at every try."""

    id: str
    url: str
    body: str


class Delivery(msgspec.Struct, frozen=True):
    """How sending ended. `delivered`: the receiver has it, now or already before."""

    message: OutgoingMessage
    delivered: bool
    status: int
    answer: dict[str, Any]
    tries: int
    error: str = ""


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that could not be delivered, why, and when it was given up."""

    message: OutgoingMessage
    error: str
    tries: int
    at: float
    seal: str = ""


def make_message(url: str, kind: str, data: dict[str, Any], timestamp: str) -> OutgoingMessage:
    """Make a new message of this kind, with an id of its own."""
    told = {"type": kind, "timestamp": timestamp, "data": data}
    return OutgoingMessage(f"msg_{secrets.token_hex(12)}", url, msgspec.json.encode(told).decode())


def send_message(
    message: OutgoingMessage,
    secret: bytes,
    *,
    now: Callable[[], float],
    wait: Callable[[float], object],
    pauses: Sequence[float] = PAUSES,
) -> Delivery:
    """Send the message until it is delivered, finally refused, or was tried often enough."""
    tries, error, status = 0, "", 0
    for pause in (0.0, *pauses):
        if pause:
            wait(pause)
        tries += 1
        try:
            status, answer = _post(message, secret, int(now()))
        except (OSError, http.client.HTTPException) as problem:
            status, error = 0, f"{message.url} does not answer: {_reason_of(problem)}"
            continue
        if status < 500:
            had = status == 409 and answer.get("code") == "already_received"
            told = "" if status < 300 or had else str(answer.get("detail") or f"HTTP {status}")
            return Delivery(message, status < 300 or had, status, answer, tries, told)
        error = str(answer.get("detail") or f"HTTP {status}")
    return Delivery(message, False, status, {}, tries, error)


def _reason_of(problem: Exception) -> str:
    """Return why nobody answered, in the system's words if it has any."""
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__


def _post(message: OutgoingMessage, secret: bytes, timestamp: int) -> tuple[int, dict[str, Any]]:
    body = message.body.encode()
    headers = {
        "content-type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign_message(secret, message.id, timestamp, body),
    }
    connection = _connect(message.url)
    try:
        connection.request("POST", urlsplit(message.url).path.rstrip("/") + TRUSTED_PATH, body, headers)
        answer = connection.getresponse()
        content = answer.read(LARGEST_ANSWER)
    finally:
        connection.close()
    try:
        told = msgspec.json.decode(content)
    except msgspec.DecodeError:
        told = None
    return answer.status, cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _connect(url: str) -> http.client.HTTPConnection:
    where = urlsplit(url)
    if where.scheme not in ("http", "https") or not where.hostname:
        raise MalformedRequest(f"{url!r} is not the address of a service", hint="write http://127.0.0.1:7333")
    kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
    return kind(where.hostname, where.port, timeout=TIMEOUT)


def seal_letter(letter: DeadLetter, secret: bytes) -> DeadLetter:
    """Return the letter as the holder of this secret keeps it."""
    return msgspec.structs.replace(letter, seal=seal_kept(secret, _sealed_parts(letter)))


def is_ours(letter: DeadLetter, secrets: Iterable[bytes]) -> bool:
    """Return whether a holder of one of these secrets kept this letter, with this message and address."""
    return is_sealed(letter.seal, secrets, _sealed_parts(letter))


def _sealed_parts(letter: DeadLetter) -> tuple[str, str, str]:
    return (letter.message.id, letter.message.url, letter.message.body)


def keep_dead_letter(file: Path, letter: DeadLetter) -> None:
    """Append a message that could not be delivered. The file is for its owner alone."""
    with hold_file(file):
        _write(file, os.O_APPEND, b"\n" + msgspec.json.encode(letter) + b"\n")


def read_dead_letters(file: Path) -> list[DeadLetter]:
    """Return what could not be delivered so far, oldest first. Half a line, as a crash leaves it, is none."""
    return [one for one in map(_read_letter, _read_lines(file)) if one is not None]


def forget_dead_letters(file: Path, settled: Collection[str]) -> None:
    """Take the messages with these ids away, and leave every other line, whoever wrote it meanwhile."""
    with hold_file(file):
        kept = [line for line in _read_lines(file) if not _is_settled(line, settled)]
        if not kept:
            file.unlink(missing_ok=True)
            return
        fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        _write(fresh, os.O_EXCL, b"\n".join(kept) + b"\n")
        fresh.replace(file)


def _is_settled(line: bytes, settled: Collection[str]) -> bool:
    letter = _read_letter(line)
    return letter is not None and letter.message.id in settled


def _read_lines(file: Path) -> list[bytes]:
    try:
        return [line for line in file.read_bytes().split(b"\n") if line.strip()]
    except FileNotFoundError:
        return []


def _read_letter(line: bytes) -> DeadLetter | None:
    try:
        return decode_json(line, DeadLetter)
    except msgspec.MsgspecError:
        return None


def _write(file: Path, how: int, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | how | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "ab") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
