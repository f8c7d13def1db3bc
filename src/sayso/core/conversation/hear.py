"""Hearing a user's message: what it ends, what it answers, what it allows.

Tightening is done first and always; loosening only if nothing in the message speaks against it, and only as
far as the message is assured.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.consents import (
    allowlist_entry,
    answer_queries,
    list_allowlist_entries,
    list_category_grants,
)
from sayso.core.conversation.hearing import Heard, Hearing
from sayso.core.conversation.limits import find_limit
from sayso.core.conversation.message import Message, read_message
from sayso.core.conversation.replies.answers import hear_no, hear_unclear_yes, hear_yes
from sayso.core.conversation.replies.asked import was_asked
from sayso.core.conversation.replies.naming import name_questions
from sayso.core.conversation.replies.plans import narrows_plan
from sayso.core.conversation.revocations import find_dropped, revoke_entry
from sayso.core.conversation.standing_consent import speaks_of_revoking
from sayso.core.conversation.withdrawal import take_forbidden_off, take_last_yes_back
from sayso.core.deciding.rules import PLAN_TURNS
from sayso.core.grants import spent
from sayso.core.model import Assurance, Risk
from sayso.core.plans.edit import begins_with_yes, find_spoken_change
from sayso.core.policy import Policy
from sayso.core.session import PendingPrompt, Session
from sayso.core.session.numbering import new_task
from sayso.core.text.slash_text import limits_slash
from sayso.core.text.unmask import LONGEST, visible_readings
from sayso.core.words import visible

CONFIRM_TASK_EVERY = 25
LOOSENING = frozenset({"grant", "slash", "assent", "medium", "modify", "imperative"})


def hear_text(
    session: Session,
    text: str,
    policy: Policy,
    now: float,
    assurance: Assurance = Assurance.ASSURED,
    risk_of: Callable[[str], Risk] = lambda command: Risk.HIGH,
    unsigned: Risk | None = Risk.HIGH,
) -> Heard:
    """Take one user message: the turn advances, and what it says takes effect.

    `risk_of` reads the risk of a command put on the allowlist; what cannot be read counts as high.
    `unsigned` is the highest risk that an answer without a signature may allow; None if it may allow nothing.
    """
    message = _with_plan_in_view(read_message(text, policy.slash_commands, policy.phrases), session)
    h = Hearing(session, policy, message, now, assurance, unsigned)
    _doubt_slash(h)
    name_questions(h)
    _hear_limit(h)
    _advance(h)
    _tighten(h)
    if h.message.stop:
        _stop(h)
    else:
        if _may_loosen(h):
            _loosen(h, risk_of)
        _finish(h)
    answer_queries(h)
    _begin_task(h)
    _confirm_long_task(h)
    return h.result()


def revoke_for_operator(session: Session, name: str, policy: Policy, now: float) -> Heard:
    """Revoke what this name means, without a message of the user: by the operator."""
    h = Hearing(
        session, policy, read_message("", policy.slash_commands, policy.phrases), now, Assurance.ASSURED
    )
    revoke_entry(h, name)
    return h.result()


def take_back_below(session: Session, refusal: fx.Withheld, policy: Policy, now: float) -> Heard:
    """Take back what a refusal heard in a session above takes back in this one."""
    h = Hearing(
        session, policy, read_message("", policy.slash_commands, policy.phrases), now, Assurance.ASSURED
    )
    if refusal.forbids:
        take_forbidden_off(h, refusal.forbidden)
    else:
        take_last_yes_back(h)
    return h.result()


def _doubt_slash(h: Hearing) -> None:
    """A limit or question after a slash command of high risk: then the command does not count."""
    slash = h.message.slash
    if slash is None or not limits_slash(h.message.text):
        return
    entries = [h.policy.entry(name) for name in h.policy.slash_commands[slash].operations]
    if any(entry.floor is None or entry.floor >= Risk.HIGH for entry in entries):
        h.message = msgspec.structs.replace(h.message, slash=None, kind="other")
        h.announced.append(words.slash_in_doubt(slash))


def _hear_limit(h: Hearing) -> None:
    """A limit while consent is in force, with no plan to narrow and nothing to answer, is a prohibition."""
    m, plan = h.message, h.session.plan
    if m.kind not in ("other", "modify", "refusal") or m.forbids or m.chosen:
        return
    if m.outdated is not None or m.unclear:
        return
    narrows = plan is not None and plan.text.concrete and (not plan.accepted or m.kind == "modify")
    if narrows or all(spent(held, h.now) for held in h.session.all_grants):
        return
    limit = find_limit(m.text)
    if limit is None or (was_asked(h) and (limit.keeps or m.kind == "modify")):
        return
    h.message = msgspec.structs.replace(
        m, kind="refusal", refusal=True, forbids=True, forbidden=limit.excluded, change=None, imperatives=()
    )


def _with_plan_in_view(message: Message, session: Session) -> Message:
    """With a plan before the user, what narrows it is a change, however it is put: "yes, avoid b.py"."""
    plan = session.plan
    forbids = message.kind == "refusal" and message.forbids and begins_with_yes(message.text)
    if plan is None or not plan.text.concrete or not (message.kind == "other" or forbids):
        return message
    change = find_spoken_change(message.text, plan.text)
    if change is None:
        return message
    return msgspec.structs.replace(message, kind="modify", change=change, refusal=False)


def _advance(h: Hearing) -> None:
    """A new turn: last turn's message no longer allows anything, and what was idle too long ends."""
    for question in h.session.questions.values():
        if question.claim is not None:  # the conversation goes on without it
            h.add_effects(fx.QuestionWithdrawn(question.id))
    s, trusted = h.session, h.policy.settings.trust_hook_messages
    lifted = s.stopped is not None and h.assurance >= s.stopped and not h.message.stop
    h.add_effects(
        fx.SessionChanged(
            turn=s.turn + 1,
            heard_at=h.now,
            slash=None,
            slash_calls=0,
            imperatives=(),
            ceiling=Risk.HIGH if h.assurance is Assurance.ASSURED else Risk.MODERATE if trusted else Risk.LOW,
            stopped=None if lifted else s.stopped,
            pending=None,
        )
    )
    if lifted:
        h.did.append("the stop is lifted")
    turn, task, plan = h.session.turn, h.session.task, h.session.plan_under_way
    idle = h.policy.settings.task_idle_turns
    if task is not None and turn - task.active > idle:
        h.clear("task", "idle", f"No activity for more than {idle} turns, clearing consent state")
    elif plan is not None and not plan.started and turn - plan.since > PLAN_TURNS:
        h.add_effects(fx.PlanEnded("not started"))
        h.cleared.append("plan consent (not started within 3 turns)")
        h.announced.append("The plan was not started in time, clearing its consent")


