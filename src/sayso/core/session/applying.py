"""Applying effects to a session: the one way in which its state changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from sayso.core import effects as fx
from sayso.core.decision import Question
from sayso.core.grants import EXACT, Grant, GrantKey, HeldGrant, spent
from sayso.core.session.state import Denial, Sending, Session, Suspension

MOST_TAKEN_BACK = 32
LONGEST_TAKEN_BACK = 500


def apply_effects(session: Session, effects: Iterable[fx.Effect]) -> Session:
    """The session after these effects. Notices and alerts change no session; they are for the surfaces."""
    for effect in effects:
        step = _STEPS.get(type(effect))
        if step is not None:
            session = step(session, effect)
    return session


def only_count_uses(effects: Iterable[fx.Effect]) -> bool:
    """Return whether these effects change nothing of a session but how often its grants were used."""
    for effect in effects:  # noqa: SIM110  most often it is one, for every call
        if type(effect) is not fx.GrantUsed:
            return False
    return True


_replace = msgspec.structs.replace


def _add_grant(session: Session, effect: fx.GrantAdded) -> Session:
    grant, key, task = effect.grant, effect.grant.key, session.task
    row = (*session.grants.get(key, ()), HeldGrant(grant))
    if task is not None and grant.kind == "category" and grant.value not in task.consented:
        task = msgspec.structs.replace(task, consented=(*task.consented, grant.value))
    return _replace(session, grants={**session.grants, key: row}, granted=session.granted + 1, task=task)


def _update_grant(
    session: Session, key: GrantKey, grant: str, *, uses: int = 0, revoked: bool = False
) -> Session:
    """Count so many uses more, or fewer, of this grant, or revoke it."""
    row = session.grants.get(key, ())
    changed = [
        HeldGrant(held.grant, max(held.used + uses, 0), revoked or held.revoked)
        if held.grant.id == grant
        else held
        for held in row
    ]
    return _replace(session, grants={**session.grants, key: tuple(changed)})


def _count_use(session: Session, effect: fx.GrantUsed) -> Session:
    return _update_grant(session, effect.key, effect.grant, uses=1)


def _return_use(session: Session, effect: fx.UseReturned) -> Session:
    return _update_grant(session, effect.key, effect.grant, uses=-1)


def _revoke_grant(session: Session, effect: fx.GrantRevoked) -> Session:
    """End a grant, with the unused approval that the same answer gave and the retries that stem from it."""
    ended = [held.grant for held in _ending_with(session, effect)]
    keys = [(effect.key, effect.grant), *((grant.key, grant.id) for grant in ended)]
    for key, grant in keys:
        session = _update_grant(session, key, grant, revoked=True)
    return _exhaust(session, {value for (kind, value), _ in keys if kind == "retry"})


def find_ended_grants(session: Session, effects: Iterable[fx.Effect], now: float) -> tuple[HeldGrant, ...]:
    """The grants that these revocations end, each once: those they name, and live ones that end with them."""
    ended: dict[str, HeldGrant] = {}
    for effect in effects:
        if isinstance(effect, fx.GrantRevoked):
            row = session.grants.get(effect.key, ())
            named = [held for held in row if held.grant.id == effect.grant]
            beside = [held for held in _ending_with(session, effect) if not spent(held, now)]
            ended |= {held.grant.id: held for held in (*named, *beside) if held.grant.id not in ended}
    return tuple(ended.values())


def _ending_with(session: Session, effect: fx.GrantRevoked) -> tuple[HeldGrant, ...]:
    """Return the grants that end with this one: unused approvals of its answer, and its retries."""
    row = session.grants.get(effect.key, ())
    questions = {held.grant.question for held in row if held.grant.id == effect.grant} - {None}
    over = {effect.grant, *questions}
    others = (held for held in session.all_grants if held.grant.id != effect.grant)
    return tuple(
        held for held in others if _approves_by(held, questions) or not over.isdisjoint(held.grant.stems)
    )


def _approves_by(held: HeldGrant, questions: Collection[str | None]) -> bool:
    grant = held.grant
    return grant.kind == "call" and grant.question in questions and _has_uses(held)


def _has_uses(held: HeldGrant) -> bool:
    return held.grant.uses is None or held.used < held.grant.uses


def _end_call(session: Session, effect: fx.CallEnded) -> Session:
    """The call does not go on; as a run, it carries nothing any more either."""
    left = {name: one for name, one in session.under_way.items() if name != effect.call}
    ended = _replace(session, under_way=left)
    return _keep_grants(ended, lambda grant: grant.key != ("run", effect.call))


def _take_name_back(session: Session, effect: fx.ConsentTakenBack) -> Session:
    """Keep the name for calls under way. Too many, or too long a one: nothing begun before is carried on."""
    kept = (
        (*session.taken_back, effect.name)[-MOST_TAKEN_BACK:]
        if len(effect.name) <= LONGEST_TAKEN_BACK
        else ()
    )
    return _replace(session, revocations=session.revocations + 1, taken_back=kept)


def _clear_consent(session: Session, effect: fx.ConsentCleared) -> Session:
    if effect.reach == "allowlist":
        return _keep_grants(session, lambda grant: grant.kind != "command")
    session = _exhaust(session, {one.digest for one in session.suspended.values()})
    if effect.reach == "task":
        kept = _keep_grants(session, lambda grant: grant.ends_with != "task" and grant.kind not in EXACT)
        return _replace(kept, task=None, plan=None, shelved=None, pending=None)
    kept = _keep_grants(session, lambda grant: effect.reach != "everything" and grant.kind == "command")
    ended = _replace(kept, task=None, plan=None, shelved=None, pending=None, questions={})
    gone = _latest_turn(session.outdated_turn, *session.shown.values())
    ended = _replace(ended, shown={}, outdated_turn=gone)
    return _replace(ended, slash=None, imperatives=(), clearings=session.clearings + 1)


def _keep_grants(session: Session, wanted: Callable[[Grant], bool]) -> Session:
    """The session with the grants wanted, and without retries that stem from one that is not."""
    gone = {held.grant.id for held in session.all_grants if not wanted(held.grant)}
    rows = {key: tuple(held for held in row if _is_kept(held, gone)) for key, row in session.grants.items()}
    return _replace(session, grants={key: row for key, row in rows.items() if row})


def _is_kept(held: HeldGrant, gone: set[str]) -> bool:
    return held.grant.id not in gone and (not held.grant.stems or gone.isdisjoint(held.grant.stems))


def _exhaust(session: Session, digests: Collection[str]) -> Session:
    """Leave no further retry of these calls, whatever becomes of them; their categories stay suspended."""
    left = {one.digest for one in session.suspended.values() if one.left}
    if left.isdisjoint(digests):
        return session
    after = {
        name: Suspension(one.digest, 0) if one.digest in digests else one
        for name, one in session.suspended.items()
    }
    return _replace(session, suspended=after)


def _end_retries(session: Session, digest: str) -> Session:
    """End the unused retry of this call. One that is used belongs to the run that was started with it."""
    row = session.grants.get(("retry", digest), ())
    unused = {held.grant.id for held in row if _has_uses(held)}
    return _keep_grants(session, lambda grant: grant.id not in unused) if unused else session


def _add_denial(session: Session, effect: fx.CallRefused) -> Session:
    return _replace(session, denials={**session.denials, effect.digest: Denial(effect.turn, effect.at)})


def _open_question(session: Session, effect: fx.QuestionOpened) -> Session:
    """A call has one open question: a new one takes the place of the one before."""
    question: Question = effect.question
    asked = session.asked + (question.id not in session.questions)
    for before in find_replaced_questions(question, session):
        session = _close_question(session, fx.QuestionClosed(before, ""))
    return _replace(session, questions={**session.questions, question.id: question}, asked=asked)


def find_replaced_questions(question: Question, session: Session) -> tuple[str, ...]:
    """The open questions about the same call that this one takes the place of."""
    others = (one for one in session.questions.values() if one.id != question.id and one.claim is None)
    same = (one.id for one in others if one.request.digest == question.request.digest)
    return tuple(same) if question.claim is None else ()


def _mark_shown(session: Session, effect: fx.QuestionShown) -> Session:
    return _replace(session, shown={**session.shown, effect.question: effect.turn})


def _close_question(session: Session, effect: fx.QuestionClosed) -> Session:
    left = {name: question for name, question in session.questions.items() if name != effect.question}
    shown = {name: turn for name, turn in session.shown.items() if name != effect.question}
    gone = session.questions.get(effect.question)
    turn = None if gone is None or gone.claim is not None else session.shown.get(effect.question)
    return _replace(
        session, questions=left, shown=shown, outdated_turn=_latest_turn(session.outdated_turn, turn)
    )


def _latest_turn(*turns: int | None) -> int | None:
    return max((turn for turn in turns if turn is not None), default=None)


def _withdraw_question(session: Session, effect: fx.QuestionWithdrawn) -> Session:
    return _close_question(session, fx.QuestionClosed(effect.question, ""))


def _count_slash_call(session: Session, effect: fx.SlashUsed) -> Session:
    return _replace(session, slash_calls=session.slash_calls + 1)


def _suspend_category(session: Session, effect: fx.CategorySuspended) -> Session:
    """Another call that fails in the same category takes the place, and the retry, of the one before."""
    before = session.suspended.get(effect.category)
    if before is not None and before.digest != effect.digest:
        session = _end_retries(session, before.digest)
    after = Suspension(effect.digest, effect.left)
    return _replace(session, suspended={**session.suspended, effect.category: after})


def _end_all_retries(session: Session, effect: fx.RetriesEnded) -> Session:
    return _exhaust(_end_retries(session, effect.digest), {effect.digest})


def _lift_suspension(session: Session, effect: fx.SuspensionLifted) -> Session:
    before = session.suspended.get(effect.category)
    if before is not None:
        session = _end_retries(session, before.digest)
    left = {name: held for name, held in session.suspended.items() if name != effect.category}
    return _replace(session, suspended=left)


def _add_sending(session: Session, effect: fx.ContentSent) -> Session:
    key = (effect.domain, effect.content)
    row = (*session.sent.get(key, ()), Sending(effect.operation, effect.at))
    return _replace(session, sent={**session.sent, key: row})


def _mark_task_active(session: Session, effect: fx.TaskActive) -> Session:
    if session.task is None:
        return session
    phase = effect.phase or session.task.phase
    ran = tuple(dict.fromkeys((*session.task.ran, *effect.categories)))
    return _replace(
        session, task=msgspec.structs.replace(session.task, active=effect.turn, phase=phase, ran=ran)
    )


def _count_deviation(session: Session, effect: fx.PlanDeviated) -> Session:
    ended = _end_plan(session)
    if ended.task is None:
        return ended
    task = msgspec.structs.replace(ended.task, deviations=ended.task.deviations + 1)
    return _replace(ended, task=task)


def _mark_plan_started(session: Session, effect: fx.PlanStarted) -> Session:
    if session.plan is None:
        return session
    return _replace(session, plan=msgspec.structs.replace(session.plan, started=True))


def _apply_plan_end(session: Session, effect: fx.PlanEnded) -> Session:
    return _end_plan(session)


def _end_plan(session: Session) -> Session:
    """End the plan under way and its grants; a newer one that waits for an answer goes on waiting."""
    waits = session.shelved is not None and session.plan is not None and not session.plan.accepted
    kept = _keep_grants(session, lambda grant: grant.group is None)
    return _replace(kept, plan=session.plan if waits else None, shelved=None)


def _change_fields(session: Session, effect: fx.SessionChanged) -> Session:
    return _replace(session, **effect.fields)


_STEPS: dict[type[fx.Effect], Callable[[Session, Any], Session]] = {
    fx.GrantAdded: _add_grant,
    fx.GrantUsed: _count_use,
    fx.UseReturned: _return_use,
    fx.GrantRevoked: _revoke_grant,
    fx.CallEnded: _end_call,
    fx.ConsentTakenBack: _take_name_back,
    fx.ConsentCleared: _clear_consent,
    fx.CallRefused: _add_denial,
    fx.QuestionOpened: _open_question,
    fx.QuestionShown: _mark_shown,
    fx.QuestionClosed: _close_question,
    fx.QuestionWithdrawn: _withdraw_question,
    fx.SlashUsed: _count_slash_call,
    fx.CategorySuspended: _suspend_category,
    fx.RetriesEnded: _end_all_retries,
    fx.SuspensionLifted: _lift_suspension,
    fx.ContentSent: _add_sending,
    fx.TaskActive: _mark_task_active,
    fx.PlanDeviated: _count_deviation,
    fx.PlanStarted: _mark_plan_started,
    fx.PlanEnded: _apply_plan_end,
    fx.SessionChanged: _change_fields,
}
