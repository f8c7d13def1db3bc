"""Files that no agent changes, and files it does not even read: those that the guard itself consists of.

Two tables: places that are known from the root on (this user's folders, the installed program, what this
process has opened), and names that count in any folder. Names are compared folded: some file systems tell
neither case nor Unicode form nor trailing dots apart.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec

from sayso.reading.paths.budget import once_per_call
from sayso.reading.paths.own_places import OwnKind, OwnPlaces, find_own_places, identity_of, list_opened_files
from sayso.reading.paths.protected_names import (
    AGENTS,
    BELOW,
    BY_PLACE,
    HOST,
    IN_CONFIG,
    IN_DATA,
    KEYS,
    PATTERNS,
    SECRET_PLACES,
    SOUL,
    WIDE,
    Guarded,
    Pattern,
)
from sayso.reading.paths.spellings import WILD, escape_open_brackets, fold_name, fold_path

_NOWHERE = (-1, -1)
_MOST_NAMES = 256
"""Names to follow in one path: of a longer one, whatever it mentions counts."""
_MOST_WILD = 16
"""Names with wildcards to follow in one path."""


class GuardMatch(msgspec.Struct, frozen=True):
    """The guarded files a path touches: the one it leads to, and one in the folder it leads to."""

    at: Guarded | None = None
    around: Guarded | None = None


NO_MATCH = GuardMatch()

_FIRST: dict[str, list[Pattern]] = {}
for _pattern in PATTERNS:
    _FIRST.setdefault(_pattern.names[0], []).append(_pattern)
_SECRET_FIRST = {place[0] for place in SECRET_PLACES}
GUARDED_FIRST_NAMES = frozenset(_FIRST)
"""A path without any of these names, in lower case, is guarded by none of its names."""


def find_guarded(real: str, *also: str, folder: str, workspace: str, home: str) -> GuardMatch:
    """Return the guarded files a resolved path touches, in any of its spellings."""
    own, roots = own_places_of_call(home), (workspace, folder, home)
    spelled = [_find_as_spelled(path, own, roots) for path in dict.fromkeys((real, *also))]
    return strictest_of((*spelled, _find_by_file(real, own, roots), _find_inside(real)))


own_places_of_call = once_per_call(find_own_places)
"""Sayso's own places, looked up once for a call."""


def _find_as_spelled(path: str, own: OwnPlaces, roots: Iterable[str]) -> GuardMatch:
    parts = fold_path(path)
    named = _find_by_name(parts)
    if named.at in (AGENTS, SOUL) and _is_ordinary_page(path, parts, roots):
        named = NO_MATCH
    return strictest_of((_find_by_place(parts, own), named))


def find_named(path: str) -> GuardMatch:
    """Return the guarded files a path may touch if its start is unknown."""
    return _find_by_name(fold_path(path))


def begins_guarded(name: str) -> bool:
    """Return whether a guarded or secret place may begin with this one name, which has no wildcard in it."""
    folded = fold_name(name)
    return folded in _FIRST or folded in _SECRET_FIRST


def find_spelled(path: str, own: OwnPlaces) -> GuardMatch:
    """Return the guarded files an absolute path touches by its spelling, no link followed."""
    parts = fold_path(path)
    return strictest_of((_find_by_place(parts, own), _find_by_name(parts)))


class CoveredPlace(msgspec.Struct, frozen=True):
    """A place whose names are all there: as it is spelled, and the names it was found by."""

    path: str
    parts: frozenset[str]


def find_covered_places(parts: Iterable[str]) -> list[CoveredPlace]:
    """The guarded and secret places of several names that could be put together from these names."""
    names = {part for part in parts if part.strip("*?.")}
    likely = dict.fromkeys(
        one for part in sorted(names) for one in _patterns_from(part) if len(one.names) > 1
    )
    found = [_cover(pattern.names, names, rooted=pattern.rooted) for pattern in likely]
    found += [_cover(place, names, rooted=True) for place in SECRET_PLACES]
    return [one for one in found if one is not None]


def _cover(wanted: tuple[str, ...], names: set[str], *, rooted: bool) -> CoveredPlace | None:
    matched = [{name for name in names if _alike(name, want)} for want in wanted if want != BELOW]
    if not all(matched):
        return None
    spelled = "/".join("x" if want == BELOW else want.replace("*", "x") for want in wanted)
    return CoveredPlace(f"/{spelled}" if rooted else spelled, frozenset().union(*matched))


def find_mentioned(text: str) -> GuardMatch:
    """Match everything a text mentions, where it has too many readings to follow each."""
    folded = fold_name(unquote(unquote(text)))
    if "sayso" in folded or "gate.key" in folded:
        return GuardMatch(KEYS)
    return GuardMatch(HOST) if any(name in folded for name in _FIRST.keys() - WIDE) else NO_MATCH


def strictest_of(several: Iterable[GuardMatch]) -> GuardMatch:
    """All that several readings touch; what must not be read comes first."""
    found = tuple(several)
    at = [one.at for one in found if one.at is not None]
    around = [one.around for one in found if one.around is not None]
    return GuardMatch(_strictest(at), _strictest(around)) if at or around else NO_MATCH


