"""Entries of the program data, checked and made ready, each in the shape of a `KnownProgram`.

The format is described at the top of `programs/text.yaml`. The build imports this before Sayso is installed,
so only the standard library is imported here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

_EFFECT_KEYS = frozenset({"is", "risk", "why"})
_MODE_KEYS = _EFFECT_KEYS | {"with", "all", "without", "count", "operands"}
_KEYS = _EFFECT_KEYS | {
    "special", "skip", "alone", "helps", "prefixes", "style", "stops", "number", "inherits", "drops", "deep",
    "follows", "options", "operands", "modes", "adds", "subcommands", "like",
}  # fmt: skip
SHAPES = (
    "remote", "refspec", "repository", "resource", "member", "output", "host", "action", "destination",
    "flag", "plain", "package", "endpoint", "stored", "standard", "fields", "query", "shown", "connection",
    "formula", "subresource",
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
HARMLESS_KINDS = frozenset(
    {"text", "read", "list", "search", "public", "rev", "jq", "document", "rights", "suffix"}
)
NO_OPERANDS = frozenset({"none", "here"})
"""Words that stand for no operand: nothing is given; the working folder is written."""
_RISKS = ("low", "moderate", "high")
"""The words for a risk, each at its number."""
_NO_PARENT: Mapping[str, Any] = {
    "effect": None,
    "table": {"named": {}, "style": "gnu", "wary": False},
    "additions": (),
}


class WrongEntry(ValueError):
    """An entry of the program data is not what the format wants."""


class ProgramCompiler:
    """Compiles entries. One may be like those of `table`; `operations` have a risk and a sentence each."""

    def __init__(
        self,
        table: Mapping[str, Any],
        operations: Mapping[str, Any],
        tame: Collection[str] = (),
    ) -> None:
        self.table, self.operations, self.tame = table, operations, tame

    def compile(
        self,
        name: str,
        entry: Mapping[str, Any] | None,
        parent: Mapping[str, Any] | None = None,
        above: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """One program or subcommand. `above` are the names of its parents' options."""
        raw = inherit_entry(name, dict(entry or {}), self.table)
        _check_keys(raw, _KEYS, f"the program {name}")
        taken = parent if parent is not None and raw.get("inherits") else _NO_PARENT
        parent = parent or _NO_PARENT
        effect = self._effect(name, raw, parent["effect"])
        own = {
            key: [keys[0], *rest] for keys, *rest in split_options(name, raw.get("options")) for key in keys
        }
        canonical = {**(above or {}), **{key: one[0] for key, one in own.items()}}
        named = {**taken["table"]["named"], **own}
        modes = [self._mode(name, one, effect, canonical) for one in raw.get("modes", ())]
        adds = [
            {
                "any_of": _names(name, keys, canonical),
                "effect": self._effect(name, what, effect or self._default("shell.run")),
            }
            for keys, what in raw.get("adds", {}).items()
        ]
        below = {
            each: one for names, one in raw.get("subcommands", {}).items() for each in str(names).split()
        }
        made = {
            "effect": effect,
            "table": {
                "named": named,
                "style": raw.get("style", parent["table"]["style"]),
                "stops": bool(raw.get("stops") or below),
                "number": bool(raw.get("number")),
                "plus": any(key[:1] == "+" for key in named),
                "wary": raw.get("special") == "remote" or parent["table"]["wary"],
            },
            "operands": _compile_operands(name, raw.get("operands", "text*")),
            "modes": modes,
            "additions": [*taken["additions"], *adds],
            "special": raw.get("special"),
            "skip": int(raw.get("skip", 0)),
            "alone": bool(raw.get("alone")),
            "helps": bool(raw.get("helps", True)),
            "prefixes": raw.get("prefixes", ""),
            "starts": [one for one in below if one[-1] == "*" != one],
            **{key: str(raw.get(key, "")).split() for key in ("drops", "deep", "follows")},
        }
        made["table"]["tame"] = name in self.tame and not below and _is_tame(made)
        made["subcommands"] = {
            each: self.compile(f"{name} {each}", one, made, canonical) for each, one in below.items()
        }
        return made

    def _default(self, operation: str) -> list[Any]:
        risk, why = self.operations.get(operation, ("high", None))
        return [operation, _RISKS.index(risk), why]

    def _effect(self, name: str, raw: Mapping[str, Any], base: list[Any] | None) -> list[Any] | None:
        """The operation, risk and sentence of an entry; what it leaves out is as in `base`."""
        if raw.get("risk", "low") not in _RISKS:
            raise WrongEntry(f"{name}: a risk is low, moderate or high")
        found = base if raw.get("is") is None else self._default(raw["is"])
        if found is None:
            return None
        risk = _RISKS.index(raw["risk"]) if "risk" in raw else found[1]
        return [found[0], risk, raw.get("why", found[2])]

    def _mode(
        self, name: str, raw: Mapping[str, Any], base: list[Any] | None, canonical: Mapping[str, str]
    ) -> dict[str, Any]:
        _check_keys(raw, _MODE_KEYS, f"a mode of {name}")
        return {
            "any_of": _names(name, raw.get("with", ""), canonical),
            "all_of": _names(name, raw.get("all", ""), canonical),
            "none_of": _names(name, raw.get("without", ""), canonical),
            "count": int(raw["count"]) if "count" in raw else None,
            "effect": self._effect(name, raw, base),
            "operands": _compile_operands(name, raw["operands"]) if "operands" in raw else None,
        }


