"""Entries of the program data, checked and made ready: option texts become tables, names become lists.

The format is described at the top of `programs/text.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_COPIED = (
    "is", "why", "special", "skip", "alone", "helps", "prefixes", "style", "stops", "number", "inherits",
    "drops", "deep", "follows",
)  # fmt: skip
"""Keys whose values are taken as they are written."""
KEYS = frozenset({*_COPIED, "risk", "options", "operands", "modes", "adds", "subcommands", "like"})
_MODE_KEYS = frozenset({"with", "all", "without", "count", "is", "risk", "why", "operands"})
SHAPES = (
    "remote", "refspec", "repository", "resource", "member", "output", "host", "action", "destination",
    "flag", "plain", "package", "endpoint", "stored", "standard", "fields", "query", "shown", "connection",
)  # fmt: skip
"""Kinds of words that are known by their shape: the patterns are the sets NAME_words of the data."""
KINDS = frozenset(
    {
        *SHAPES,
        "text", "read", "list", "search", "public", "write", "named", "edit", "create", "delete", "into",
        "sources", "document", "rights", "folder", "suffix", "copied", "inventory", "run", "script", "config",
        "code", "url", "rev", "sed", "awk", "jq", "sql", "module", "pair", "signal", "socket", "binding",
        "template", "project", "target", "setting",
    }
)  # fmt: skip
NO_OPERANDS = frozenset({"none", "here"})
"""Words that stand for no operand: nothing is given; the working folder is written."""
_RISKS = ("low", "moderate", "high")


class WrongEntry(ValueError):
    """An entry of the program data is not what the format wants."""


def compile_programs(raw: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Every program of these entries; a key may name several, separated by blanks."""
    written: dict[str, Any] = {}
    for names, entry in raw.items():
        for name in str(names).split():
            if name in written:
                raise WrongEntry(f"{name} stands twice")
            written[name] = entry
    table = {**(known or {}), **written}
    return {name: compile_entry(name, entry, table) for name, entry in written.items()}


def compile_entry(
    name: str,
    entry: Mapping[str, Any] | None,
    table: Mapping[str, Any],
    above: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One program or subcommand. `above` are the names of its parents' options."""
    raw = inherit_entry(name, dict(entry or {}), table)
    wrong = set(raw) - KEYS
    if wrong:
        raise WrongEntry(f"{name}: {', '.join(sorted(map(str, wrong)))} is not a key of a program")
    made: dict[str, Any] = {key: raw[key] for key in _COPIED if key in raw}
    _check_risk(name, raw, made)
    options = _compile_options(name, raw.get("options"))
    canonical = {**(above or {}), **{key: one[0] for key, one in options.items()}}
    if options:
        made["options"] = options
    if "operands" in raw:
        made["operands"] = _compile_operands(name, raw["operands"])
    if "modes" in raw:
        made["modes"] = [_compile_mode(name, one, canonical) for one in raw["modes"]]
    if "adds" in raw:
        made["adds"] = [
            {**_effect(name, what), "with": _names(name, keys, canonical)}
            for keys, what in raw["adds"].items()
        ]
    if "subcommands" in raw:
        inner = {each: below for names, below in raw["subcommands"].items() for each in str(names).split()}
        made["subcommands"] = {
            each: compile_entry(f"{name} {each}", below, table, canonical) for each, below in inner.items()
        }
    return made


def inherit_entry(name: str, raw: dict[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """An entry that is like another one: that one's keys, under its own; options add up."""
    like = raw.pop("like", None)
    if like is None:
        return raw
    if like not in table:
        raise WrongEntry(f"{name}: there is no {like} to be like")
    base = inherit_entry(like, dict(table[like] or {}), table)
    merged = {**base, **raw}
    if "options" in base and "options" in raw:
        merged["options"] = f"{_joined(base['options'])} {_joined(raw['options'])}"
    if "subcommands" in base and "subcommands" in raw:
        merged["subcommands"] = {**base["subcommands"], **raw["subcommands"]}
    return merged


def _joined(options: Any) -> str:
    return options if isinstance(options, str) else " ".join(options)


def _check_risk(name: str, raw: Mapping[str, Any], made: dict[str, Any]) -> None:
    if "risk" in raw:
        if raw["risk"] not in _RISKS:
            raise WrongEntry(f"{name}: a risk is low, moderate or high")
        made["risk"] = raw["risk"]


def _compile_options(name: str, text: Any) -> dict[str, list[str]]:
    """`-n,--lines=` takes a value, `--color?` may have one joined; a word after the mark says its kind."""
    return {key: [keys[0], takes, kind] for keys, takes, kind in split_options(name, text) for key in keys}


def split_options(name: str, text: Any) -> Iterator[tuple[list[str], str, str]]:
    """Yield the names of each option, how it takes a value, and of which kind."""
    for token in _joined(text or "").split():
        names, takes, kind = token, "", "text"
        for mark in ("=", "?"):
            head, sign, tail = token.partition(mark)
            if sign and not head.endswith(","):
                names, takes, kind = head, ":" if mark == "=" else "?", tail or "text"
                break
        if kind not in KINDS:
            raise WrongEntry(f"{name}: {kind} is not a kind of value ({token})")
        keys = names.split(",")
        for key in keys:
            if key[:1] not in "-+" or len(key) < 2:
                raise WrongEntry(f"{name}: {key!r} is not an option")
        yield keys, takes, kind


def _compile_operands(name: str, text: Any) -> list[str]:
    kinds = [kind for kind in str(text).split() if kind not in NO_OPERANDS]
    for kind in kinds:
        if kind.removesuffix("*") not in KINDS:
            raise WrongEntry(f"{name}: {kind} is not a kind of operand")
    return kinds


def _names(name: str, text: Any, canonical: Mapping[str, str]) -> list[str]:
    found = []
    for key in str(text).split():
        if key not in canonical:
            raise WrongEntry(f"{name}: {key} is none of its options")
        found.append(canonical[key])
    return found


def _effect(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {key: raw[key] for key in ("is", "why") if key in raw}
    _check_risk(name, raw, made)
    return made


def _compile_mode(name: str, raw: Mapping[str, Any], canonical: Mapping[str, str]) -> dict[str, Any]:
    wrong = set(raw) - _MODE_KEYS
    if wrong:
        raise WrongEntry(f"{name}: {', '.join(sorted(map(str, wrong)))} is not a key of a mode")
    made = _effect(name, raw)
    for key in ("with", "all", "without"):
        if key in raw:
            made[key] = _names(name, raw[key], canonical)
    if "count" in raw:
        made["count"] = int(raw["count"])
    if "operands" in raw:
        made["operands"] = _compile_operands(name, raw["operands"])
    return made


def compile_files(files: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """All data files together: operations, lists of names, and programs."""
    operations: dict[str, Any] = {}
    sets: dict[str, list[str]] = {}
    programs: dict[str, Any] = {}
    for file, content in files:
        for operation, said in (content.get("operations") or {}).items():
            operations[operation] = [said["risk"], said["why"]]
        for key, names in (content.get("sets") or {}).items():
            sets[key] = sorted({*sets.get(key, ()), *(names.split() if isinstance(names, str) else names)})
        for names, entry in (content.get("programs") or {}).items():
            for name in str(names).split():
                if name in programs:
                    raise WrongEntry(f"{file}: {name} stands twice")
                programs[name] = entry
    return {"operations": operations, "sets": sets, "programs": compile_programs(programs)}
