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
from sayso.core.errors import SaysoError
from sayso.core.model import Verdict
from sayso.doors.mcp.offered import offered
from sayso.doors.python.run import PATIENCE
from sayso.doors.python.sayso import Sayso
from sayso.doors.python.session import Session
from sayso.gate.questions.wait import LONGEST
from sayso.gate.sessions.operator_grants import Listed

log = logging.getLogger("sayso")
Told = dict[str, Any]
Seconds = Annotated[
    float, msgspec.Meta(ge=0, le=LONGEST, description="How long to wait for a person, in seconds.")
]


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="The capability to run.")]
    params: Annotated[dict[str, Any], msgspec.Meta(description="Its parameters, by name.")] = {}
    wait: Seconds = PATIENCE


class Retry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    operation_id: Annotated[str, msgspec.Meta(description="The operation_id of a result that timed out.")]
    wait: Seconds = PATIENCE


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="The capability that would be run.")]
    params: Annotated[dict[str, Any], msgspec.Meta(description="Its parameters, by name.")] = {}


class ListConsents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Tool(msgspec.Struct, frozen=True):
    """One tool: what it takes, what it does, what is said of it."""

    takes: type[msgspec.Struct]
    do: Callable[[Sayso, Session, Any], Awaitable[Told]]
    about: str
    reads_only: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        _, components = msgspec.json.schema_components((self.takes,))
        schema: dict[str, Any] = components[self.takes.__name__]
        return schema


async def called(gate: Sayso, session: Session, tool: Tool, arguments: Mapping[str, Any]) -> Told:
    """What the tool answers. Whatever goes wrong is an answer too, and never an allowing one."""
    try:
        wanted = msgspec.convert(dict(arguments), tool.takes)
    except msgspec.ValidationError as error:
        return _wrong(str(error))
    try:
        return await tool.do(gate, session, wanted)
    except SaysoError as error:
        return _wrong(str(error))
    except Exception:
        log.exception("a tool of the agent failed")
        return _wrong("something went wrong here; the operator finds it in the log")


def about_run(gate: Sayso) -> str:
    """What is said of `run`: how it goes, and everything that can be run."""
    lines = [
        f"- {one.name}{f': {one.about}' if one.about else ''}\n  params: {_json(one.params)}"
        for one in offered(gate)
    ]
    return "\n".join([RUN, "", "Capabilities:", *(lines or ["(none)"])])


async def _run(gate: Sayso, session: Session, wanted: Run) -> Told:
    return (await session.arun(wanted.name, wanted.params, wait=wanted.wait)).plain()


async def _retry(gate: Sayso, session: Session, wanted: Retry) -> Told:
    return (await session.aretry(wanted.operation_id, wait=wanted.wait)).plain()


async def _check(gate: Sayso, session: Session, wanted: Check) -> Told:
    return _decided(await asyncio.to_thread(gate.check, wanted.name, wanted.params, session=session))


async def _list_consents(gate: Sayso, session: Session, wanted: ListConsents) -> Told:
    return {"consents": [_consent(one) for one in await asyncio.to_thread(session.consents)]}


def _decided(decision: Decision) -> Told:
    items = [_item(one) for one in decision.items]
    said = {"verdict": decision.verdict.value, "outcome": decision.outcome, "rule": decision.rule}
    return {**said, "reason": decision.reason, "operations": items}


def _item(item: Item) -> Told:
    ruling = item.ruling
    said = {"operation": item.operation, "risk": item.risk.word, "verdict": Verdict(ruling.verdict).value}
    return {**said, "reason": ruling.reason}


def _consent(one: Listed) -> Told:
    told: Told = msgspec.to_builtins(one)
    return {key: told[key] for key in ("words", "kind", "value", "risk", "left", "used", "uses", "ends_with")}


def _wrong(reason: str) -> Told:
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

TOOLS: dict[str, Tool] = {
    "run": Tool(Run, _run, RUN),
    "retry": Tool(Retry, _retry, RETRY),
    "check": Tool(Check, _check, CHECK, reads_only=True),
    "list_consents": Tool(ListConsents, _list_consents, CONSENTS, reads_only=True),
}