def compile_programs(
    raw: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
    operations: Mapping[str, Any] | None = None,
    tame: Collection[str] = (),
) -> dict[str, Any]:
    """Every program of these entries; a key may name several, separated by blanks."""
    written = split_names(raw)
    compiler = ProgramCompiler({**(known or {}), **written}, operations or {}, tame)
    return {name: compiler.compile(name, entry) for name, entry in written.items()}


def split_names(*files: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of these files, each by one name."""
    found: dict[str, Any] = {}
    for names, entry in (row for file in files for row in file.items()):
        for name in str(names).split():
            if name in found:
                raise WrongEntry(f"{name} stands twice")
            found[name] = entry
    return found


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


def split_options(name: str, text: Any) -> Iterator[tuple[list[str], str, str]]:
    """Yield the names of each option, how it takes a value, and of which kind.

    `-n,--lines=` takes a value, `--color?` may have one joined; a word after the mark says its kind.
    """
    for token in _joined(text or "").split():
        names, mark, kind = token.partition("=" if "=" in token else "?")
        if kind and kind not in KINDS:
            raise WrongEntry(f"{name}: {kind} is not a kind of value ({token})")
        keys = names.split(",")
        for key in keys:
            if key[:1] not in "-+" or len(key) < 2:
                raise WrongEntry(f"{name}: {key!r} is not an option")
        yield keys, mark.replace("=", ":"), kind or "text"


def _check_keys(raw: Mapping[str, Any], keys: Collection[str], owner: str) -> None:
    wrong = sorted(str(key) for key in raw if key not in keys)
    if wrong:
        raise WrongEntry(f"{', '.join(wrong)} is not a key of {owner}")


def _compile_operands(name: str, text: Any) -> list[str]:
    kinds = [kind for kind in str(text).split() if kind not in NO_OPERANDS]
    for kind in kinds:
        if kind.removesuffix("*") not in KINDS:
            raise WrongEntry(f"{name}: {kind} is not a kind of operand")
    return kinds


def _names(name: str, text: Any, canonical: Mapping[str, str]) -> list[str]:
    for key in str(text).split():
        if key not in canonical:
            raise WrongEntry(f"{name}: {key} is none of its options")
    return [canonical[key] for key in str(text).split()]


def _is_tame(made: Mapping[str, Any]) -> bool:
    """Return whether none of its options does harm."""
    kinds = {kind for _, _, kind in made["table"]["named"].values()}
    kinds |= {kind.removesuffix("*") for mode in made["modes"] for kind in mode["operands"] or ()}
    risky = any(mode["effect"] and mode["effect"][1] for mode in made["modes"])
    return kinds <= HARMLESS_KINDS and not (risky or made["additions"] or made["special"])


def compile_files(files: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """All data files together: operations, lists of names, and programs."""
    contents = [content for _, content in files]
    operations = {
        operation: [said["risk"], said["why"]]
        for content in contents
        for operation, said in (content.get("operations") or {}).items()
    }
    sets: dict[str, list[str]] = {}
    for key, names in (row for content in contents for row in (content.get("sets") or {}).items()):
        sets[key] = sorted({*sets.get(key, ()), *(names.split() if isinstance(names, str) else names)})
    programs = split_names(*(content.get("programs") or {} for content in contents))
    made = compile_programs(programs, operations=operations, tame=sets.get("tame_programs", ()))
    return {"operations": operations, "sets": sets, "programs": made}
