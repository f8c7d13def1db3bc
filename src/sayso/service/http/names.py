"""Names with a NUL, which not every database can hold: nothing has one, so on no store is one looked for."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.text.foreign import NUL
from sayso.service.http.problems import RequestRefused

SPELLED_NUL = b"\\u0000"
"""How JSON spells it, and no other way."""
TEXTS = frozenset({"text", "plan", "reason", "why", "content", "diff", "undo"})
"""Fields with what somebody wrote, whatever is in it: a stop has to arrive. All others name something."""


def refuse_nul(value: Any, status: int = 404) -> None:
    """Refuse what names something with a NUL. Members of a mapping, like arguments, are data."""
    if isinstance(value, str) and NUL in value:
        code = "not_found" if status == 404 else "malformed"
        raise RequestRefused(status, code, "there is nothing of that name", hint="no name holds a NUL")
    if isinstance(value, list | tuple | set | frozenset):
        for member in value:
            refuse_nul(member, status)
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            if field not in TEXTS:
                refuse_nul(getattr(value, field), status)
