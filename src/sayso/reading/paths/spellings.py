"""Spellings of a path that programs read in different ways: white space, quotes, URLs, variables, wildcards.

- A plain path has one reading. Of any other, every plausible reading counts, and the strictest decides.
- A text that is too long or odd to be read as a path at once is made plain first, by its spelling alone.
- Base64 counts as the text it encodes.
"""

from __future__ import annotations

import base64
import functools
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any
from urllib.parse import unquote

from sayso.core.text.patterns import lazy_pattern

SYSTEM_FOLDERS = ("/etc", "/usr", "/bin", "/sbin", "/boot", "/dev", "/proc", "/sys")
IN_SYSTEM = tuple(f"{folder}/" for folder in SYSTEM_FOLDERS)

MAX_PATH_LENGTH = 4096
"""The longest path that systems take."""
MAX_SPELLINGS = 64
"""Readings to look at. Of a path with that many, nobody can say what it is."""
MAX_VALUE_DEPTH = 8

WILD = lazy_pattern(r"[*?\[]")
_QUOTES = "'\"`´‘’“”«»<>"  # noqa: RUF001  people and models paste these
_HEAD = lazy_pattern(r"([a-z][a-z0-9+.-]*):(.*)", re.IGNORECASE | re.DOTALL)
_REMOTE = {"http", "https", "ws", "wss", "ftp", "ftps", "ssh", "git", "s3", "gs", "mailto", "data"}
_LOCAL = lazy_pattern(r"file|unix|(?:vscode|cursor)[\w.-]*", re.IGNORECASE)
_ENCODED = lazy_pattern(r"%[0-9a-f]{2}", re.IGNORECASE)
_VARIABLE = lazy_pattern(r"\$\{(\w+)[^}]*\}|\$env:(\w+)|\$(\w+)|%(\w+)%", re.IGNORECASE)
_SUBSTITUTED = lazy_pattern(r"\$\(|\$\{|\$\w|%\w+%")
_BRACES = lazy_pattern(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_LINE = lazy_pattern(r"(?::\d+){1,2}$|#[^/#]*$")
_LINKS = lazy_pattern(r"/proc/[^/]+/(?:task/[^/]+/)?(root|cwd)(?=/|$)")
_STRUCTURE = set("/\\.~*?[{$%:")
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
_DATA_ADDRESS = lazy_pattern(r"data:[^,]{0,200};base64,", re.IGNORECASE)


def is_plain(path: str) -> bool:
    """Return whether every program reads this path in the same way."""
    odd = (WILD, _ENCODED, _SUBSTITUTED, _BRACES, _LINE, _LINKS)
    return not (
        path != path.strip()
        or any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in path)
        or path[:1] in _QUOTES
        or path[-1:] in _QUOTES
        or "\\" in path
        or path[0] == "@"
        or (path[0] == "~" and path[1:2] not in ("", "/"))
        or is_url(path)
        or any(one.search(path) for one in odd)
        or _hides_structure(path)
    )


def is_url(path: str) -> bool:
    """Return whether the text starts like a URL of a file: `file:x`, `vscode://file/x`, `C:/x`."""
    head = _HEAD.match(path)
    if head is None or head[1].casefold() in _REMOTE:
        return False
    return _LOCAL.fullmatch(head[1]) is not None or head[2][:1] in ("/", "\\") or is_url(head[2])


def spellings_of_path(path: str, *, folder: str, home: str) -> tuple[str, ...]:
    """Every plausible reading, the one given first; MOST of them if there are more."""
    found = dict.fromkeys((path,))
    variables = {**os.environ, "HOME": home, "USERPROFILE": home, "PWD": folder}
    fresh = found
    while fresh and len(found) < MAX_SPELLINGS:
        reached = (
            new for one in fresh for new in _next_spellings(one, variables) if new and new not in found
        )
        fresh = dict.fromkeys(islice(reached, MAX_SPELLINGS))
        found |= fresh
    return tuple(found)[:MAX_SPELLINGS]


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text inside a value, keys included, where an object is given for a path."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)) and depth < MAX_VALUE_DEPTH:
        members = chain.from_iterable(value.items()) if isinstance(value, Mapping) else value
        for member in members:
            yield from texts_in(member, depth + 1)


