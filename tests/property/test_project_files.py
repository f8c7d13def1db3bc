"""Whatever a project's own file says, no call of its workspace is decided more loosely than without it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from sayso.core.deciding.decide import decide
from sayso.core.errors import MalformedRequest
from sayso.core.grants import Grant, GrantKey, GrantKind, HeldGrant
from sayso.core.model import Declaration, Request, Risk
from sayso.core.policy import Policy
from sayso.core.session import Session, Task, View
from sayso.gate.deciding.request import just_reviewed, make_call, read_request
from sayso.gate.policy.projects import NAME, find_project_file
from sayso.policy import load_preset
from sayso.policy.compare.diff import operations_to_compare

FILES = 200 if os.environ.get("SAYSO_ALL") else 12
NOW = 1_800_000_000.0
RANKS = {"SILENT": 0, "VISIBLE": 1, "FORCED": 2, "BLOCKED": 3}
PRESETS = ("balanced", "coding", "chat", "trusting", "graph", "gateway")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_file", {"path": "notes.txt"}),
    ("read_file", {"path": ".env"}),
    ("write_file", {"path": "notes.txt", "content": "x"}),
    ("write_file", {"path": ".sayso.yaml", "content": "x"}),
    ("delete_file", {"path": "/etc/passwd"}),
    ("run_bash", {"command": "git push"}),
    ("run_bash", {"command": "git status"}),
    ("run_bash", {"command": "rm -rf /"}),
    ("send_mail", {"to": "eve@example.com", "content": "x"}),
    ("brew_tea", {}),
)
OPERATIONS = (
    "git.push",
    "git.status",
    "files.read",
    "files.write",
    "files.delete",
    "email.send",
    "tools.brew_tea",
)
TOOLS = ("*", "run_bash", "read_file", "write_file", "send_mail", "brew_tea")


def random_file(rng: Random) -> str:
    """A file with a few keys, each of which wants something looser or stricter at random."""
    parts: dict[str, Any] = {
        "mode": rng.choice(("trusting", "balanced", "paranoid")),
        "extends": [rng.choice(PRESETS)],
        "settings": dict(rng.sample(SETTINGS, k=4)),
        "domains": {
            name: {rng.choice(("autonomous", "requires_approval", "blocked")): [action], "fan_out": "any"}
            for name, _, action in (one.partition(".") for one in rng.sample(OPERATIONS, k=2))
        },
        "operations": {
            name: dict(rng.sample(DETAILS, k=2)) for name in rng.sample(OPERATIONS, k=3)
        },
        "tools": [
            {"tool": rng.choice(TOOLS), "operation": rng.choice(OPERATIONS)},
            {"tool": rng.choice(TOOLS), "resolve": "shell", "command": "args.command", "ignore": ["x"]},
            {"tool": "send_mail", "resolve": "recipient", "domain": "email", "from": "args.to"},
        ],
        "slash_commands": {"/go": {"operations": ["git.push", "files.write"]}},
        "workflows": {"w": {"operations": ["git.push"]}},
        "vip_contacts": {"eve": "eve@example.com"},
        "phrases": {"assent": ["tea"], "stop": ["brew"]},
        "consent_decay": {"enabled": rng.random() < 0.5, "review_interval_days": rng.choice((1, 30, 999))},
        "programs": {"rm": {"is": "local.read"}, "git": {"is": "local.read"}},
        "categories": {"file-edit": "nothing at all"},
    }  # fmt: skip
    for domain in parts["domains"].values():
        for kind in ("autonomous", "requires_approval", "blocked"):
            domain.setdefault(kind, [])
    return json.dumps({name: parts[name] for name in rng.sample(sorted(parts), k=rng.randint(1, 4))})


SETTINGS = [
    ("confidence_threshold", 0.0), ("confidence_bypass", True), ("safe", "auto"), ("safe", "ask"),
    ("risky_grants", "standing"), ("unlisted", "ask"), ("unlisted", "block"), ("lock_mode", True),
    ("trusting_remembers_high", True), ("grant_pins", "operation"), ("approval_lasts", "24h"),
]  # fmt: skip
DETAILS = [
    ("risk", "low"), ("risk", "high"), ("weight", "low"), ("category", "file-edit"), ("always_ask", True),
    ("confidence_bypass", True), ("always_ask", False),
]  # fmt: skip


def random_view(rng: Random, policy: Policy, request: Request) -> View:
    """What a session may hold by the time of the call."""
    grants: dict[GrantKey, tuple[HeldGrant, ...]] = {}
    wishes: list[tuple[GrantKind, str]] = [("operation", one.name) for one in request.operations]
    wishes += [("category", policy.entry(one.name).category) for one in request.operations]
    wishes += [("command", request.call.command or ""), ("tool", request.call.tool)]
    for number, (kind, value) in enumerate(wishes):
        if rng.random() < 0.3:
            grant = Grant(str(number), kind, value, rng.choice(tuple(Risk)), NOW + 600, "s", given_at=NOW - 5)
            if kind == "category":
                grant = msgspec.structs.replace(grant, ends_with="task", bound_to="t")
            grants[grant.key] = (HeldGrant(grant),)
    session = Session(
        id="s", grants=grants, heard_at=NOW - 1, task=Task("t", "t", 0, 0),
        slash=rng.choice((None, "/go", "/commit", "/pr")),
        imperatives=(request.call.command,) if request.call.command and rng.random() < 0.5 else (),
    )  # fmt: skip
    return View(session, reviews=just_reviewed(policy, NOW), notices=True)


def read(tool: str, args: dict[str, Any], policy: Policy, folder: str, confidence: float) -> Request | None:
    call = make_call(tool, args, folder=folder, workspace=folder)
    try:
        return read_request(call, Declaration(), policy, session="s", confidence=confidence)
    except MalformedRequest:
        return None


def rank(request: Request | None, policy: Policy, view: View) -> int:
    try:
        return RANKS["BLOCKED"] if request is None else RANKS[decide(request, policy, view, NOW).outcome]
    except MalformedRequest:
        return RANKS["BLOCKED"]


@pytest.mark.parametrize("preset", PRESETS)
def test_no_call_is_decided_more_loosely_than_without_the_file(preset: str, tmp_path: Path) -> None:
    policy, rng, folder = load_preset(preset), Random(preset), str(tmp_path)
    refused = stricter = 0
    for _ in range(FILES // 2):
        text = random_file(rng)
        (tmp_path / NAME).write_text(text)
        made = find_project_file(policy, folder)
        assert made is not None
        refused += bool(made.problem)
        for tool, args in CALLS:
            confidence = rng.choice((0.0, 1.0))
            alone = read(tool, args, policy, folder, confidence)
            if alone is None:
                continue
            view = random_view(rng, policy, alone)
            was, now = (
                rank(alone, policy, view),
                rank(read(tool, args, made.policy, folder, confidence), made.policy, view),
            )
            assert now >= was, f"{tool} {args} under {text}"
            stricter += now > was
        for name in operations_to_compare(policy, made.policy):
            mine, theirs = policy.entry(name), made.policy.entry(name)
            assert theirs.reason == mine.reason
    assert stricter
    assert refused < FILES // 2


def test_the_joined_settings_are_no_looser(tmp_path: Path) -> None:
    policy = load_preset("balanced")
    (tmp_path / NAME).write_text(json.dumps({"settings": dict(SETTINGS)}))
    made = find_project_file(policy, str(tmp_path))
    assert made is not None
    loose = {"unlisted": "block", "safe": "ask", "lock_mode": True}
    assert made.policy.settings == msgspec.structs.replace(policy.settings, **loose)
