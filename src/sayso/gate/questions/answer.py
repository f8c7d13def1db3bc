"""Answering a question: the first answer counts, and everyone after learns which it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.audit import events
from sayso.core.conversation.claims import effects_of_claim_answer
from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import grants_of_answer as once
from sayso.core.deciding.questions import effects_of_answers, subjects_of, summarize_answers
from sayso.core.deciding.showing import check_edit_seen, check_seen
from sayso.core.decision import Decision, Question, operations_of
from sayso.core.effects import Effect, GrantAdded, QuestionClosed, QuestionWithdrawn
from sayso.core.errors import SaysoError
from sayso.core.grants import Grant
from sayso.core.model import Origin, Request, Risk, Verdict
from sayso.core.policy import Terms, terms_of
from sayso.core.team import CoveredOperation
from sayso.core.text.foreign import NUL, visible
from sayso.gate import words
from sayso.gate.audit.consent_entries import record_consents, record_lasting_grants
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import (
    Gate,
    apply_and_save,
    load_open_session,
    select_live_rows,
    writing,
)
from sayso.gate.people.answerers import Answerer
from sayso.gate.people.passkeys import (
    ProofNeeded,
    Signing,
    find_passkey_id,
    highest_unsigned_risk,
    lock_passkeys,
    needs_proof,
    proof_to_details,
    use_passkey,
)
from sayso.gate.questions.editable import reason_not_editable
from sayso.gate.questions.expiry import ends_at, expire_question
from sayso.gate.questions.read import UnknownQuestion, refuse_tampered_question
from sayso.gate.questions.team.approval_entries import record_glass, save_approval, spell_approval
from sayso.gate.questions.team.quorum import Count, NotApprover, count_approval, save_approvals
from sayso.gate.questions.view import view_of
from sayso.gate.rows.journal import call_for_entry, record
from sayso.gate.rows.sessions import LoadedSession, close_question_row
from sayso.gate.rows.webauthn import BadProof, answer_challenge
from sayso.gate.telemetry import log_answer, log_approval
from sayso.store.contract import QuestionRow, Writer


class AnswerChange(msgspec.Struct, frozen=True):
    """The effects of an answer; for an edit also the edited call, for its row and its entry."""

    effects: tuple[Effect, ...]
    edited_digest: str = ""
    edited: bytes | None = None
    sensitive: dict[str, bytes] = {}
    risk: Risk = Risk.LOW
    """Of what shall run instead of what was asked about."""
    subjects: tuple[CoveredOperation, ...] = ()
    """What the edited call does, for the team's rules."""


class EditRefused(SaysoError):
    """The edited call is another one's, or the policy never allows it. The question stays open."""

    code = "edit_refused"


class QuestionStanding(msgspec.Struct, frozen=True):
    """A question after somebody answered: by whom, what, when; and whether it was this answer."""

    question: str
    state: str
    answer: str | None
    by: str | None
    at: float | None
    yours: bool
    grants: tuple[str, ...] = ()
    missing: str | None = None
    """Whose approvals it still waits for, if this was one of several."""


class AnswerSource(msgspec.Struct, frozen=True):
    """The person who answers, their reason, and what proves who they are. `glass`: they break it."""

    by: str
    reason: str | None
    signing: Signing | None
    who: Answerer | None
    glass: bool = False


def answer_question(
    gate: Gate,
    question: str,
    given: str,
    *,
    by: str,
    reason: str | None = None,
    signing: Signing | None = None,
    seen: str | None = None,
    who: Answerer | None = None,
    glass: bool = False,
) -> QuestionStanding:
    """Give this answer if the question is still open; else return its state.

    `signing` comes from surfaces where passkeys are used: there an answer that needs a proof is refused
    without one. Elsewhere, at a terminal, it counts, and its entry notes that it was not signed.
    `seen` is the digest of the call that whoever answers was shown whole. Without it nothing above moderate
    risk is allowed. `who` is the id that the door authenticated: where the team has to approve, nobody counts
    without one. `glass`: whoever may break it allows alone what others have to approve, with a reason.
    """

    def reply(tx: Writer, asked: Question, found: LoadedSession) -> AnswerChange:
        return _answer_change(gate, tx, asked, dict.fromkeys(asked.item_ids, given), found, by, seen)

    source = AnswerSource(by, reason, signing, who, glass)
    return _give_answer(gate, question, given, source, reply)