def _next_spellings(path: str, variables: Mapping[str, str]) -> Iterator[str]:
    """The readings that lie one step away, and the path itself where a step changes nothing."""
    visible = "".join(c for c in path if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp"))
    yield visible.strip()
    if visible != path:
        yield from (line.strip() for line in re.split(r"[\0\r\n\u2028\u2029]+", path))
    yield from (path.strip(_QUOTES), re.sub(r"['\"`]", "", path))
    yield unquote(path, errors="replace")
    yield from (path.replace("\\", "/"), path.replace("\\", ""))
    if is_url(path):
        yield from _without_scheme(path)
    yield _LINE.sub("", path)  # `a.py:12:3`, `a.py#L3` and `a.md#usage` name a place in a file
    yield path.lstrip("@")  # `@a.py` is how chats and some programs name a file
    yield from expand_braces(path)
    if _hides_structure(path):
        yield unicodedata.normalize("NFKC", path)
    if path[:1] == "~" and path[:2] not in ("~", "~/") and "\0" not in path:  # the home folder of that user
        yield os.path.expanduser(path)  # noqa: PTH111  Path.expanduser raises for unknown users
    if _SUBSTITUTED.search(path):
        yield _VARIABLE.sub(lambda found: _variable_value(found, variables), path)
    if _LINKS.search(path):
        yield _LINKS.sub(lambda found: variables["PWD"] if found[1] == "cwd" else "", path) or "/"


def _variable_value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name = next(group for group in found.groups() if group)
    folded = {key.casefold(): value for key, value in variables.items()}
    return variables.get(name, folded.get(name.casefold(), ""))


def _without_scheme(path: str) -> Iterator[str]:
    """Yield the rest after the scheme: with and without a host, from the root and from the folder."""
    rest = path.partition(":")[2]
    bare = rest.lstrip("/\\")
    yield from (rest, bare, f"/{bare}")
    if rest.startswith("//") and "/" in bare:
        yield "/" + bare.partition("/")[2]
    yield from (path.partition(mark)[0] for mark in "?#" if mark in rest)


def expand_braces(path: str) -> Iterator[str]:
    """`{a,b}` as a shell expands it; of a range only its ends and a wildcard are looked at."""
    braces = _BRACES.search(path)
    if braces is not None:
        parts = braces[1].split(",") if "," in braces[1] else [*braces[1].split(".."), "*"]
        yield from (path[: braces.start()] + part + path[braces.end() :] for part in parts)


def _hides_structure(path: str) -> bool:
    """Return whether another Unicode form of it has separators, dots or wildcards that it does not show."""
    odd = () if path.isascii() else (one for one in path if not one.isascii())
    return any(c in _STRUCTURE for one in odd for c in unicodedata.normalize("NFKC", one))


def expand_home(path: str, home: str) -> str:
    """Return the path with the home folder in place of its tilde; the tilde of another user stays."""
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def escape_open_brackets(pattern: str) -> str:
    """Return the pattern with every bracket that nothing closes escaped: it stands for itself.

    `fnmatch` would search the rest of the pattern for the end of each.
    """
    end = pattern.rfind("]") + 1
    return pattern[:end] + pattern[end:].replace("[", "[[]")


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


def in_system(path: str) -> bool:
    """Return whether a path from the root on lies in a folder of the system."""
    return f"{path}/".startswith(IN_SYSTEM)


def fold_path(path: str) -> list[str]:
    """The names on the way, each in the spelling that look-alikes share."""
    return [fold_name(name) for name in path.split("/") if name not in ("", ".")]


@functools.lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name)
    if not plain.isascii():
        plain = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    plain = plain.casefold().partition("::$")[0]
    return plain.rstrip(" .") or plain
