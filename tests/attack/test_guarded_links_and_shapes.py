"""An agent that goes for its guard by links of plain names, and by arguments of odd shapes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sayso import ConsentDenied, ConsentRequired
from tests.attack.opening import a_gate, answer_last


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with links of plain names to the policy, the key and the agent's instructions."""
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    for folder in (home / ".config" / "sayso", home / ".local" / "share" / "sayso", project):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    monkeypatch.chdir(project)
    policy, key = home / ".config" / "sayso" / "policy.yaml", home / ".local" / "share" / "sayso" / "gate.key"
    policy.write_text("extends: [balanced]\n")
    key.write_text("secret")
    (project / "AGENTS.md").write_text("be good")
    (project / "conf").symlink_to(policy)
    (project / "kk").symlink_to(key)
    (project / "notes").symlink_to("AGENTS.md")
    os.link(key, project / "hard")
    (project / "sub").mkdir()
    (project / "sub" / "k").symlink_to(key)
    (project / "5").symlink_to(key)
    return project


@pytest.mark.parametrize("name", ["conf", "kk", "notes", "hard", " kk", "conf "])
def test_a_decorated_function_never_follows_a_link_with_a_plain_name(linked: Path, name: str) -> None:
    ran: list[str] = []
    with a_gate("extends: [coding]") as gate, gate.session(workspace=str(linked)).active() as session:

        @gate.requires_consent("files.edit", risk="moderate")
        def save(path: str) -> None:
            ran.append(path)

        session.hear("write it down")
        with pytest.raises(ConsentRequired):
            save("todo")
        answer_last(gate, session.id, "task")
        save("todo")
        with pytest.raises(ConsentDenied) as refused:
            save(name)
        assert refused.value.rule == "blocked"
    assert ran == ["todo"]


KEY_FILE = "~/.local/share/sayso/gate.key"
POLICY_FILE = "~/.config/sayso/policy.yaml"
DEEP: dict[str, object] = {"path": POLICY_FILE}
for _ in range(20):
    DEEP = {"a": DEEP}
SHAPES: list[dict[str, object]] = [
    {"files": {KEY_FILE: 1}},
    {"files": {"AGENTS.md": "x"}},
    {".claude/settings.json": {"path": ".claude/settings.json"}},
    {"doc": f" {KEY_FILE}"},
    {"doc": f'"{KEY_FILE}"'},
    {"doc": f"x,{KEY_FILE}"},
    {"doc": "sub/../../.config/sayso/policy.yaml"},
    {"script": POLICY_FILE},
    {"code": POLICY_FILE},
    {"subject": KEY_FILE},
    {"doc": "kk"},
    {"document": "sub/k"},
    {"document": 5},
    {"document": "AGENTS.md"},
    {"document": ".claude/settings.json"},
    {"sub/k": "x"},
    {"anything": ["conf"]},
    DEEP,
    {"patch": "*** Begin Patch\n*** Update File:AGENTS.md\n@@\n+x\n*** End Patch"},
    {"patch": "  *** Update File: AGENTS.md\n@@\n+x"},
    {"diff": "diff --git a/AGENTS.md b/AGENTS.md\nnew mode 100755\n"},
]


@pytest.mark.parametrize("args", SHAPES, ids=lambda args: repr(args)[:60])
@pytest.mark.parametrize("tool", ["write_anything", "apply_patch", "edit_thing"])
def test_no_shape_of_an_argument_hides_a_guarded_file(
    linked: Path, tool: str, args: dict[str, object]
) -> None:
    with a_gate("extends: [coding]") as gate:
        session = gate.session(workspace=str(linked))
        assert session.call(tool, args).rule == "blocked"
