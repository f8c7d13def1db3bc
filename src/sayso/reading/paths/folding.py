"""Texts that are too long or odd to be read as a path at once, made plain first: by spelling alone."""

from __future__ import annotations

import base64
import re

from sayso.core.text.patterns import lazy_pattern

MAX_PATH_LENGTH = 4096
"""The longest path that systems take."""
_LINES_OF_PROSE = 4
_SHORTEST_CODE = 8
_INVISIBLE = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{4}")
"""Without as much as this it names nothing: most words are base64 of noise."""
_CODE = lazy_pattern(r"[A-Za-z0-9+/]+={0,2}")
_ANY_CODE = lazy_pattern(r"[A-Za-z0-9+/_-]+")
_DATA_ADDRESS = lazy_pattern(r"\s*data:[^,]{0,200};base64,", re.IGNORECASE)


def is_odd(text: str) -> bool:
    """Return whether a text is too long for a path, or has more line ends than one has."""
    return len(text) > MAX_PATH_LENGTH or text.count("\n") + text.count("\r") >= _LINES_OF_PROSE


def fold_away(text: str) -> str:
    """An odd text without what leads nowhere: invisible characters, empty names, `.`, and `x/..` at last."""
    plain = _INVISIBLE.sub("", text).replace("\\", "/")
    if "/" not in plain:
        return plain
    root = "/" if plain.startswith("/") else ""
    names = [name for name in plain.split("/") if name not in ("", ".")]
    folded = root + "/".join(names)
    return root + "/".join(_drop_parents(names)) if is_odd(folded) else folded


def _drop_parents(names: list[str]) -> list[str]:
    kept: list[str] = []
    for name in names:
        if name == ".." and kept and kept[-1] != "..":
            kept.pop()
        else:
            kept.append(name)
    return kept


def decode_text(text: str) -> str | None:
    """Decode base64 in any of its usual forms; None if the text is not base64.

    It may be the alphabet of addresses, without padding, in lines, or in a `data:` address. What is not
    strictly base64 counts only if it decodes to text: most words would be base64 of noise.
    """
    if len(text) < _SHORTEST_CODE:
        return None
    strict = len(text) % 4 == 0 and _CODE.fullmatch(text) is not None
    code = text if strict else _make_strict(text)
    try:
        said = base64.b64decode(code, validate=True).decode(errors="replace" if strict else "strict")
    except ValueError:
        return None
    return said if _NAME.search(said) else None


def _make_strict(text: str) -> str:
    """The same code in the common alphabet, on one line and padded; "" if it cannot be one."""
    code = "".join(_DATA_ADDRESS.sub("", text, count=1).split()).rstrip("=")
    if len(code) < _SHORTEST_CODE or _ANY_CODE.fullmatch(code) is None:
        return ""
    return code.replace("-", "+").replace("_", "/") + "=" * (-len(code) % 4)
