"""What the user last said in a session, for people who are asked about what follows from it.

Kept for nothing else: it grants nothing, is not in the audit, and goes when the session ends.
"""

from __future__ import annotations

import hmac

import msgspec

from sayso.gate.gate import Gate
from sayso.store.base import Reader, Writer

MOST = 2_000


class Kept(msgspec.Struct, frozen=True):
    text: str
    seal: bytes


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Kept).decode


def keep_said(gate: Gate, tx: Writer, session: str, text: str) -> None:
    short = text if len(text) <= MOST else f"{text[:MOST]}… ({len(text)} characters)"
    tx.set_meta(_place(session), _encode(Kept(short, _seal(gate, session, short))).decode())


def forget_said(tx: Writer, session: str) -> None:
    if tx.meta(_place(session)):
        tx.set_meta(_place(session), "")


def last_said(gate: Gate, tx: Reader, session: str) -> str | None:
    """The user's last message; None if nobody told it, or it was written by hand."""
    text = tx.meta(_place(session))
    if not text:
        return None
    try:
        kept = _decode(text)
    except msgspec.MsgspecError:
        return None
    return kept.text if hmac.compare_digest(_seal(gate, session, kept.text), kept.seal) else None


def _place(session: str) -> str:
    return f"said/{session}"


def _seal(gate: Gate, session: str, text: str) -> bytes:
    return gate.sealer.text("said", f"{session}\n{text}")
