"""Patches through the hook of Codex, after a yes to edits for the task: what is not understood never runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.conftest import Desk
from tests.agents.hosts import HOSTS
from tests.support.hidden_patches import BEGIN, EDIT, END, HIDDEN, RUST_BLANKS
from tests.support.service import Service


@pytest.fixture
def codex(service: Service, project: Path) -> Desk:
    (project / "src" / "deep").mkdir(parents=True)
    (project / "deep").symlink_to("src/deep")
    desk = Desk(service, next(one for one in HOSTS if one.name == "codex"), project)
    desk.says("Please change it.")
    assert not applies(desk, EDIT)
    service.answer(desk.questions()[0]["id"], "task")
    assert applies(desk, EDIT)
    return desk


def applies(desk: Desk, patch: str) -> bool:
    payload = desk.payload("shell", "x") | {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    return desk.host.runs(desk.fire("PreToolUse", payload))


def is_asked(desk: Desk, patch: str) -> bool:
    """Return whether a person is asked about this patch, and with the word for what is risky."""
    before = {one["id"] for one in desk.questions()}
    assert not applies(desk, patch)
    new = [one["id"] for one in desk.questions() if one["id"] not in before]
    shown = [desk.service.told("operator", "GET", f"/v1/questions/{one}") for one in new]
    assert all(max(item["risk"] == "high" for item in one["items"]) for one in shown)
    return bool(shown)


@pytest.mark.parametrize("blank", RUST_BLANKS, ids=ascii)
def test_no_blanks_before_a_header_get_a_guarded_file_written(codex: Desk, blank: str) -> None:
    for count in (1, 33):
        assert not is_asked(codex, f"{BEGIN}{blank * count}*** Add File: AGENTS.md\n+x{END}"), count


@pytest.mark.parametrize("patch", HIDDEN.values(), ids=HIDDEN.keys())
def test_no_line_that_is_not_understood_gets_a_file_written(codex: Desk, patch: str) -> None:
    assert not is_asked(codex, patch.format("AGENTS.md"))
    assert not is_asked(codex, patch.format(".claude/settings.json"))
    assert is_asked(codex, patch.format("../../beside/x.py"))


def test_a_patch_of_several_files_is_asked_about_by_its_worst(codex: Desk) -> None:
    assert applies(codex, f"{BEGIN}*** Add File: src/b.py\n+x\n*** Update File: src/a.py\n+y{END}")
    assert is_asked(codex, f"{BEGIN}*** Add File: src/b.py\n+x\n*** Delete File: ../x.py{END}")
