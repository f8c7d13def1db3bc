"""Every vector, replayed through the core, through the command line, and some in real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from sayso.cli.main import run_command
from sayso.core.errors import SaysoError
from sayso.core.model import Mode
from sayso.core.policy import Policy, with_mode
from sayso.gate.sessions.play import Player
from sayso.policy import load_preset, load_text
from tests.vectors.vector_files import Step, Vector, mismatches, vectors

VECTORS = vectors()
SAMPLE = 100 if os.environ.get("SAYSO_ALL") else 20
OF_THE_PROGRAM = {"exit", "line"}
"""Expectations of `check` that only the command line can meet."""


class Ran(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: str
    err: str


Sayso = Callable[[Sequence[str]], Ran]


def named(some: Sequence[Vector]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", some, ids=[vector.id for vector in some])


def sample() -> Sequence[Vector]:
    """Vectors from all over the files. What a start from nothing adds is the same for all of them."""
    return VECTORS[:: -(-len(VECTORS) // SAMPLE)]


def door_share(number: int) -> Sequence[Vector]:
    """Every third vector, beginning with this one; all of them when SAYSO_ALL is set.

    So each vector goes through core and one of three doors in every run, and through all of them in test-all.
    """
    return VECTORS if os.environ.get("SAYSO_ALL") else VECTORS[number::3]


@named(VECTORS)
def test_the_core_decides_the_vector_as_written(vector: Vector) -> None:
    policy = in_mode(vector)
    player = Player(policy)
    for number, step in enumerate(vector.steps, 1):
        hold(vector, number, step, played(policy, player, step))


@named(door_share(0))
def test_the_command_line_decides_the_vector_as_written(
    vector: Vector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in os.environ if name.startswith("SAYSO")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def here(words: Sequence[str]) -> Ran:
        monkeypatch.setattr(sys, "argv", ["sayso", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run_command()
        said = capsys.readouterr()
        return Ran(exit_code(ended.value), said.out, said.err)

    replay(vector, here, tmp_path)


@named(sample())
def test_a_real_process_decides_the_vector_as_written(vector: Vector, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SAYSO", "XDG"))}
    environment = clean | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def process(words: Sequence[str]) -> Ran:
        command = [sys.executable, "-m", "sayso", *words]
        ran = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=60, env=environment, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    replay(vector, process, tmp_path)


def in_mode(vector: Vector) -> Policy:
    """The vector's policy, in the mode that `--approval` would give it."""
    wanted = None if vector.approval is None else Mode(vector.approval)
    return with_mode(policy_of(vector), wanted)


def policy_of(vector: Vector) -> Policy:
    if vector.preset is not None:
        return load_preset(vector.preset)
    return _read_policy(json.dumps(vector.policy), name=vector.id)


_read_policy = cache(load_text)
"""A vector is played through several doors, under a policy that never changes."""


def played(policy: Policy, player: Player, step: Step) -> dict[str, Any]:
    """What the core makes of a step; a check is a call in a session of its own."""
    try:
        if step.kind == "check":
            return Player(policy).step({"call": as_call(step.value)})
        return player.step(step.line)
    except SaysoError as error:
        return {"refused": True, "error": str(error)}


def as_call(check: Mapping[str, Any]) -> dict[str, Any]:
    call: dict[str, Any] = {"operations": [f"{check['domain']}.{check['action']}"]}
    return call | ({"confidence": check["confidence"]} if "confidence" in check else {})


def replay(vector: Vector, sayso: Sayso, folder: Path) -> None:
    """Play a vector through the program: its script in one run, each check in runs of its own."""
    chosen = options(vector, folder)
    script = [step for step in vector.steps if step.kind != "check"]
    results = iter(play_script(script, sayso, chosen, folder))
    for number, step in enumerate(vector.steps, 1):
        result = checked(step, sayso, chosen) if step.kind == "check" else next(results)
        hold(vector, number, step, result, through_the_program=True)


def options(vector: Vector, folder: Path) -> list[str]:
    approval = [] if vector.approval is None else ["--approval", vector.approval]
    if vector.preset is not None:
        return ["--preset", vector.preset, *approval]
    path = folder / "policy.yaml"
    YAML(typ="safe", pure=True).dump(vector.policy, path)
    return ["--policy", str(path), *approval]


def play_script(
    steps: Sequence[Step], sayso: Sayso, chosen: Sequence[str], folder: Path
) -> Iterator[dict[str, Any]]:
    """One result a step. A script ends at a step that is refused: it has no line, and the run a code."""
    if not steps:
        return
    path = folder / "script.jsonl"
    path.write_text("".join(json.dumps(step.line) + "\n" for step in steps), encoding="utf-8")
    ran = sayso(["chat", "--script", str(path), "--json", *chosen])
    lines = [json.loads(line) for line in ran.out.splitlines()]
    yield from lines
    if ran.code != 0:
        yield {"refused": True, "error": ran.err}
    missing = len(steps) - len(lines) - (ran.code != 0)
    assert missing == 0, f"{missing} steps were not played; exit code {ran.code}: {ran.err}"


def checked(step: Step, sayso: Sayso, chosen: Sequence[str]) -> dict[str, Any]:
    """What `sayso check` says, for programs and for people."""
    check = step.value
    words = ["check", *chosen, check["domain"], check["action"]]
    words += [str(check["confidence"])] if "confidence" in check else []
    told = sayso([*words, "--json"])
    if told.code not in (0, 3, 4):
        return {"refused": True, "error": told.err}
    result: dict[str, Any] = json.loads(told.out) | {"exit": told.code}
    if "line" not in step.expect:
        return result
    plain = sayso(words)
    assert plain.code == told.code
    return result | {"line": plain.out.removesuffix("\n")}


def hold(
    vector: Vector, number: int, step: Step, result: Mapping[str, Any], *, through_the_program: bool = False
) -> None:
    """Compare one result with what the vector expects of it."""
    where = f"{vector.id}, step {number} {json.dumps(step.line)} ({vector.source})"
    if step.expect.get("refused"):
        assert result.get("refused") or result.get("verdict") == "deny", f"{where}: not refused: {result}"
        return
    assert "refused" not in result, f"{where}: refused: {result['error']}"
    expect = {
        key: wanted for key, wanted in step.expect.items() if through_the_program or key not in OF_THE_PROGRAM
    }
    wrong = mismatches(result, expect)
    assert not wrong, f"{where}: {'; '.join(wrong)}"


def exit_code(ended: SystemExit) -> int:
    """The code a process would end with: text means 1, nothing means 0."""
    if ended.code is None:
        return 0
    return ended.code if isinstance(ended.code, int) else 1
