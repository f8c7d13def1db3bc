"""The four tools of an agent: run, retry, check, list its own consents. None grants, answers or revokes.

What a tool takes is all it takes: arguments that name a session, an origin, a risk or a confidence are
refused, because these are known here and never claimed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

import msgspec

from sayso.core.decision import Decision, Item
from sayso.core.durations import LONGEST_WAIT, USUAL_WAIT
from sayso.core.errors import SaysoError
from sayso.core.model import Verdict
from sayso.doors.mcp.runnables import list_runnables
from sayso.doors.python.session import Session
from sayso.doors.sayso import Sayso
from sayso.gate.decoding import convert_to
from sayso.gate.sessions.operator_grants import ListedGrant

log = logging.getLogger("sayso")
ToolAnswer = dict[str, Any]
Seconds = Annotated[
    float, msgspec.Meta(ge=0, le=LONGEST_WAIT, description="How long to wait for a person, in seconds.")
]


class RunInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="The capability to run.")]
    params: Annotated[dict[str, Any], msgspec.Meta(description="Its parameters, by name.")] = {}
    wait: Seconds = USUAL_WAIT


class RetryInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    operation_id: Annotated[str, msgspec.Meta(description="The operation_id of a result that timed out.")]
    wait: Seconds = USUAL_WAIT


class CheckInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="The capability that would be run.")]
    params: Annotated[dict[str, Any], msgspec.Meta(description="Its parameters, by name.")] = {}


class ListConsentsInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class AgentTool(msgspec.Struct, frozen=True):
    """One tool: what it takes, what it does, what is said of it."""

    takes: type[msgspec.Struct]
    do: Callable[[Sayso, Session, Any], Awaitable[ToolAnswer]]
    about: str
    reads_only: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        _, components = msgspec.json.schema_components((self.takes,))
        schema: dict[str, Any] = components[self.takes.__name__]
        return schema


async def use_tool(
    gate: Sayso, session: Session, tool: AgentTool, arguments: Mapping[str, Any]
) -> ToolAnswer:
    """Return what the tool answers. Whatever goes wrong is an answer too, and never an allowing one."""
    try:
        wanted = convert_to(dict(arguments), tool.takes)
    except msgspec.ValidationError as error:
        return _error_answer(str(error))
    try:
        return await tool.do(gate, session, wanted)
    except SaysoError as error:
        return _error_answer(str(error))
    except Exception:
        log.exception("a tool of the agent failed")
        return _error_answer("something went wrong here; the operator finds it in the log")


def describe_run(gate: Sayso) -> str:
    """Return the description of `run`: how it goes, and everything that can be run."""
    lines = [
        f"- {one.name}{f': {one.about}' if one.about else ''}\n  params: {_json(one.params)}"
        for one in list_runnables(gate)
    ]
    return "\n".join([RUN, "", "Capabilities:", *(lines or ["(none)"])])


async def _run(gate: Sayso, session: Session, wanted: RunInput) -> ToolAnswer:
    return (await session.arun(wanted.name, wanted.params, wait=wanted.wait)).plain()


async def _retry(gate: Sayso, session: Session, wanted: RetryInput) -> ToolAnswer:
    return (await session.aretry(wanted.operation_id, wait=wanted.wait)).plain()


async def _check(gate: Sayso, session: Session, wanted: CheckInput) -> ToolAnswer:
    return _describe_decision(
        await asyncio.to_thread(gate.check, wanted.name, wanted.params, session=session)
    )


async def _list_consents(gate: Sayso, session: Session, wanted: ListConsentsInput) -> ToolAnswer:
    return {"consents": [_describe_consent(one) for one in await asyncio.to_thread(session.consents)]}


def _describe_decision(decision: Decision) -> ToolAnswer:
    items = [_describe_item(one) for one in decision.items]
    said = {"verdict": decision.verdict.value, "outcome": decision.outcome, "rule": decision.rule}
    return {**said, "reason": decision.reason, "operations": items}


def _describe_item(item: Item) -> ToolAnswer:
    ruling = item.ruling
    said = {"operation": item.operation, "risk": item.risk.word, "verdict": Verdict(ruling.verdict).value}
    return {**said, "reason": ruling.reason}


def _describe_consent(one: ListedGrant) -> ToolAnswer:
    told: ToolAnswer = msgspec.to_builtins(one)
    return {key: told[key] for key in ("words", "kind", "value", "risk", "left", "used", "uses", "ends_with")}


def _error_answer(reason: str) -> ToolAnswer:
    return {"status": "error", "reason": reason}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


RUN = (
    "Run one of the capabilities below, by its name. If a person has to approve it first, they are "
    "asked, and this waits for them. The status of the result says how it went. ok: it ran, and value "
    "is what it returned. denied, blocked: it did not run; do not try to reach the same in another way. "
    "timeout: nobody has answered yet; call retry with the operation_id later. error: see the reason. "
    "You cannot approve anything yourself."
)
RETRY = (
    "Go on with a run that ended in a timeout, without its parameters. Approved meanwhile, it runs, "
    "once. Still open, this waits again. Repeated after it ran, this gives the first result."
)
CHECK = "Say what would be decided if a capability were run now: allow, ask or deny. Nobody is asked."
CONSENTS = "List what was granted to this session and still holds."

TOOLS: dict[str, AgentTool] = {
    "run": AgentTool(RunInput, _run, RUN),
    "retry": AgentTool(RetryInput, _retry, RETRY),
    "check": AgentTool(CheckInput, _check, CHECK, reads_only=True),
    "list_consents": AgentTool(ListConsentsInput, _list_consents, CONSENTS, reads_only=True),
}
