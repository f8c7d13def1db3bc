"""The user's last message in a session, for people who are asked about what follows from it.

It grants nothing, is not in the audit, and is deleted when the session ends.
"""

from __future__ import annotations

import msgspec

from sayso.gate.gate import Gate
from sayso.gate.sealed_values import find_value, value_name, write_value
from sayso.store.contract import Reader, Writer

MOST = 2_000


class LastMessage(msgspec.Struct, frozen=True):
    text: str


def save_last_message(gate: Gate, tx: Writer, session: str, text: str) -> None:
    short = text if len(text) <= MOST else f"{text[:MOST]}… ({len(text)} characters)"
    write_value(gate, tx, _value_name(session), LastMessage(short), until=tx.now)


def forget_last_message(gate: Gate, tx: Writer, session: str) -> None:
    if tx.meta(_value_name(session)):
        write_value(gate, tx, _value_name(session), LastMessage(""), until=tx.now)


def load_last_message(gate: Gate, tx: Reader, session: str) -> str | None:
    """Return the user's last message; None if there is none, or it was tampered with."""
    kept = find_value(gate, tx, _value_name(session), LastMessage)
    return kept.text or None if kept is not None else None


def _value_name(session: str) -> str:
    return value_name("said", session)
