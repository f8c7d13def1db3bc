"""The coding agents that Sayso gates: one file for each, translating its payloads and its words."""

from __future__ import annotations

from collections.abc import Mapping

from sayso.doors.agents import claude
from sayso.doors.agents.agent import Agent

AGENTS: Mapping[str, Agent] = {one.AGENT.name: one.AGENT for one in (claude,)}

__all__ = ["AGENTS", "Agent"]