def answer_items(
    gate: Gate,
    question: str,
    given: Mapping[str, str],
    *,
    by: str,
    reason: str | None = None,
    signing: Signing | None = None,
    seen: str | None = None,
    who: Answerer | None = None,
) -> QuestionStanding:
    """The same with an answer to each item by its id. One no refuses the call."""

    def reply(tx: Writer, asked: Question, found: LoadedSession) -> AnswerChange:
        return _answer_change(gate, tx, asked, given, found, by, seen)

    source = AnswerSource(by, reason, signing, who)
    return _give_answer(gate, question, summarize_answers(given), source, reply)


def cancel_question(gate: Gate, question: str, why: str) -> None:
    """Withdraw a question that nobody can answer; one that was answered meanwhile stays answered."""
    with writing(gate) as tx:
        row = tx.question(question)
        if row is None:
            raise UnknownQuestion.of(question)
        found = load_open_session(gate, tx, row.session, select_live_rows())
        closed = {"state": "cancelled", "reason": why, "closed_at": tx.now}
        if question in found.session.questions and close_question_row(tx, gate.sealer, row, **closed):
            apply_and_save(gate, tx, found, (QuestionWithdrawn(question),))
            record(tx, events.Cancelled(row.id, why), session=row.session, stream=gate.stream)


def edit_and_allow(
    gate: Gate,
    question: str,
    edited: Request,
    *,
    by: str,
    reason: str | None = None,
    signing: Signing | None = None,
    seen: str | None = None,
    seen_edited: str | None = None,
    who: Answerer | None = None,
) -> QuestionStanding:
    """Approve the edited call once, in place of the one asked about.

    The policy decides the edited call again, and its no stays a no. Both digests are in the audit; the call
    that was asked about is not approved. `seen_edited` is the digest of the edited call as whoever answers
    was shown it; an edit that raises the risk above moderate needs it, or a proof, which names it as well.
    """

    def reply(tx: Writer, asked: Question, found: LoadedSession) -> AnswerChange:
        check_edit(asked, edited)
        here = gate.in_workspace(edited.call.workspace)
        decision = decide(edited, here.policy, view_of(here, tx, found, edited), tx.now)
        if decision.verdict is Verdict.DENY:
            raise EditRefused(f"the edited call is denied: {decision.reason}")
        risk = max(item.risk for item in decision.items)
        check_seen(asked, seen, risk)
        if signing is None or not needs_proof(gate, tx, risk):
            check_edit_seen(asked, edited.digest, seen_edited, risk)
        grants: tuple[Grant, ...] = ()
        if decision.verdict is Verdict.ASK:
            how = {"given_by": by, "question": question, "terms": _terms(here, asked, decision)}
            grants = once("once", edited, decision.items_to_ask, here.policy, found.session, tx.now, **how)
        effects = (*map(GrantAdded, grants), QuestionClosed(question, "edit"))
        kept = gate.sealer.seal_edit(question, edited)
        subjects = subjects_of(decision.items)
        return AnswerChange(effects, edited.digest, kept, call_for_entry(edited.call), risk, subjects)

    return _give_answer(gate, question, "edit", AnswerSource(by, reason, signing, who), reply)


def check_edit(asked: Question, edited: Request) -> None:
    """Refuse an edit of what nobody may edit, or one that changes who makes the call or with which tool."""
    reason = reason_not_editable(asked)
    if reason is not None:
        raise EditRefused(reason)
    if _maker(asked.request) != _maker(edited):
        raise EditRefused("an edit changes what a call does, not who makes it with which tool")


