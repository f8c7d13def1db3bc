"""Entries that no gate would write: under any name, with any details."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from sayso.core.audit.events import AuditEvent


def forged_event(name: str, /, **details: object) -> AuditEvent:
    """Return an event that claims to be the one of this name."""
    return _forged_kind(name, tuple(details))(**details)


@cache
def _forged_kind(name: str, names: tuple[str, ...]) -> type[AuditEvent]:
    fields = [(field, Any) for field in names]
    made: Any = msgspec.defstruct(
        "Forged", fields, bases=(AuditEvent,), namespace={"event": name}, frozen=True
    )
    kind: type[AuditEvent] = made
    return kind
