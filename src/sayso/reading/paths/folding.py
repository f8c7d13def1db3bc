"""Texts that are too long or odd to be read as a path at once, made plain first: by spelling alone."""

from __future__ import annotations

import base64
import binascii

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
    """Decode base64; None if the text is not base64."""
    if len(text) < _SHORTEST_CODE or len(text) % 4 or _CODE.fullmatch(text) is None:
        return None
    try:
        said = base64.b64decode(text, validate=True).decode(errors="replace")
    except binascii.Error:
        return None
    return said if _NAME.search(said) else None
