"""Which entries of the trail the operator is told about, and in which words.

The trail is the queue: an entry is stored with what it records, before anything runs, so a notice is queued
before the call that it tells of can run, and none is lost with the process that wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sayso.core.audit import events
from sayso.core.text.foreign import visible

Details = Mapping[str, Any]


class Notice(msgspec.Struct, frozen=True):
    """Something to be told, once, at one place. `id` is the place of its entry in the trail."""

    id: str
    at: float
    event: str
    text: str
    agent: str = ""
    session: str = ""
    operations: tuple[str, ...] = ()


class _Entry(msgspec.Struct, frozen=True):
    """What of an entry a notice is made from."""

    details: Mapping[str, Any]
    agent: str = ""
    session: str = ""
    operations: tuple[str, ...] = ()


def _own_notice(details: Details) -> str | None:
    """Return the words of the entry, in which somebody may be quoted: a file's text, an agent's name."""
    told = details.get("notice")
    return visible(told, None) if isinstance(told, str) else None


def _describe_tampering(details: Details) -> str:
    return f"Tampering found: {visible(str(details.get('finding')))}"


def _describe_expiry(details: Details) -> str:
    return f"Nobody answered question {visible(str(details.get('question')))} in time"


def _proof_refused(details: Details) -> str:
    return f"A signature was refused for question {visible(str(details.get('question')))}"


def _trusted_refused(details: Details) -> str:
    return f"The trusted channel refused a message: {visible(str(details.get('why')))}"


TOLD: Mapping[str, Callable[[Details], str | None]] = {
    **{name: _own_notice for name, kind in events.EVENTS.items() if "notice" in kind.__struct_fields__},
    events.TamperingFound.event: _describe_tampering,
    events.Expired.event: _describe_expiry,
    events.ProofRefused.event: _proof_refused,
    events.TrustedMessageRefused.event: _trusted_refused,
}
"""Every entry that holds a notice, and those that are one by what they record."""
_decode = msgspec.json.Decoder(_Entry).decode


def notice_of(stream: str, seq: int, at: float, event: str, body: bytes | None) -> Notice | None:
    """Return what is told about this entry, if anything. What was pruned is not told any more."""
    tell = TOLD.get(event)
    if tell is None or body is None or (tell is _own_notice and b'"notice"' not in body):
        return None
    entry = _decode(body)
    text = tell(entry.details)
    if text is None:
        return None
    return Notice(f"{stream}.{seq}", at, event, text, visible(entry.agent), entry.session, entry.operations)
