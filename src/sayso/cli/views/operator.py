"""Views of the operator's commands: questions, grants, sessions and figures in plain lines."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from sayso.cli.operator_name import operator_name
from sayso.core.deciding.titles import title_of
from sayso.core.decision import operations_of
from sayso.core.durations import DAY, HOUR, MINUTE
from sayso.core.model import Risk
from sayso.core.text.counts import count_of
from sayso.core.words import visible
from sayso.gate.people.answerers import at_terminal
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.read import questions_in
from sayso.gate.questions.retell import retell
from sayso.gate.questions.team.progress import describe_approvals_for, keep_only_deny
from sayso.gate.questions.wait import wait_for_answer
from sayso.gate.rows.sessions import RowSelection, load_session

if TYPE_CHECKING:
    from sayso.gate.figures.figures import Figures
    from sayso.gate.gate import Gate
    from sayso.gate.questions.answer import QuestionStanding
    from sayso.gate.questions.read import Read
    from sayso.gate.rows.sessions import LoadedSession
    from sayso.store.contract import Reader

PAGE = 1_000
BREAK_GLASS = 'in an emergency: sayso approve {id} --break-glass "why"'
HIGH_RISK = "sayso approve {id} shows the whole call and asks you to type allow"


class InboxItem(msgspec.Struct, frozen=True):
    """An open question as the inbox lists it; `left` seconds until it expires."""

    id: str
    session: str
    agent: str
    title: str
    """The call in a line."""
    risk: str
    operations: tuple[str, ...]
    text: str
    answers: tuple[str, ...]
    opened_at: float
    left: float
    tool: str
    command: str | None
    arguments: msgspec.Raw
    folder: str
    target: str | None
    state: str | None
    """The state of the world the call would meet, if its tool tells."""
    covers: dict[str, str]
    """What each answer would grant."""
    digest: str
    complete: bool
    """Whether `text` shows all of the call."""
    approvals: str | None = None
    """Whose approvals it waits for, where a team has to approve, and why an allow of yours does not count."""
    glass: bool = False
    """Whether you may break the glass: allow alone, with a reason, what others have to approve."""

    @property
    def may_allow(self) -> bool:
        """Return whether an allow of yours would count."""
        return any(answer != "deny" for answer in self.answers)


class WaitOutcome(msgspec.Struct, frozen=True):
    """The end of a wait: granted, denied, cancelled, expired, timeout or not_found."""

    question: str
    status: str
    answer: str | None = None
    by: str | None = None
    reason: str | None = None


class OpenSession(msgspec.Struct, frozen=True):
    """An open session as it is listed. `tampered`: its row was tampered with; it decides nothing."""

    id: str
    agent: str
    owner: str
    user: str
    workspace: str
    parent: str | None
    opened_at: float
    turn: int
    task: str | None
    stopped: bool
    tampered: bool
    last_seen: float | None
    """When its program last showed a sign of life; None if not lately."""


def load_open_questions(gate: Gate, session: str | None) -> tuple[list[InboxItem], list[str]]:
    """The questions that wait for an answer; and those that were tampered with, which nobody is shown."""
    found: list[InboxItem] = []
    changed: list[str] = []
    after = ""
    with gate.store.read() as tx:
        while page := tx.questions(session, after=after, limit=PAGE):
            sound = {one.row.id: one for one in questions_in(gate, tx, page)}
            found += [
                inbox_item_from_row(gate, tx, one)
                for one in sound.values()
                if tx.now < ends_at(gate, one.row)
            ]
            changed += [row.id for row in page if row.id not in sound]
            after = page[-1].id
    return found, changed


def question_lines(questions: list[InboxItem]) -> list[str]:
    lines: list[str] = []
    for one in questions:
        lines += [f"{one.id}  {one.title}"]
        lines += [f"    {one.risk} risk, asked by {visible(one.agent)}, {format_span(one.left)} left"]
        lines += [f"    approvals: {visible(one.approvals)}"] if one.approvals else []
        lines += [f"    {line}" for line in one.text.splitlines()]
        lines += [f"    answers: {', '.join(one.answers)}"]
        lines += [f"      {visible(covers)}" for covers in one.covers.values()]
        typed = one.risk == Risk.HIGH.word and one.may_allow
        lines += [f"    {HIGH_RISK.format(id=one.id)}"] if typed else []
        lines += [f"    {BREAK_GLASS.format(id=one.id)}"] if one.glass else []
        lines += [""]
    return lines[:-1] or ["Nobody waits for an answer."]


def wait_for_outcome(gate: Gate, question: str, timeout: float) -> WaitOutcome:
    """Wait, but no longer than the question can still be answered."""
    row = wait_for_answer(gate, question, timeout)
    status: str = row.state
    if row.state == "answered":
        status = "denied" if row.answer in (None, "deny") else "granted"
    elif row.state == "open":
        status = "timeout"
    return WaitOutcome(question, status, row.answer, row.by, row.reason)


def outcome_line(outcome: WaitOutcome) -> str:
    who = f" by {visible(outcome.by)}" if outcome.by else ""
    told = {
        "granted": f"granted ({outcome.answer}){who}",
        "denied": f"denied{who}",
        "cancelled": f"taken back{who} before anybody answered",
        "expired": "expired: nobody answered in time",
        "timeout": "no answer yet; the question stays open",
        "not_found": f"there is no question {visible(outcome.question)}",
    }
    return told[outcome.status] + (f": {visible(outcome.reason)}" if outcome.reason else "")


def stands_line(stands: QuestionStanding) -> str:
    if stands.missing is not None:
        return f"Approved by you: {stands.question}. It needs more: {visible(stands.missing)}"
    if stands.yours:
        said = "denied" if stands.answer == "deny" else f"approved ({stands.answer})"
        return f"{said[0].upper()}{said[1:]}: {stands.question}"
    if stands.state != "answered":
        return f"Not answered: the question is {stands.state}"
    said = "denied" if stands.answer == "deny" else f"approved ({stands.answer})"
    at = "" if stands.at is None else f" at {format_moment(stands.at)}"
    return f"Already answered: {said} by {visible(stands.by or 'somebody')}{at}"


def load_open_sessions(gate: Gate) -> list[OpenSession]:
    from sayso.gate.figures.activity import Activity

    loaded: list[LoadedSession | None] = []
    after = ""
    with gate.store.read() as tx:
        while page := tx.sessions(after=after, limit=PAGE):
            loaded += [load_session(tx, gate.sealer, row.id, RowSelection()) for row in page]
            after = page[-1].id
    seen = Activity().load_last_times(gate)
    return [
        OpenSession(
            id=found.row.id,
            agent=found.row.agent,
            owner=found.row.owner,
            user=found.row.user,
            workspace=found.row.workspace,
            parent=found.row.parent,
            opened_at=found.row.opened_at,
            turn=found.session.turn,
            task=found.session.task.name if found.session.task else None,
            stopped=found.session.stopped is not None,
            tampered=not (found.believed or found.void),
            last_seen=seen.get(found.row.id),
        )
        for found in loaded
        if found is not None
    ]


def session_lines(found: Iterable[OpenSession]) -> list[str]:
    lines: list[str] = []
    for one in found:
        seen = "not lately" if one.last_seen is None else format_moment(one.last_seen)
        facts = [f"since {format_moment(one.opened_at)}", f"last active {seen}", f"turn {one.turn}"]
        facts += [f"in {visible(one.workspace)}"] if one.workspace else []
        facts += [f"on {visible(one.task)}"] if one.task else []
        facts += [f"started by {one.parent}"] if one.parent else []
        facts += ["STOPPED"] if one.stopped else []
        facts += ["TAMPERED WITH: nothing is decided in it"] if one.tampered else []
        lines += [f"{one.id}  {visible(one.agent)}", f"    {', '.join(facts)}"]
    return lines or ["No session is open."]


def figure_lines(found: Figures) -> list[str]:
    """One line a figure, with its aim where there is one."""
    per, worst = found.prompts_per_category_per_task, found.most_prompts_in_a_category_of_a_task
    unasked = ", ".join(f"{rule} {times}" for rule, times in found.high_risk_unasked.items())
    answered = "none" if found.median_time_to_answer is None else format_span(found.median_time_to_answer)
    repeated = _format_percent(found.repeated_commands_on_allowlist)
    lines = [
        f"decisions: {found.decisions} (allowed {found.allowed}, asked {found.asked}, denied {found.denied})",
        f"{count_of(found.prompts, 'question')} asked, {found.avoided} avoided by earlier answers",
        f"prompts per category per task: {_format_number(per)}"
        + ("" if per is None else f", at most {worst}")
        + " (aim: at most 1)",
        f"high-risk calls asked: {_format_percent(found.high_risk_asked)} (aim: 100 %)"
        + (f"; unasked by {unasked}" if unasked else ""),
        f"repeated commands on the allowlist: {repeated} (aim: at least 50 %)",
        f"questions rated clear: {_format_rating(found)} (aim: at least 90 %)",
        f"prompts per hour of work: {_format_number(found.prompts_per_hour)}",
        f"median time to answer: {answered}, of {count_of(found.answers, 'answer')}",
        f"answers faster than a person can read: {found.answers_too_fast}",
        f"questions that expired: {found.expired}",
    ]
    return lines + (
        [f"left out, because pruned: {count_of(found.pruned, 'decision')}"] if found.pruned else []
    )


def format_span(seconds: float) -> str:
    """A time to go, short."""
    if seconds < MINUTE:
        return f"{max(seconds, 0):.0f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < DAY:
        return f"{seconds / HOUR:.1f} h"
    return f"{seconds / DAY:.1f} days"


def format_moment(at: float) -> str:
    """A time of the day, in the zone of whoever reads it."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def inbox_item_from_row(gate: Gate, tx: Reader, found: Read) -> InboxItem:
    """An open question with all of the call."""
    row, team = found.row, describe_approvals_for(gate, tx, found, at_terminal(operator_name()))
    question = retell(gate, tx, found.question)
    question = question if team.counts else keep_only_deny(question)
    call = question.request.call
    return InboxItem(
        id=row.id,
        session=row.session,
        agent=question.request.agent,
        title=title_of(call),
        risk=Risk(question.risk).word,
        operations=operations_of(question.items),
        text=question.text,
        answers=tuple(offer.answer for offer in question.offers),
        opened_at=row.opened_at,
        left=ends_at(gate, row) - tx.now,
        tool=call.tool,
        command=call.command,
        arguments=msgspec.Raw(call.arguments),
        folder=call.folder,
        target=call.target,
        state=call.state,
        covers={offer.answer: offer.words for offer in question.offers},
        digest=question.request.digest,
        complete=question.complete,
        approvals=team.text,
        glass=team.glass,
    )


def _format_rating(found: Figures) -> str:
    return _format_percent(found.rated_clear) if found.rated else "not rated yet"


def _format_number(value: float | None) -> str:
    return "none so far" if value is None else f"{value:.1f}"


def _format_percent(value: float | None) -> str:
    return "none so far" if value is None else f"{value:.0%}".replace("%", " %")