def _strictest(found: Sequence[Guarded]) -> Guarded | None:
    return max(found, key=lambda one: (one.look is not None, one.own), default=None)


# --- by place ---


def _find_by_place(parts: list[str], own: OwnPlaces) -> GuardMatch:
    """Below or above a place that is known from the root on."""
    if any(WILD.search(part) for part in parts):
        return strictest_of(_match_place(parts, place, known) for place, known in own.at.items())
    for end in range(min(len(parts), max(map(len, own.at), default=0)), 0, -1):
        known = own.at.get(tuple(parts[:end]))
        if known is not None:
            return GuardMatch(_guard_in_place(known, parts[end:]))
    known = own.above.get(tuple(parts))
    return GuardMatch(around=_guard_in_place(known, [])) if known is not None else NO_MATCH


def _match_place(parts: list[str], place: tuple[str, ...], known: OwnKind) -> GuardMatch:
    for part, wanted in zip(parts, place, strict=False):
        if part == BELOW:
            break
        if not _alike(part, wanted):
            return NO_MATCH
    whole = BELOW not in parts and len(parts) < len(place)
    guarded = _guard_in_place(known, parts[len(place) :])
    return GuardMatch(around=guarded) if whole else GuardMatch(guarded)


def _guard_in_place(known: OwnKind, rest: list[str]) -> Guarded:
    """The config folder holds what can be read, and what cannot."""
    inside = {"config": IN_CONFIG, "data": IN_DATA}.get(known, ((BELOW, BY_PLACE.get(known, KEYS)),))
    return next(guarded for name, guarded in inside if _is_in(rest, name))


def _is_in(rest: list[str], name: str) -> bool:
    if name == BELOW:
        return True
    return len(rest) == 1 and fnmatch.fnmatchcase(rest[0], name) if name else not rest


# --- by name ---


def _find_by_name(parts: list[str]) -> GuardMatch:
    """A guarded name in whatever folder."""
    found: list[GuardMatch] = []
    if len(parts) > _MOST_NAMES or sum(WILD.search(part) is not None for part in parts) > _MOST_WILD:
        return find_mentioned("/".join(parts))
    for start, part in enumerate(parts):
        if not part.strip("*?.") and _only_wild(parts[start:]):
            break  # and so is all that follows
        likely = [pattern for pattern in _patterns_from(part) if start == 0 or not pattern.rooted]
        found += [_match(parts[start:], pattern) for pattern in likely]
    first = next((one.at for one in found if one.at is not None), None)
    return GuardMatch(first, _strictest([one.around for one in found if one.around is not None]))


def _patterns_from(part: str) -> list[Pattern]:
    """The patterns that a path may fit from this name of it on."""
    if not WILD.search(part):
        return _FIRST.get(part, [])
    fits = fnmatch.filter(_FIRST, escape_open_brackets(part))
    return [pattern for first in fits for pattern in _FIRST[first]]


def _match(parts: list[str], pattern: Pattern) -> GuardMatch:
    names = pattern.names
    for index, wanted in enumerate(names):
        if wanted == BELOW and index == len(names) - 1:
            return NO_MATCH if _only_wild(parts[:index]) else GuardMatch(pattern.guarded)
        if wanted == BELOW:
            return _match_deeper(parts[index:], names[index + 1 :], pattern)
        if index == len(parts):
            wide = parts[-1] in WIDE or _only_wild(parts)
            return NO_MATCH if wide else GuardMatch(around=pattern.guarded)
        if parts[index] == BELOW:
            return NO_MATCH if _only_wild(parts[:index]) else GuardMatch(pattern.guarded)
        if not _alike(parts[index], wanted):
            return NO_MATCH
    whole = len(parts) == len(names)
    return GuardMatch(pattern.guarded) if whole and not _only_wild(parts) else NO_MATCH


def _match_deeper(parts: list[str], names: tuple[str, ...], pattern: Pattern) -> GuardMatch:
    """The rest of the names, any number of folders further down."""
    rest = Pattern(names, pattern.guarded)
    found = (_match(parts[start:], rest) for start in range(len(parts)))
    return next((one for one in found if one.at is not None), NO_MATCH)


def _alike(part: str, wanted: str) -> bool:
    """Return whether a name fits; either side may hold wildcards."""
    if part == wanted or (_is_wild(wanted) and fnmatch.fnmatchcase(part, wanted)):
        return True
    if not _is_wild(part):
        return False
    samples = ("", "x", ".local") if "*" in wanted else ("",)
    fits = escape_open_brackets(part)
    return any(fnmatch.fnmatchcase(wanted.replace("*", sample), fits) for sample in samples)


def _is_wild(name: str) -> bool:
    return "*" in name or "?" in name or "[" in name


def _only_wild(parts: Sequence[str]) -> bool:
    """Return whether nothing in it is a name: `*` alone attempts nothing."""
    return all(not part.strip("*?.") for part in parts)


