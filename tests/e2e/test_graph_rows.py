"""Every row that the reference of the consent graph has for self_modification, through three doors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.policy import load_preset, load_text
from sayso.store.memory.store import MemoryStore
from tests.support.commands import run_command
from tests.support.gates import KEY
from tests.support.people import Person
from tests.support.service import Service

SILENT = ("SILENT -- proceed", 0)
VISIBLE = ("VISIBLE -- proceed and notify", 0)
FORCED = ("FORCED -- ask the operator first", 3)
BLOCKED = ("BLOCKED -- do not proceed; operator alerted", 4)
CONFIDENCES = ("", "0.84", "0.85", "0.99")

UNASKED = ("load_memory_file", "restore_context", "update_heartbeat_state")
CHANNEL_ONLY = ("propose_behavioral_change", "consolidate_daily_to_memory", "prune_stale_memory")
NEVER = (
    "modify_soul_md", "modify_agents_md", "modify_consent_graph", "change_safety_rules",
    "modify_system_prompt", "delete_audit_log", "modify_audit_log",
)  # fmt: skip
ROWS = {
    **dict.fromkeys(UNASKED, (SILENT,) * 4),
    **dict.fromkeys((*CHANNEL_ONLY, *NEVER), (BLOCKED,) * 4),
    "update_lessons_md": (FORCED, FORCED, VISIBLE, VISIBLE),
}


@pytest.mark.parametrize("action", ROWS)
def test_self_modification_is_decided_as_the_reference_says(action: str, tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
    surroundings = clean | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    for confidence, (line, code) in zip(CONFIDENCES, ROWS[action], strict=True):
        words = (
            "check",
            "--preset",
            "graph",
            "self_modification",
            action,
            *((confidence,) if confidence else ()),
        )
        ran = run_command(words, surroundings)
        assert (ran.stdout.strip(), ran.returncode) == (line, code), f"confidence {confidence or 'not given'}"


@pytest.fixture
def service() -> Iterator[Service]:
    gate = open_gate(load_preset("graph"), MemoryStore(), key=KEY)
    with asyncio.Runner() as runner:
        yield Service(msgspec.structs.replace(gate, surfaces=("phone",)), runner)


def test_every_row_is_decided_so_over_http(service: Service) -> None:
    session = service.opened()
    for action, expected in ROWS.items():
        name = f"self_modification.{action}"
        for confidence, (line, _) in zip(CONFIDENCES, expected, strict=True):
            body = {
                "tool": action,
                "session": session,
                "operations": [{"operation": name}],
                "confidence": float(confidence or 0),
            }
            told = service.told("host", "POST", "/v1/check", body)
            assert told["outcome"] == line.partition(" ")[0], f"{name} at confidence {confidence or 0}"


def test_every_row_is_decided_so_in_python() -> None:
    tools = [f"{{tool: {action}, operation: self_modification.{action}}}" for action in ROWS]
    policy = load_text(f"extends: [graph]\nsettings: {{notices: person}}\ntools: [{', '.join(tools)}]\n")
    with Sayso.open(policy, MemoryStore(), surfaces=[Person()], key=KEY) as gate:
        for action, expected in ROWS.items():
            for confidence, (line, _) in zip(CONFIDENCES, expected, strict=True):
                called = gate.session(agent="claude").call(action, confidence=float(confidence or 0))
                found = called.decision.outcome
                assert found == line.partition(" ")[0], f"{action} at confidence {confidence or 0}"
