"""Names that no store has, as not every database can hold them: with a NUL or half of a surrogate pair."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sayso.core.text.foreign import NUL
from sayso.service.http.problems import RequestRefused

may_be_unnameable = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])").search
"""Looks for how JSON spells them, and no other way. A whole pair is spelled so as well."""
_find_surrogate = re.compile("[\ud800-\udfff]").search
TEXTS = frozenset({"text", "plan", "reason", "why", "content", "diff", "undo"})
"""Fields with what somebody wrote, whatever is in it: a stop has to arrive. All others name something."""


def refuse_nul(value: Any, status: int = 404) -> None:
    """Refuse what names something with a NUL. Members of a mapping, like arguments, are data."""
    _refuse(value, status, surrogates=False)


def refuse_unnameable(value: Any, status: int = 404) -> None:
    """The same with half of a surrogate pair as well."""
    _refuse(value, status, surrogates=True)


def _refuse(value: Any, status: int, *, surrogates: bool) -> None:
    if isinstance(value, str) and (NUL in value or (surrogates and _find_surrogate(value))):
        code = "not_found" if status == 404 else "malformed"
        hint = "no name holds a NUL, or half of a surrogate pair"
        raise RequestRefused(status, code, "there is nothing of that name", hint=hint)
    if isinstance(value, list | tuple | set | frozenset):
        for member in value:
            _refuse(member, status, surrogates=surrogates)
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            if field not in TEXTS:
                _refuse(getattr(value, field), status, surrogates=surrogates)