def _answer_change(
    gate: Gate,
    tx: Writer,
    asked: Question,
    given: Mapping[str, str],
    found: LoadedSession,
    by: str,
    seen: str | None,
) -> AnswerChange:
    """Return what these answers change: what they grant for a call, or that a claimed message counts.

    Whether the approvals of a team are there is counted before any of it is written.
    """
    gate = gate.in_workspace(found.row.workspace)
    if asked.claim is None:
        return AnswerChange(
            effects_of_answers(
                asked, given, gate.policy, found.session, tx.now, by=by, seen=seen, approved=True
            )
        )
    unsigned = highest_unsigned_risk(gate, tx)
    effects = effects_of_claim_answer(
        asked, given, gate.policy, found.session, tx.now, seen=seen, unsigned=unsigned
    )
    return AnswerChange(effects)


def _give_answer(
    gate: Gate,
    question: str,
    given: str,
    source: AnswerSource,
    reply_to: Callable[[Writer, Question, LoadedSession], AnswerChange],
) -> QuestionStanding:
    refused: events.AuditEvent
    try:
        stands = _close_with_answer(gate, question, given, source, reply_to)
    except BadProof as error:
        refused = events.ProofRefused(question, given, source.by, why=error.message)
        with writing(gate) as tx:
            record(tx, refused, stream=gate.stream)
        raise
    except NotApprover as error:
        identity = "" if source.who is None else source.who.identity
        refused = events.ApprovalRefused(question, given, source.by, identity, error.message)
        with writing(gate) as tx:
            record(tx, refused, stream=gate.stream)
        raise
    if stands.missing is not None:
        log_approval(question, source.by, stands.missing)
    elif stands.yours:
        log_answer(question, given, source.by)
    return stands


def _close_with_answer(
    gate: Gate,
    question: str,
    given: str,
    source: AnswerSource,
    reply_to: Callable[[Writer, Question, LoadedSession], AnswerChange],
) -> QuestionStanding:
    by, signing = source.by, source.signing
    reason = None if source.reason is None else source.reason.replace(NUL, visible(NUL))
    with operator_act(gate) as tx:
        row = _load_question_row(gate, tx, question)
        if row.state != "open":
            return _standing_from_row(row, yours=False)
        if tx.now >= ends_at(gate, row):
            return _standing_from_row(expire_question(gate, tx, row), yours=False)
        found = load_open_session(gate, tx, row.session, select_live_rows())
        asked = found.session.questions.get(row.id)
        if asked is None:
            refuse_tampered_question(gate, row)
        if signing is not None and signing.proof is not None:
            lock_passkeys(tx)  # after the session and before the stream, as everybody does
        reply = reply_to(tx, asked, found)
        proof, signed = _check_signature(gate, tx, asked, given, by, reply, signing)
        count = None if given == "deny" else _count_approval(gate, tx, row, asked, reply, source, proof)
        if count is not None and not count.complete:
            save_approval(gate, tx, row, asked, count, by=by, proof=proof, signed=signed)
            missing = count.progress.missing
            return QuestionStanding(row.id, "open", None, by, None, yours=True, missing=missing)
        if count is not None:
            by = words.join_names(one.person for one in count.approvals)
            reply = _give_in_name_of(by, reply)
        how: dict[str, Any] = {"answer": given, "reason": reason, "by": by, "edited": reply.edited}
        how |= {"state": "answered", "closed_at": tx.now}
        if not close_question_row(tx, gate.sealer, row, **how):
            return _standing_from_row(tx.question(row.id) or row, yours=False)
        apply_and_save(gate, tx, found, reply.effects)
        given_grants = [effect.grant for effect in reply.effects if isinstance(effect, GrantAdded)]
        grants = tuple(one.id for one in given_grants)
        if count is not None and given_grants:
            save_approvals(gate, tx, row, count, until=max(one.expires_at for one in given_grants))
        answered = events.Answered(
            row.id,
            given,
            by,
            digest=row.digest,
            reason=reason or "",
            grants=grants,
            policy=gate.policy.digest if grants else UNSET,
            bundle=UNSET if asked.bundle is None else asked.bundle,
            edited=reply.edited_digest or UNSET,
            proof=proof,
            signed=UNSET if signed else False,
            approvals=UNSET if count is None else tuple(map(spell_approval, count.approvals)),
        )
        _record_answer(gate, tx, asked, found, reply, answered)
        if count is not None and count.glass:
            record_glass(gate, tx, asked, count, reason or "")
        return _standing_from_row(msgspec.structs.replace(row, **how), yours=True, grants=grants)


