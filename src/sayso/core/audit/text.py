"""Audit entries for reading: one line a person reads, one line a program reads (and can verify).

Text is `2026-11-15T08:00:00Z | EVENT | operation | details`. Whatever came from outside is quoted where it is
more than one plain word, and nothing in it can end a line, begin a field or hide: see `_shown`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from sayso.core.audit.entry import AuditBody, ChainRow, read_body
from sayso.core.digest import encode_canonical
from sayso.core.text.foreign import FOLD_AT
from sayso.core.text.patterns import lazy_pattern

NONE = "-"
_WORD = lazy_pattern(r"[A-Za-z0-9_./:@+-]{1,200}")


def format_text_line(body: bytes) -> str:
    """The entry as people read it: whole seconds, its operations, then who and what as `name=value`."""
    said = read_body(body)
    operations = ",".join(map(_format_value, said.operations)) or NONE
    return " | ".join((f"{said.at[:19]}Z", said.event, operations, _format_details(said)))


def format_pruned_line(seq: int, stream: str) -> str:
    """Stands where the body of an entry was dropped."""
    return f"{NONE} | {NONE} | {NONE} | the body of entry {seq} of {_format_value(stream)} was pruned"


def format_json_line(row: ChainRow, stream: str) -> bytes:
    """The stored entry as a line of JSON, without newline; `entry` holds the very bytes that were hashed."""
    seq, body, prev, digest = row
    rest = encode_canonical({"hash": digest.hex(), "prev": prev.hex(), "seq": seq, "stream": stream})
    return b'{"entry":' + (b"null" if body is None else body) + b"," + rest[1:]


def _format_details(said: AuditBody) -> str:
    pairs: Mapping[str, object] = {
        **({"agent": said.agent} if said.agent else {}),
        **({"session": said.session} if said.session else {}),
    }
    shown = [f"{name}={_format_value(value)}" for name, value in pairs.items()]
    for name, value in said.details.items():
        prefix = "details." if name in pairs else ""
        shown.append(f"{prefix}{_format_value(name)}={_format_value(value)}")
    shown += [f"{_format_value(name)}=sha256:{hashed[:12]}" for name, hashed in said.commitments.items()]
    return " ".join(shown) or NONE


def _format_value(value: object) -> str:
    """A value as itself if it is one plain word, else as JSON in which only plain characters stand bare."""
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    text = value if isinstance(value, str) else encode_canonical(value).decode()
    shown = encode_canonical(text[:FOLD_AT]).decode() if isinstance(value, str) else text[:FOLD_AT]
    bare = "".join(c if _harmless(c) else _escape_character(c) for c in shown)
    return bare if len(text) <= FOLD_AT else f"{bare}… ({len(text)} characters in all)"


def _harmless(character: str) -> bool:
    return character == " " or (character != "|" and unicodedata.category(character)[0] not in "CZM")


def _escape_character(character: str) -> str:
    """The JSON escape, in two halves beyond U+FFFF."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
