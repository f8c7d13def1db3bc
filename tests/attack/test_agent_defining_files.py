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
    ".zed/settings.json", ".zed/tasks.json", ".config/zed/settings.json", ".rules",
    ".kiro/hooks/x.kiro.hook", ".kiro/steering/x.md", ".kiro/settings/mcp.json", ".kiro/agents/x.json",
    ".continue/config.yaml", ".continue/rules/x.md", ".continue/mcpServers/x.yaml", ".continue/prompts/x.md",
    ".amazonq/mcp.json", ".amazonq/rules/x.md", ".amazonq/cli-agents/x.json", ".aws/amazonq/mcp.json",
    ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "plugins/a/.claude-plugin/plugin.json",
    ".windsurf/hooks.json", ".windsurf/rules/x.md", ".windsurfrules", ".codeium/windsurf/mcp_config.json",
    ".roo/mcp.json", ".roo/skills/x/SKILL.md", ".roorules", ".roorules-code", ".kilocode/rules/x.md",
    ".kilocode/mcp.json", ".junie/guidelines.md", ".junie/mcp/mcp.json", ".augment/rules/x.md",
    ".augment/settings.json", ".augment-guidelines", ".trae/rules/project_rules.md", ".trae/mcp.json",
    ".qwen/settings.json", ".qwen/agents/x.md", "QWEN.md", ".crush.json", "crush.json", "CRUSH.md",
    ".iflow/settings.json", ".factory/hooks.json", ".amp/settings.json", ".openhands/microagents/repo.md",
    ".idx/dev.nix", ".idx/airules.md", ".agent/rules/x.md", ".agents/rules/x.md", "AGENT.md", "WARP.md",
    ".cursorrules", ".goosehints", ".aider.conf.yaml", ".aider.model.settings.yml", ".clinerules",
    ".clinerules/x.md", ".cline/workflows/x.md", ".cursor/environment.json", ".cursor/worktrees.json",
    ".cursor/plugins/x/hooks.json", ".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json",
    ".copilot/mcp-config.json", ".gemini/antigravity/mcp_config.json", ".opencode/package.json",
    ".github/workflows/copilot-setup-steps.yml", ".claude/workflows/x.js",
    "packages/web/.claude/agents/x.md", ".Zed/Settings.json", ".CLAUDE/Agents/x.md",
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
