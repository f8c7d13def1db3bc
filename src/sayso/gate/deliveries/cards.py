"""Cards: a question as a surface beyond this process is given it, and the tokens of its answers."""

from __future__ import annotations

import base64
import hmac

import msgspec

from sayso.core import words
from sayso.core.decision import Question, operations_of
from sayso.core.model import Risk
from sayso.core.text.foreign import full_length_note, visible
from sayso.gate.deliveries.remote_surface import LABELS, CardAnswer, QuestionCard, RemoteSurface
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import on_surface
from sayso.gate.people.passkeys import needs_proof
from sayso.gate.questions.read import Read
from sayso.gate.questions.team.progress import (
    ApprovalLine,
    describe_line,
    find_own_approval,
    keep_only_deny,
    load_team_approvals,
)
from sayso.store.contract import Reader

TOKEN_BYTES = 16
LONGEST_TITLE = 300
"""In bytes, and besides what a surface says is the longest it shows."""
DENY_COVERS = "the call does not run"
NEWLINE = "\n"
OPEN_SAYSO = "\nOpen Sayso to see all of the call."


def make_card(
    gate: Gate,
    surface: RemoteSurface,
    question: Question,
    expires_at: float,
    link: str | None,
    approvals: ApprovalLine,
) -> QuestionCard:
    """Make the card of this question for this surface: all of the call, or only what it does.

    `approvals` says whose approvals it waits for, where a team has to approve. It stands first. Where no yes
    would count there, the card offers a no alone.
    """
    first = _first_lines(approvals)
    full = sends_whole(surface, question, len(first.encode()))
    whole = full and not surface.cuts
    operations = operations_of(question.items)
    agent, risk = visible(question.request.agent), question.risk.word
    title = f"{agent}: {', '.join(operations)} ({risk} risk)"
    offered = tuple(
        (offer.answer, visible(offer.words, None) if full else LABELS.get(offer.answer, offer.answer))
        for offer in (question if approvals.counts else keep_only_deny(question)).offers
        if offer.answer != "edit"
    )
    if not any(answer == "deny" for answer, _ in offered):
        offered = (*offered, ("deny", DENY_COVERS))
    return QuestionCard(
        question.id,
        risk,
        agent,
        operations,
        fit_text(title, LONGEST_TITLE),
        first + (question.text if full else _mask_call(question, surface.longest - len(first.encode()))),
        whole,
        question.request.digest,
        expires_at,
        tuple(
            CardAnswer(answer, covers, answer_token(gate, surface.name, question, answer, whole=whole))
            for answer, covers in offered
        ),
        link,
    )


def describe_approvals_on(gate: Gate, tx: Reader, surface: RemoteSurface, read: Read) -> ApprovalLine:
    """Return how far the approvals of a question are, and whose allow would count on this surface."""
    found = load_team_approvals(gate, tx, read.row, read.question)
    can_answer = surface.allows and not needs_proof(gate, tx, read.question.risk)
    if found is None or not can_answer:
        return ApprovalLine(None if found is None else describe_line(found), can_answer)
    there = [on_surface(surface.name, one) for one in sorted(surface.approvers)]
    counting = [one for one in there if find_own_approval(gate, tx, found, one).counts]
    people = sorted({found.team.person_of(one.identity) or "" for one in counting})
    line = ApprovalLine(words.surface_approvals_line(describe_line(found), people), bool(people))
    shown = sends_whole(surface, read.question, len(_first_lines(line).encode())) and not surface.cuts
    if read.question.risk < Risk.HIGH or shown:
        return line
    return msgspec.structs.replace(line, text=describe_line(found))  # nobody has a button for a yes


def _first_lines(approvals: ApprovalLine) -> str:
    line = approvals.text
    return "" if line is None else f"{fit_text(f'Approvals: {line}', LONGEST_TITLE)}\n\n"


def sends_whole(surface: RemoteSurface, question: Question, beside: int = 0) -> bool:
    """Return whether the surface is sent all of the call: it may, nothing is folded, and there is room."""
    return surface.detail == "full" and question.complete and _fits(question.text, surface.longest - beside)


def answer_token(gate: Gate, surface: str, question: Question, answer: str, *, whole: bool) -> str:
    """Return what stands for this answer to this question, with this call, on this surface, in this epoch.

    It says as well whether the card had all of the call on it. No row has a say in that.
    """
    shown = "whole" if whole else "masked"
    mac = gate.sealer.answer_mac(surface, question.id, question.request.digest, answer, shown)[:TOKEN_BYTES]
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def token_fits(gate: Gate, surface: str, question: Question, answer: str, token: str, *, whole: bool) -> bool:
    expected = answer_token(gate, surface, question, answer, whole=whole)
    return hmac.compare_digest(expected.encode(), token.encode())


def fit_text(text: str, longest: int) -> str:
    """Return the text, or as much of it as fits into so many bytes, with its true length."""
    if _fits(text, longest):
        return text
    note = full_length_note(text)
    return text.encode()[: longest - len(note.encode())].decode(errors="ignore") + note


def _fits(text: str, longest: int) -> bool:
    """In bytes of UTF-8: however a service counts, it never counts more."""
    return len(text.encode()) <= longest


def _mask_call(question: Question, longest: int) -> str:
    """What it does, without what an agent wrote."""
    items = (f"{item.operation} ({item.risk.word} risk): {item.ruling.reason}" for item in question.items)
    return f"{fit_text(NEWLINE.join(items), longest - len(OPEN_SAYSO))}{OPEN_SAYSO}"
