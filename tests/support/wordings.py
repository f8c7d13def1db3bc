"""What people type, by what it has to mean: the messages in data/wordings, and ways to say them."""

from __future__ import annotations

from copy import copy
from functools import cache, lru_cache
from typing import Any

import msgspec
from ruamel.yaml import YAML

from sayso.core.policy import Policy
from sayso.gate.sessions.play import Player
from sayso.policy import load_preset
from tests.vectors.vector_files import DATA

Step = str | dict[str, Any]

ADD = {"call": {"operations": ["git.add"], "command": "git add -A"}}
PUSH = {"call": {"operations": ["git.push"], "command": "git push"}}
STATUS = {"call": {"operations": ["git.status"], "command": "git status"}}
PLAN = {"plan": "I will edit src/a.py to fix the parser and src/b.py to use it. Only these two files."}
PLAN_OF_STEPS = {
    "plan": "I will edit src/a.py, src/b.py and src/c.py to rename Parser to Reader, then run the tests with"
    " `npm test` and commit with `git commit`. Only these three files. Done when the tests pass."
}
COMMIT = {"call": {"operations": ["git.commit"], "command": "git commit -m x"}}
NPM_TEST = {"call": {"operations": ["tests.run"], "command": "npm test"}}
CHAT = load_preset("chat")


def edit(path: str) -> dict[str, Any]:
    args = {"path": path}
    return {"call": {"operations": ["files.edit"], "tool": "edit_file", "target": path, "args": args}}


EDIT_A, EDIT_B = edit("src/a.py"), edit("src/b.py")


@cache
def _listed(file: str) -> dict[str, list[str]]:
    read = YAML(typ="safe").load(DATA / "wordings" / f"{file}.yaml")
    return {sense: lines.splitlines() for sense, lines in read.items()}


def messages(file: str, *senses: str) -> list[str]:
    """The messages of these senses in a file; of all of them if none is named."""
    listed = _listed(file)
    return [text for sense in senses or listed for text in listed[sense]]


def with_senses(file: str) -> list[tuple[str, str]]:
    """Every message of a file with its sense."""
    return [(sense, text) for sense, texts in _listed(file).items() for text in texts]


def play(*steps: Step, policy: Policy = CHAT) -> list[dict[str, Any]]:
    """What each step of a conversation led to; a string is a message of the user."""
    lines = [{"hear": step} if isinstance(step, str) else step for step in steps]
    if policy is CHAT:
        return list(_played(tuple(map(msgspec.json.encode, lines)))[1])
    player = _player(policy)
    return [player.step(line) for line in lines]


def _player(policy: Policy) -> Player:
    return Player(policy, start=1e9, workspace="/w")


@lru_cache(maxsize=64)
def _played(lines: tuple[bytes, ...]) -> tuple[Player, tuple[dict[str, Any], ...]]:
    """The conversation after these lines: many begin alike, and what they begin with is played once."""
    if not lines:
        return _player(CHAT), ()
    before, results = _played(lines[:-1])
    player = copy(before)
    return player, (*results, player.step(msgspec.json.decode(lines[-1])))


def verdict(*steps: Step, policy: Policy = CHAT) -> str:
    """The verdict on the call that ends the conversation."""
    return str(play(*steps, policy=policy)[-1]["verdict"])


def said(heard: dict[str, Any]) -> str:
    return "\n".join(heard["announced"])