def _give_in_name_of(by: str, reply: AnswerChange) -> AnswerChange:
    """Return the change whose grants are given by everybody who approved, and not by the last one alone."""
    effects = tuple(
        GrantAdded(msgspec.structs.replace(one.grant, given_by=by)) if isinstance(one, GrantAdded) else one
        for one in reply.effects
    )
    return msgspec.structs.replace(reply, effects=effects)


def _count_approval(
    gate: Gate,
    tx: Writer,
    row: QuestionRow,
    asked: Question,
    reply: AnswerChange,
    source: AnswerSource,
    proof: Mapping[str, str] | UnsetType,
) -> Count | None:
    """Count the approvals with this one; None if no rule of the team covers what is asked, or the edit."""
    who = source.who
    if who is not None and proof is not UNSET:
        who = msgspec.structs.replace(who, passkey=find_passkey_id(gate, tx, source.signing))
    return count_approval(
        gate,
        tx,
        row,
        asked,
        digest=reply.edited_digest or row.digest,
        subjects=(*subjects_of(asked.items), *reply.subjects),
        who=who,
        glass=(source.reason or "") if source.glass else None,
    )


def _record_answer(
    gate: Gate,
    tx: Writer,
    asked: Question,
    found: LoadedSession,
    reply: AnswerChange,
    answered: events.Answered,
) -> None:
    """Record the answer, and the consent it gives that outlasts the call."""
    record(
        tx,
        answered,
        session=found.row.id,
        agent=found.row.agent,
        operations=operations_of(asked.items),
        stream=gate.stream,
        sensitive=reply.sensitive,
    )
    if asked.claim is None:
        record_lasting_grants(gate, tx, reply.effects, found.row.agent)
    else:
        closed = QuestionClosed(answered.question, answered.answer)
        record_consents(gate, tx, found.session, tuple(one for one in reply.effects if one != closed))


def _load_question_row(gate: Gate, tx: Writer, question: str) -> QuestionRow:
    """Return the row of this question. Every attempt to answer a tampered one is reported."""
    row = tx.question(question)
    if row is None:
        raise UnknownQuestion.of(question)
    if gate.sealer.open_question(row) is None:
        refuse_tampered_question(gate, row)
    return row


def _check_signature(
    gate: Gate, tx: Writer, asked: Question, given: str, by: str, reply: AnswerChange, signing: Signing | None
) -> tuple[Mapping[str, str] | UnsetType, bool]:
    """Return the proof for the entry, and whether the answer is signed where it has to be.

    An answer from the page that needs a signature and has none is refused.
    """
    if signing is not None and signing.proof is not None:
        challenge = answer_challenge(asked.id, asked.request.digest, given, reply.edited_digest)
        passkey = use_passkey(
            gate, tx, signing.proof, challenge, signing.origins, by=by, identity=signing.identity
        )
        return proof_to_details(signing.proof, passkey), True
    if given == "deny" or not needs_proof(gate, tx, max(asked.risk, reply.risk)):
        return UNSET, True
    if signing is not None:
        raise ProofNeeded(
            "this answer has to be signed with a passkey", hint="sign it, or answer at a terminal"
        )
    return UNSET, False


def _terms(gate: Gate, asked: Question, decision: Decision) -> Mapping[str, Terms]:
    """Return the policy's terms for an edited call, in the mode in which the question was asked."""
    mode = next((one.mode for one in asked.terms.values()), gate.policy.mode)
    policy = msgspec.structs.replace(gate.policy, mode=mode)
    return terms_of(policy, ((item.operation, item.risk) for item in decision.items_to_ask))


def _maker(request: Request) -> tuple[str, str, Origin, str]:
    return (request.session, request.agent, request.origin, request.call.tool)


def _standing_from_row(row: QuestionRow, *, yours: bool, grants: tuple[str, ...] = ()) -> QuestionStanding:
    return QuestionStanding(row.id, row.state, row.answer, row.by, row.closed_at, yours, grants)