def _tighten(h: Hearing) -> None:
    """Revoke, clear, correction, refusal: whatever of these is in the message takes effect."""
    m = h.message
    if m.problem is not None:
        h.announced.append(m.problem)
    hear_no(h)
    if m.forbids and not narrows_plan(h):
        _forbid(h)
    if m.revoke_all:
        h.clear("everything", "you revoked all consent", words.ALL_REVOKED)
        h.announced.append(words.allowlist_block(list_allowlist_entries(h.session, h.now)))
    revokes = m.revokes or tuple(find_dropped(h))
    for command in revokes:
        revoke_entry(h, command)
    if m.clear_allowlist:
        h.clear("allowlist", "you cleared it", "Session allowlist cleared")
    if revokes or m.clear_allowlist:
        h.announced.append(words.allowlist_block(list_allowlist_entries(h.session, h.now), with_risk=True))
    if m.clear_state:
        h.clear("all_but_allowlist", "you cleared the consent state", "Consent state cleared")
    if m.correction:
        h.clear("all_but_allowlist", "you corrected the agent", "Correction heard, clearing consent state")
    if not h.cleared and not h.announced and not m.stop and _asks_to_revoke(h):
        h.announced.append(words.NOTHING_REVOKED)


def _asks_to_revoke(h: Hearing) -> bool:
    """Whether an order to revoke was heard, but not understood: then the user is told so."""
    entries = [held.grant.value for held in h.session.all_grants if held.grant.kind == "command"]
    return h.message.slash is None and any(
        speaks_of_revoking(shown, entries) for shown in visible_readings(h.message.text[:LONGEST])
    )


