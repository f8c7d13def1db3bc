"""Questions and sessions as the operator's endpoints tell them."""

from __future__ import annotations

import msgspec

from sayso.core import words
from sayso.core.deciding.questions import describe_operation, only_declared
from sayso.core.deciding.titles import has_sentence, title_of
from sayso.core.decision import Item, Question
from sayso.core.digest import decode_canonical
from sayso.core.model import Request
from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.questions.coverage import measure_coverage
from sayso.gate.questions.editable import find_editable
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.read import Read
from sayso.gate.questions.retell import retell
from sayso.gate.questions.team.progress import keep_only_deny, load_progress
from sayso.gate.questions.team.quorum import ApprovalProgress
from sayso.gate.sessions.last_message import load_last_message
from sayso.service.api.asking.signed_answers import must_sign
from sayso.service.http.callers import answerer_of
from sayso.service.http.endpoints import Context
from sayso.service.live.waiters import Waits
from sayso.service.shapes import ItemView, OfferView, QuestionDetails
from sayso.store.contract import Reader


def describe_question(context: Context, tx: Reader, found: Read) -> QuestionDetails:
    """The question without what costs more than a look-up: what its answers would have covered."""
    row, asked = found.row, retell(context.gate, tx, found.question)
    approvals = load_progress(context.gate, tx, row, found.question, answerer_of(context))
    theirs = _as_offered(asked, approvals)
    call, worst = asked.request.call, max(asked.items, key=lambda item: item.risk)
    expired = row.state == "open" and tx.now >= ends_at(context.gate, row)
    state = "expired" if expired else row.state
    waits = find_known_waits(context, row.id)
    return QuestionDetails(
        id=row.id,
        state=state,
        session=row.session,
        agent=asked.request.agent,
        turn=asked.turn,
        title=title_of(call) if asked.bundle is None else words.bundle_title(asked.bundle, len(asked.items)),
        sentence=asked.bundle is None and has_sentence(call),
        message=load_last_message(context.gate, tx, row.session),
        risk=asked.risk.word,
        tool=call.tool,
        command=call.command,
        arguments=decode_canonical(call.arguments),
        target=call.target,
        folder=call.folder,
        world=call.state,
        text=asked.text,
        why=worst.ruling.reason,
        rule=worst.ruling.rule,
        items=_describe_items(context.gate, asked),
        offers=tuple(OfferView(offer.answer, offer.words) for offer in theirs.offers),
        bundle=asked.bundle,
        later=asked.later,
        digest=asked.request.digest,
        opened_at=row.opened_at,
        expires_at=ends_at(context.gate, row),
        approval_lasts=context.gate.policy.settings.approval_of(asked.risk),
        waiting=_is_waiting(waits, state),
        left_at=None if waits is None else waits.left_at,
        signed=must_sign(context.gate, tx, asked),
        door=call.door,
        server=call.server,
        workflow=asked.request.workflow,
        complete=asked.complete,
        because=asked.because,
        editing=find_editable(theirs, elsewhere=True),
        answer=row.answer,
        by=row.by,
        reason=row.reason,
        closed_at=row.closed_at,
        approvals=None if expired else approvals,
    )


def _as_offered(asked: Question, approvals: ApprovalProgress | None) -> Question:
    """The question with the answers that would count from whoever looks."""
    own = None if approvals is None else approvals.yours
    return asked if own is None or own.counts else keep_only_deny(asked)


def add_coverage(gate: Gate, told: QuestionDetails, asked: Question) -> QuestionDetails:
    """The same with what each answer would have covered of the session's last questions."""
    covered, last = measure_coverage(gate, asked)
    offers = tuple(
        msgspec.structs.replace(offer, would_have_covered=covered.get(offer.answer, 0), of_last=last)
        for offer in told.offers
    )
    return msgspec.structs.replace(told, offers=offers)


def find_known_waits(context: Context, question: str) -> Waits | None:
    """Return what is known here of who waits. To know more, every wait would be two writes more."""
    return context.running.waiters.find_waits(question)


def _is_waiting(waits: Waits | None, state: str) -> bool | None:
    if state != "open":
        return False
    return None if waits is None else waits.now


def _describe_items(gate: Gate, asked: Question) -> tuple[ItemView, ...]:
    ids = zip(asked.item_ids, asked.items, strict=True)
    return tuple(_describe_item(name, item, asked.request, gate.policy) for name, item in ids)


def _describe_item(name: str, item: Item, request: Request, policy: Policy) -> ItemView:
    does = describe_operation(item.operation, request, policy)
    declared = does is not None and only_declared(item.operation, request, policy)
    return ItemView(name, item.operation, item.risk.word, item.category, item.ruling.reason, does, declared)
