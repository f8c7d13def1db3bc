"""Files that define what an agent is, may do or runs by itself are guarded like AGENTS.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.opening import a_gate, answer_last

DEFINING = [
    ".claude/agents/x.md", ".claude/skills/x/SKILL.md", ".claude/commands/x.md", ".claude/commands/a/b.md",
    ".codex/prompts/x.md", ".codex/skills/x/SKILL.md", ".agents/skills/x/SKILL.md",
    ".gemini/commands/x.toml", ".gemini/agents/x.md", ".gemini/skills/x/SKILL.md", "GEMINI.md",
    ".cursor/rules/x.mdc", ".cursor/commands/x.md", ".cursor/agents/x.md", ".cursor/skills/x/SKILL.md",
    ".github/copilot-instructions.md", ".github/instructions/x.instructions.md", ".github/agents/x.agent.md",
    ".github/chatmodes/x.chatmode.md", ".github/prompts/x.prompt.md", ".github/skills/x/SKILL.md",
    ".opencode/agent/x.md", ".opencode/agents/x.md", ".opencode/command/x.md", ".opencode/skill/x/SKILL.md",
    ".opencode/tool/x.ts", ".cline/skills/x/SKILL.md", ".windsurf/workflows/x.md", ".roo/rules-code/x.md",
    ".roo/commands/x.md", ".roomodes", ".aider.conf.yml", "CLAUDE.md", "sub/CLAUDE.local.md",
    ".vscode/tasks.json", ".vscode/launch.json", ".devcontainer/devcontainer.json",
    ".devcontainer/a/devcontainer.json", ".devcontainer/setup.sh", ".devcontainer.json",
    "packages/web/.claude/agents/x.md", ".CLAUDE/Agents/x.md",
]  # fmt: skip


@pytest.mark.parametrize("preset", ["chat", "balanced", "coding"])
def test_no_consent_to_an_edit_lets_an_agent_define_agents(tmp_path: Path, preset: str) -> None:
    (tmp_path / "src").mkdir()
    with a_gate(f"extends: [{preset}]") as gate:
        session = gate.session(workspace=str(tmp_path))
        session.hear("Edit a.py")
        edit = {"path": "src/a.py", "content": "x"}
        if session.call("edit_file", edit).asked:
            answer_last(gate, session.id, "task")
        assert session.call("edit_file", edit).allowed
        for path in DEFINING:
            for tool in ("edit_file", "write_file"):
                told = session.call(tool, {"path": path, "content": "x"})
                assert told.decision.rule == "blocked", (tool, path)
