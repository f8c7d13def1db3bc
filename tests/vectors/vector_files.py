"""The decision vectors: what stands in data/*.yaml, and how an expectation is compared with a result.

A vector is a policy and steps. A step is a line of a script (SPEC 16), or a `check` (the command of that
name), with what is expected of its result. Two keys are ours: `expect`, and `times`, which repeats the step.

Expectations: each key equals the result's; `key_has` wants the text, or one member of the list, to contain
what is given (each of it, if a list is given); `key_lacks` the opposite. Neither looks at letter case.
`refused: true` wants the step to be refused: an error, or a denial. Nothing may be played after it.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec
from ruamel.yaml import YAML

DATA = Path(__file__).parent / "data"
KEPT = DATA / "__pycache__"
FILES = (
    "seed_000",
    "seed_001",
    "seed_002",
    "seed_003",
    "seed_004",
    "spec_rules",
    "spec_conversation",
    "spec_plans",
    "spec_messages",
)
STEPS = ("hear", "plan", "call", "answer", "outcome", "advance", "begin_task", "end_task", "check")


class Step(msgspec.Struct, frozen=True):
    """One thing that happens, and what it should lead to."""

    kind: str
    value: Any
    expect: Mapping[str, Any]

    @property
    def line(self) -> dict[str, Any]:
        """The step as a script has it."""
        return {self.kind: self.value}


class Vector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One decision, or a conversation that leads to several."""

    id: str
    source: str
    steps: tuple[Step, ...]
    preset: str | None = None
    policy: dict[str, Any] | None = None
    approval: str | None = None
    note: str | None = None

    @property
    def is_script(self) -> bool:
        return all(step.kind != "check" for step in self.steps)


def load(name: str) -> Any:
    """One file of data. The pure loader reads YAML 1.2, where yes and no are words, and takes seconds for it.

    So what it read is kept beside the compiled modules, under the digest of the file.
    """
    written = (DATA / f"{name}.yaml").read_bytes()
    kept = KEPT / f"{name}.{sha256(written).hexdigest()[:32]}"
    with suppress(OSError, EOFError, ValueError, TypeError):
        return marshal.loads(kept.read_bytes())  # noqa: S302  written below, in a folder of our own
    read = YAML(typ="safe", pure=True).load(written)
    with suppress(OSError):  # a folder that cannot be written to only costs time
        _keep(kept, marshal.dumps(read))
    return read


def _keep(path: Path, content: bytes) -> None:
    """Put this file there as a whole: other workers read it meanwhile."""
    path.parent.mkdir(exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as written:
        written.write(content)
    Path(written.name).replace(path)


@cache
def vectors() -> tuple[Vector, ...]:
    """Every vector of every file, in the order written."""
    return tuple(_vector(entry) for name in FILES for entry in load(name))


def _vector(entry: dict[str, Any]) -> Vector:
    steps = tuple(step for written in entry["steps"] for step in _steps(written))
    return msgspec.convert(entry | {"steps": steps}, Vector)


def _steps(written: dict[str, Any]) -> Iterator[Step]:
    rest = dict(written)
    expect, times = rest.pop("expect", {}), rest.pop("times", 1)
    ((kind, value),) = rest.items()
    if kind not in STEPS:
        raise ValueError(f"unknown step {kind!r}")
    for _ in range(times):
        yield Step(kind, value, expect)


def mismatches(result: Mapping[str, Any], expect: Mapping[str, Any]) -> list[str]:
    """What of the expectation the result does not meet, in words."""
    return [said for key, wanted in expect.items() if (said := _mismatch(result, key, wanted))]


def _mismatch(result: Mapping[str, Any], key: str, wanted: Any) -> str | None:
    name, sense = key, ""
    for ending in ("_has", "_lacks"):
        if key.endswith(ending):
            name, sense = key.removesuffix(ending), ending
    if name not in result:
        return f"the result has no {name}"
    found = result[name]
    if not sense:
        return None if found == wanted else f"{name} is {found!r}, not {wanted!r}"
    parts = wanted if isinstance(wanted, list) else [wanted]
    wrong = [part for part in parts if _holds(found, part) is not (sense == "_has")]
    return f"{name} {sense[1:]} not {wrong!r}: {found!r}" if wrong else None


def _holds(found: Any, part: str) -> bool:
    if found is None:
        return False
    texts = found if isinstance(found, list) else [found]
    return any(part.casefold() in str(text).casefold() for text in texts)