def _forbid(h: Hearing) -> None:
    """A prohibition takes all consent back but the standing one, and of that what holds a forbidden word."""
    if h.message.change is not None and was_asked(h):
        h.announced.append(words.NO_LIMITS)
    off = take_forbidden_off(h, h.message.forbidden)
    h.clear("all_but_allowlist", "you forbade something", words.FORBIDDEN)
    if off:
        h.announced.append(words.allowlist_block(list_allowlist_entries(h.session, h.now), with_risk=True))


def _stop(h: Hearing) -> None:
    h.clear(
        "all_but_allowlist",
        "you said stop",
        "Stopped, clearing consent state; everything asks until you let it go on",
    )
    stopped = h.session.stopped
    h.add_effects(fx.SessionChanged(stopped=h.assurance if stopped is None else max(stopped, h.assurance)))


def _may_loosen(h: Hearing) -> bool:
    """A message that a hook only claims may not loosen; it is put to the operator instead."""
    if h.session.ceiling > Risk.LOW:
        return True
    if h.message.kind in LOOSENING:
        h.add_effects(fx.MessageClaimed(h.message.text, h.message.kind))
        h.add_effects(
            fx.SessionChanged(pending=h.before.pending)
        )  # confirmed, it answers what was asked in the turn before
        h.did.append("claimed only: the operator is asked whether you said this")
    return False


def _loosen(h: Hearing, risk_of: Callable[[str], Risk]) -> None:
    m = h.message
    if m.grants:
        _grant_standing(h, risk_of)
    if m.slash is not None:
        h.add_effects(fx.SessionChanged(slash=m.slash))
        h.did += [f"{m.slash} stands for this turn"] if h.policy.slash_commands[m.slash].operations else []
    if m.imperatives:
        h.add_effects(fx.SessionChanged(imperatives=m.imperatives))
    if m.assent is not None or (m.change is not None and not _is_forbidden(h)):
        hear_yes(h)
    hear_unclear_yes(h)


def _is_forbidden(h: Hearing) -> bool:
    """Whether the change was a prohibition that has taken all consent back: nothing is left to answer."""
    return h.message.forbids and not narrows_plan(h)


def _finish(h: Hearing) -> None:
    """The user says that the task is over, or goes on to another."""
    m = h.message
    if m.done:
        h.clear("task", "you said it is done", words.TASK_COMPLETE)
    elif m.topic is not None:
        h.clear("task", "you changed the topic", f"New topic: {visible(m.topic)}; clearing consent state")


def _grant_standing(h: Hearing, risk_of: Callable[[str], Risk]) -> None:
    for command in dict.fromkeys(h.message.grants):
        if any(held.grant.value == command for held in list_allowlist_entries(h.session, h.now)):
            continue
        risk = min(risk_of(command), h.session.ceiling)
        h.add_effects(fx.GrantAdded(allowlist_entry(h.session, command, risk, h.policy, h.now)))
    h.did.append("standing consent granted")
    h.announced.append(words.allowlist_block(list_allowlist_entries(h.session, h.now), with_risk=True))


def _begin_task(h: Hearing) -> None:
    """Without a task, a message begins one; after a stop or correction the same work goes on, unconsented."""
    if h.session.task is not None:
        return
    before = h.before.task
    same_work = before is not None and (h.message.stop or h.message.correction or h.message.forbids)
    name = before.name if before is not None and same_work else _task_name(h)
    h.add_effects(fx.SessionChanged(task=new_task(h.session, name), tasks=h.session.tasks + 1))


def _task_name(h: Hearing) -> str | None:
    m = h.message
    if m.topic is not None:
        return visible(m.topic)[:60]
    if m.kind == "other":
        return visible(" ".join(m.text.split()))[:60]
    return None


def _confirm_long_task(h: Hearing) -> None:
    task, turn = h.session.task, h.session.turn
    if task is None or task.began == turn or (turn - task.began) % CONFIRM_TASK_EVERY:
        return
    if not list_category_grants(h.session, h.now):
        return
    h.add_effects(
        fx.SessionChanged(
            task=msgspec.structs.replace(task, unconfirmed=True), pending=PendingPrompt("still", turn)
        )
    )
    h.announced.append(words.still_working(task.name))
