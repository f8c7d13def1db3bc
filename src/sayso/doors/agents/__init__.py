"""The coding agents that Sayso gates: one file for each, translating its payloads and its words."""

from __future__ import annotations

from collections.abc import Mapping

from sayso.doors.agents import claude, cline, codex, copilot, cursor, gemini, openclaw, opencode
from sayso.doors.agents.agent import Agent

AGENTS: Mapping[str, Agent] = {
    one.AGENT.name: one.AGENT for one in (claude, codex, gemini, cursor, copilot, opencode, cline, openclaw)
}

__all__ = ["AGENTS", "Agent"]
