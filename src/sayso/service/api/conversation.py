"""The conversation, from the host that sees the user's keyboard: messages, plans, tasks, hand-offs.

An agent's token reaches none of this: what the user said is not the agent's to tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.lifecycle import Report
from sayso.core.model import Assurance
from sayso.gate.deciding.plan_from_host import PlanParts, read_host_plan
from sayso.gate.sessions import handoff, messages
from sayso.service.http.callers import session_for
from sayso.service.http.endpoints import HOST, HOSTS, Context, Endpoint
from sayso.service.http.problems import RequestRefused

LONGEST_NAME = 500


class MessageBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's message, exactly as typed: no text of the model, a tool or a file."""

    text: str


class PlanBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan: the text of the assistant's message, or its parts.

    `shown`: the host shows the user the rendering that comes back. Taken from an assured host only; otherwise
    the first yes is answered with the rendering, and the next one counts.
    """

    plan: str | PlanParts
    shown: bool = True


class TaskBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class MessageResult(msgspec.Struct, frozen=True):
    """The kind of a message, and what it did, announced, cleared and answered."""

    kind: str
    turn: int
    did: tuple[str, ...]
    announced: tuple[str, ...]
    cleared: tuple[str, ...]
    answered: str | None = None
    assured: bool = True
    question: str | None = None
    """The question to the operator whether it was said, if it is only claimed and would loosen something."""


class PlanView(msgspec.Struct, frozen=True):
    """A plan as it was read. `shown` is what the user has to see before their yes counts.

    `covers` is what a yes covers, each operation with its targets; what is `asked` each time or `blocked` is
    named by the plan and not covered.
    """

    score: int
    concrete: bool
    evidence: Mapping[str, Any]
    targets: tuple[str, ...]
    operations: tuple[str, ...]
    covers: Mapping[str, tuple[str, ...]]
    asked: tuple[str, ...]
    blocked: tuple[str, ...]
    shown: str


class TaskReport(msgspec.Struct, frozen=True):
    announced: tuple[str, ...]
    cleared: tuple[str, ...]


class HandoffResult(msgspec.Struct, frozen=True):
    """`ask` is what to show the user and ask; None if there is nothing to keep or to load."""

    ask: str | None
    commands: tuple[str, ...] = ()


def post_message(context: Context) -> MessageResult:
    """Take a message of the user."""
    body: MessageBody = context.body
    heard = messages.record_message(
        context.gate, _session(context), body.text, assurance_of(context), keep=True
    )
    return describe_message(heard, assured=assurance_of(context) is Assurance.ASSURED)


def post_plan(context: Context) -> PlanView:
    """A plan that is shown to the user."""
    body: PlanBody = context.body
    given = body.plan if isinstance(body.plan, str) else msgspec.structs.asdict(body.plan)
    text = read_host_plan(given, context.gate.policy)
    shown = body.shown and assurance_of(context) is Assurance.ASSURED
    messages.record_plan(context.gate, _session(context), text, shown=shown)
    return PlanView(
        text.score,
        text.concrete,
        text.evidence,
        text.targets,
        text.operations,
        text.covers,
        text.asked,
        text.blocked,
        text.text,
    )


def post_task(context: Context) -> TaskReport:
    body: TaskBody = context.body
    if not body.name or len(body.name) > LONGEST_NAME:
        raise RequestRefused(422, "malformed", f"a task's name has 1 to {LONGEST_NAME} characters")
    return _describe_report(messages.record_task_start(context.gate, _session(context), body.name))


def delete_task(context: Context) -> TaskReport:
    return _describe_report(messages.record_task_end(context.gate, _session(context)))


def post_switch(context: Context) -> TaskReport:
    """The conversation turned to something else entirely."""
    return _describe_report(messages.record_context_switch(context.gate, _session(context)))


def get_handoff_offer(context: Context) -> HandoffResult:
    """Before the context is renewed: what to ask the user."""
    return HandoffResult(handoff.ask_to_save_handoff(context.gate, _session(context)))


def post_handoff_save(context: Context) -> HandoffResult:
    """Make sure that the user's yes was heard and the allowlist kept."""
    _check_assured(context)
    handoff.check_handoff_saved(context.gate, _session(context))
    return HandoffResult(None)


def get_handoff(context: Context) -> HandoffResult:
    """Return the allowlist kept for this context, to show the user. Only a yes right after loads it."""
    return HandoffResult(handoff.ask_to_load_handoff(context.gate, _session(context)))


def post_handoff_take(context: Context) -> HandoffResult:
    """The commands that the user's yes has loaded."""
    _check_assured(context)
    return HandoffResult(None, handoff.list_loaded_commands(context.gate, _session(context)))


def assurance_of(context: Context) -> Assurance:
    """Return how sure it is that the user typed what this token sends, as its maker declared."""
    known = context.token.role == "host" and context.token.assured is True
    return Assurance.ASSURED if known else Assurance.CLAIMED


def describe_message(heard: Heard, *, assured: bool = True) -> MessageResult:
    return MessageResult(
        heard.kind,
        heard.turn,
        heard.did,
        heard.announced,
        heard.cleared,
        heard.answered,
        assured,
        heard.question,
    )


def _check_assured(context: Context) -> None:
    """A yes that only somebody claims the user said takes no standing consent along."""
    if assurance_of(context) is not Assurance.ASSURED:
        raise RequestRefused(403, "not_assured", "this service does not take the user's yes from this token")


def _session(context: Context) -> str:
    return session_for(context, context.parameters["session"])


def _describe_report(report: Report) -> TaskReport:
    return TaskReport(report.announced, report.cleared)


ONE_SESSION = "/v1/sessions/{session}"
ENDPOINTS = (
    Endpoint(
        "POST",
        f"{ONE_SESSION}/messages",
        HOST,
        "Send a message of the user",
        post_message,
        MessageBody,
        MessageResult,
    ),
    Endpoint(
        "POST",
        f"{ONE_SESSION}/plans",
        HOST,
        "Send a plan the assistant showed",
        post_plan,
        PlanBody,
        PlanView,
    ),
    Endpoint("POST", f"{ONE_SESSION}/tasks", HOSTS, "Begin a task", post_task, TaskBody, TaskReport),
    Endpoint("DELETE", f"{ONE_SESSION}/tasks", HOSTS, "End the task", delete_task, result=TaskReport),
    Endpoint(
        "POST", f"{ONE_SESSION}/switch", HOSTS, "Switch to another context", post_switch, result=TaskReport
    ),
    Endpoint(
        "GET",
        f"{ONE_SESSION}/handoff/offer",
        HOST,
        "Ask whether to keep the allowlist for the next context",
        get_handoff_offer,
        result=HandoffResult,
    ),
    Endpoint(
        "POST",
        f"{ONE_SESSION}/handoff/save",
        HOST,
        "Save the allowlist",
        post_handoff_save,
        result=HandoffResult,
    ),
    Endpoint(
        "GET", f"{ONE_SESSION}/handoff", HOST, "Get the saved allowlist", get_handoff, result=HandoffResult
    ),
    Endpoint(
        "POST",
        f"{ONE_SESSION}/handoff/take",
        HOST,
        "Load the saved allowlist",
        post_handoff_take,
        result=HandoffResult,
    ),
)
