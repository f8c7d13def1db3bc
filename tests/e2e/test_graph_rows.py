"""Every row that the reference of the consent graph has for self_modification, by `sayso check`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.commands import run_forked

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
        ran = run_forked(words, surroundings)
        assert (ran.stdout.strip(), ran.returncode) == (line, code), f"confidence {confidence or 'not given'}"