def _is_ordinary_page(real: str, parts: list[str], roots: Iterable[str]) -> bool:
    """`docs/agents.md` is a page about agents where the file system tells it from `AGENTS.md`."""
    folder, name = os.path.split(real)
    if name != parts[-1] or name != name.lower() or not name.endswith(".md"):
        return False
    if _find_by_name([name]).at is None or _find_by_name([*parts[:-1], "page.md"]).at is not None:
        return False  # it is guarded for its folder, not for its name
    return folder not in {os.path.realpath(root) for root in roots if root} and _tells_case(folder)


def _tells_case(folder: str) -> bool:
    """Return whether the file system there is case-sensitive; False if that is unknown."""
    for here in (Path(folder), *Path(folder).parents):
        found = identity_of(str(here))
        other = here.with_name(here.name.swapcase()) if here.name else here
        if other != here and found is not None:
            return identity_of(str(other)) != found
    return False


# --- by file ---


_NAMES_AT_ROOTS = (
    "AGENTS.md", "CLAUDE.md", "GEMINI.md", "SOUL.md", ".sayso.yaml", ".sayso.yml", ".sayso.json",
    ".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml", ".codex/hooks.json",
    ".gemini/settings.json", ".cursor/hooks.json", ".github/copilot-instructions.md", ".github/hooks/",
    ".vscode/settings.json", "opencode.json", ".opencode/plugins/", ".openclaw/openclaw.json",
    ".mcp.json", ".claude-plugin/", ".zed/", ".kiro/", ".continue/", ".amazonq/", ".roo/", ".roomodes",
    ".junie/", ".augment/", ".trae/", ".qwen/", "QWEN.md", "AGENT.md", ".cursorrules", ".windsurfrules",
    ".goosehints", ".aider.conf.yml",
)  # fmt: skip
"""What a project or a home folder may hold, as it is spelled there; folders end in a slash."""


@functools.cache
def _files_at_roots() -> tuple[tuple[str, Guarded], ...]:
    return tuple(
        (name.rstrip("/"), found)
        for name in _NAMES_AT_ROOTS
        if (found := _find_by_name(fold_path(name)).at) is not None
    )


@functools.cache
def _folders_at_roots() -> tuple[tuple[str, Guarded], ...]:
    return tuple(one for one in _files_at_roots() if f"{one[0]}/" in _NAMES_AT_ROOTS)


@functools.cache
def guarded_at_roots() -> frozenset[str]:
    """A folder without any of these names in it, folded, holds none of them."""
    return frozenset(name.partition("/")[0].casefold() for name, _ in _files_at_roots())


def _find_by_file(real: str, own: OwnPlaces, roots: Iterable[str]) -> GuardMatch:
    """The same file under another name: a hard link, or a folder that is mounted or linked elsewhere."""
    here = identity_of(real)
    found = None if here is None else own.files.get(here)
    if found is not None:
        return GuardMatch(_guard_in_place(found[1], [fold_name(found[0])]))
    linked = [] if here is None else _find_linked(real, here, roots)
    return GuardMatch(_strictest(linked)) if linked else _find_mounted(real, own)


def _find_linked(real: str, here: tuple[int, int], roots: Iterable[str]) -> list[Guarded]:
    """Guarded files that this one is another name of. A folder is compared with folders alone."""
    found = os.lstat(real)
    if found.st_nlink <= 1:
        return []
    is_folder = stat.S_ISDIR(found.st_mode)
    likely = _folders_at_roots() if is_folder else _files_at_roots()
    opened = () if is_folder else list_opened_files()
    linked = [BY_PLACE[known] for path, known in opened if identity_of(path) == here]
    return linked + [
        guarded
        for root in dict.fromkeys(roots)
        for name, guarded in (likely if root else ())
        if identity_of(f"{root}/{name}") == here
    ]


def _find_mounted(real: str, own: OwnPlaces) -> GuardMatch:
    """In a folder that is one of Sayso's under another name."""
    here = real
    while here != "/":
        known = own.folders.get(identity_of(here) or _NOWHERE)
        if known is not None:
            return GuardMatch(_guard_in_place(known, fold_path(real[len(here) :])))
        here = here.rpartition("/")[0] or "/"
    return NO_MATCH


def _find_inside(real: str) -> GuardMatch:
    """A folder with an agent's instructions or a host's settings in it."""
    is_dir = os.path.isdir(real)  # noqa: PTH112  Path.is_dir raises for a name that is too long
    return GuardMatch(around=find_guarded_in(real)) if is_dir else NO_MATCH


def find_guarded_in(folder: str, pattern: str = "*") -> Guarded | None:
    """An agent's instructions or a host's settings in this folder that a pattern of git's fits."""
    wanted, is_there = pattern.casefold(), functools.cache(os.path.lexists)
    for name, guarded in _files_at_roots():
        if (wanted == "*" or _fits(name.casefold(), wanted)) and (
            is_there(f"{folder}/{name.partition('/')[0]}") and is_there(f"{folder}/{name}")
        ):
            return guarded
    return None


def _fits(name: str, pattern: str) -> bool:
    """Return whether a pattern matches this name or a folder above it; `**/` may match no folder."""
    parts = name.split("/")
    ways = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    short = pattern.replace("**/", "")
    return any(fnmatch.fnmatchcase(way, each) for way in ways for each in (pattern, short))
