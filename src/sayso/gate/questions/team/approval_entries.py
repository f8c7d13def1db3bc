"""Entries of a team's approvals: those that are not the last one needed, and a broken glass."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from sayso.core.audit import events
from sayso.core.decision import Question, operations_of
from sayso.core.text.foreign import visible
from sayso.gate import words
from sayso.gate.gate import Gate
from sayso.gate.questions.team.quorum import Approval, Count, save_approvals
from sayso.gate.rows.journal import record
from sayso.store.contract import QuestionRow, Writer


def save_approval(
    gate: Gate,
    tx: Writer,
    row: QuestionRow,
    asked: Question,
    count: Count,
    *,
    by: str,
    proof: Mapping[str, str] | UnsetType,
    signed: bool,
) -> None:
    """Keep an approval that is not the last one needed. The question stays open, and grants nothing."""
    save_approvals(gate, tx, row, count)
    given = count.approvals[-1]
    approved = events.Approved(
        row.id,
        given.person,
        given.identity,
        given.digest,
        count.progress.missing,
        by,
        proof=proof,
        signed=UNSET if signed else False,
    )
    _record_about(gate, tx, asked, approved)


def record_glass(gate: Gate, tx: Writer, asked: Question, count: Count, reason: str) -> None:
    """Record that the glass was broken. The entry is an alarm: it goes where notices go."""
    given = count.approvals[0]
    operations = operations_of(asked.items)
    notice = words.glass_notice(given.person, asked.id, operations, visible(reason))
    broken = events.GlassBroken(
        asked.id, given.person, given.identity, given.digest, reason, count.progress.missing, notice
    )
    _record_about(gate, tx, asked, broken)


def spell_approval(approval: Approval) -> str:
    return f"{approval.person} by {approval.identity}"


def _record_about(gate: Gate, tx: Writer, asked: Question, event: events.AuditEvent) -> None:
    record(
        tx,
        event,
        session=asked.request.session,
        agent=asked.request.agent,
        operations=operations_of(asked.items),
        stream=gate.stream,
    )
