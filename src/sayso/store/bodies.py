"""The one thing a store looks at inside an entry's body: the operations it names."""

from __future__ import annotations

import msgspec

BEFORE = b'"operations":['
AFTER = b'],"seq":'
"""What stands around them. No text in an entry can hold this, because its quotes would be escaped."""

_decode_names = msgspec.json.Decoder(list[str]).decode


def operations_in(body: bytes | None) -> list[str]:
    """The operations of an entry; none if the body is gone or is not spelled as an entry is."""
    _, found, rest = (body or b"").partition(BEFORE)
    names, ends, _ = rest.partition(AFTER)
    return parse_names(names) if found and ends else []


def parse_names(names: bytes) -> list[str]:
    """Names with quotes around and commas between them."""
    try:
        return _decode_names(b"[" + names + b"]")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []
