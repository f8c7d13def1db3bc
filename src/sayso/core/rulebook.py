"""The rules, a row each: what follows from a decision having been made by this rule.

- The check of a rule, and the order of the checks, are in `deciding/rules.py`.
- Code that names a rule uses its row; nothing else keeps a list of rule names.
"""

from __future__ import annotations

import msgspec


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. What a row does not mention does not apply to it."""

    name: str
    source: str = ""
    """Where its consent comes from, in the seeds' words; empty means its own name."""
    blocks: bool = False
    """Nothing overrides it, and the operator is alerted."""
    strictness: int | None = None
    """Of several operations the strictest decides: 0 allow, 2 ask, unless the row says otherwise."""
    carries: bool = False
    """An outer call that it allowed passes its consent on to nested calls (rule 11)."""
    spares_question: bool = False
    """It allows on a person's earlier word, or on the agent's confidence, so a question was avoided."""
    serves_replay: bool = False
    """It may allow a replay on what belongs to the session that made the call."""


BLOCKED = Rule(name="blocked", blocks=True, strictness=5)
TRUSTED_CHANNEL = Rule(name="trusted_channel", blocks=True, strictness=4)
APPROVED_CALL = Rule(name="approved_call", source="explicit", carries=True, serves_replay=True)
DENIED_CALL = Rule(name="denied_call", strictness=3)
STOPPED = Rule(name="stopped")
ALWAYS_ASK = Rule(name="always_ask")
SLASH_COMMAND = Rule(name="slash_command", source="slash-command", carries=True, spares_question=True)
USER_INITIATED = Rule(name="user_initiated", carries=True, spares_question=True)
PARANOID = Rule(name="paranoid", source="mode")
ALLOWLIST = Rule(name="allowlist", carries=True, spares_question=True)
NESTED = Rule(name="nested", spares_question=True)
REDUCED_RISK = Rule(name="reduced_risk")
OPERATION_GRANT = Rule(
    name="operation_grant", source="explicit", carries=True, spares_question=True, serves_replay=True
)
WORKFLOW_GRANT = Rule(name="workflow_grant", source="workflow", carries=True, spares_question=True)
FAN_OUT = Rule(name="fan_out")
REMEMBERED = Rule(name="remembered", source="mode", carries=True, spares_question=True)
AUTONOMOUS = Rule(name="autonomous", serves_replay=True)
SAFE = Rule(name="safe", source="exception")
RISKY = Rule(name="risky")
TASK_GRANT = Rule(name="task_grant", source="explicit", carries=True, spares_question=True)
PLAN = Rule(name="plan", source="composite", carries=True, spares_question=True)
CONFIDENT = Rule(name="confident", strictness=1, spares_question=True)
ASK = Rule(name="ask")

WORKFLOW_START = Rule(name="workflow_start")
"""Decides whether a run of a workflow may begin."""

# Decisions that no check makes, recorded under a name of their own.
CLAIMED = Rule(name="claimed")
UNGATED = Rule(name="ungated")
FLOODING = Rule(name="flooding")
EFFECT_KEY = Rule(name="effect_key")
GOING_ON = Rule(name="going_on")

# fmt: off
_ALL = (
    BLOCKED, TRUSTED_CHANNEL, APPROVED_CALL, DENIED_CALL, STOPPED, ALWAYS_ASK, SLASH_COMMAND,
    USER_INITIATED, PARANOID, ALLOWLIST, NESTED, REDUCED_RISK, OPERATION_GRANT, WORKFLOW_GRANT, FAN_OUT,
    REMEMBERED, AUTONOMOUS, SAFE, RISKY, TASK_GRANT, PLAN, CONFIDENT, ASK, WORKFLOW_START, CLAIMED,
    UNGATED, FLOODING, EFFECT_KEY, GOING_ON,
)
# fmt: on
ROWS = {row.name: row for row in _ALL}
BLOCKING = frozenset(row.name for row in _ALL if row.blocks)
CARRYING = frozenset(row.name for row in _ALL if row.carries)
SPARING = frozenset(row.name for row in _ALL if row.spares_question)
REPLAYING = frozenset(row.name for row in _ALL if row.serves_replay)


def source_of(rule: str) -> str:
    """Name where the consent of a decision by this rule came from, in the seeds' words."""
    row = ROWS.get(rule)
    return row.source if row is not None and row.source else rule
