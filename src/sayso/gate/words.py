"""The gate's sentences about calls: why one does not go on, its state, and its question.

And of tampering: rows, values and files that somebody changed, restored or deleted past the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sayso.core.durations import describe_left
from sayso.core.text.counts import count_of
from sayso.core.words import visible

LONGEST_ARGUMENT = 40
MOST_ARGUMENTS = 8
"""How many arguments are named, and how much of a name is shown."""

APPROVALS_MOVED = "Somebody approved, or the approvals changed: see the newer message."
APPROVALS_MOVED_HERE = "Somebody approved, or the approvals changed. As it is now:"
IS_STOPPED = "its session, or one above it, is stopped"
SESSION_OVER = "its session, or one above it, has ended"
CLEARED_SINCE = "all consent was cleared since it was started"
REVOKED_SINCE = "the consent it was started with was revoked"
INNER_UNANSWERED = "what it waited for was never allowed"
INNER_TAKEN_BACK = "the yes it waited for was taken back or used, or the policy is stricter now"


def effect_taken(call: str, state: str, ended: str) -> tuple[str, str]:
    """Why a call is refused whose effect this other call took; and what to do."""
    if state == "succeeded":
        return (
            f"this effect has happened already: {call} succeeded at {ended}",
            "use what it did; another effect needs another effect key",
        )
    if state == "ambiguous":
        return (
            f"nobody knows whether this effect has happened: {call} is ambiguous",
            f"check what happened, then record it: sayso calls resolve {call} succeeded|failed",
        )
    if state == "failed":
        return (
            f"this effect may have happened: only its agent says that {call} failed",
            "check what happened; if it did not happen, make the call with another effect key",
        )
    return f"this effect is under way: {call} is {state}", "wait until that call has ended"


EFFECT_TAMPERED = (
    "this effect may have happened: the record of a call that had it was tampered with",
    "sayso audit verify shows what was changed",
)


LOOK_AT_AUDIT = "look at the audit"


def changed_outside(what: str) -> str:
    return f"{what} was changed outside Sayso"


WRONG_SUMMARY = "what was added up from the trail was changed outside Sayso"


VERIFY_ROWS = "Verifying calls, grants and sessions"
VERIFY_SUMMARIES = "Verifying the figures"
VERIFY_TRAIL = "Verifying the trail"


def wrong_summaries(stream: str | None) -> str:
    """The finding for figures that are not what the rows say; the stream, None for the questions."""
    of = "the questions" if stream is None else f"stream {stream}"
    return f"what was added up from {of} was changed outside Sayso; `sayso audit recount` adds it up again"


def changed_or_restored(what: str) -> str:
    return f"{what} was changed outside Sayso, or an older copy was restored"


def changed_or_void(what: str) -> str:
    return f"{what} was changed outside Sayso, or belongs to an earlier epoch"


def changed_or_deleted(what: str) -> str:
    return f"{what} was changed or deleted outside Sayso"


def restored_outside(what: str) -> str:
    return f"an older copy of {what} was restored"


def deleted_outside(what: str) -> str:
    return f"{what} was deleted outside Sayso"


def reopened_outside(question: str) -> str:
    return f"question {question} was closed, then reopened outside Sayso"


def changed_or_reopened(question: str) -> str:
    return f"question {question} was changed or reopened outside Sayso"


def rows_deleted(rows: int, kind: str) -> str:
    """The mark knows more rows of this kind than there are."""
    if rows == 1:
        return f"1 {kind} row that the mark knows was deleted outside Sayso"
    return f"{rows} {kind} rows that the mark knows were deleted outside Sayso"


def epoch_set(epoch: int) -> str:
    return f"the epoch of the store was set to {epoch} outside Sayso"


EPOCH_OVER = "this store has begun a new epoch, and what this program goes by is void"
START_AGAIN = "start the program again; the entry EPOCH of the audit says why"
SESSION_VOID = "this session ended when the store began a new epoch"
EPOCH_SET_BACK = "the epoch of the store was set back outside Sayso"
LOST_MARK = "the store was moved outside Sayso, or its mark was deleted"
TREE_END_RESTORED = "an older end of the audit tree was restored, and checkpoints may be missing"
SEAL_REMOVED = "this store was moved, or is being moved, and its seal was removed outside Sayso"
HIDDEN_WHILE_STOPPING = "rows of open sessions were changed or deleted outside Sayso while all were stopped"
EFFECT_ROW_CHANGED = (
    "a call with an effect key was changed or deleted outside Sayso, or an older copy was restored"
)
NO_MARK_OF_SOURCE = "there is no mark of the source beside the key, so it may be an older copy"
PASSKEYS_CHANGED = "the passkeys were changed outside Sayso, or an older copy was restored"
GRANT_ROWS_CHANGED = (
    "the rows of this grant were changed outside Sayso, so it grants nothing and cannot be revoked"
)


def doubtful_sessions(sessions: str) -> str:
    """Only some of what should be revoked could be."""
    return f"everything that could be trusted was revoked; rows were changed outside Sayso in {sessions}"


def inner_denial_reason(by: str, reason: str | None) -> str:
    """A run does not go on because of what it waited for."""
    return f"what it waited for was denied by {by or 'the user'}" + (f": {reason}" if reason else "")


def inner_refusal_reason(reason: str) -> str:
    """A run does not go on because what it waited for is denied now, whatever was answered."""
    return f"what it waited for is denied now: {reason}"


def ask_now_reason(reason: str) -> str:
    """A started call does not go on because the policy would ask for it now."""
    return f"it would have to be asked for now: {reason}"


def replacement_note(question: str) -> str:
    return f"the call is asked again, by question {question}"


def flood_reason(too_many_open: bool, open_questions: int, an_hour: int) -> str:
    """This session asked too much, so its call is refused without asking."""
    limits = f"open_questions: {open_questions}, questions_per_hour: {an_hour}"
    if too_many_open:
        hit = f"{count_of(open_questions, 'question')} of this session are still open, and no more may be"
        do = "wait until some are answered, then make the call again"
    else:
        hit = (
            f"this session has asked {count_of(an_hour, 'question')} within an hour, and no more may be asked"
        )
        do = "wait, then make the call again"
    return f"refused as flooding: {hit} ({limits} in the policy's settings); {do}"


def flood_notice(agent: str, session: str, reason: str) -> str:
    """Return what the operator is told of it, once an hour."""
    return f"{visible(agent)} asks too much in session {visible(session)}: {reason}"


SESSION_STOPPED = "the session was stopped"
SESSION_ENDED = "the session ended"
"""Why consent ended, by the audit event that ended it."""
TIGHTENED = "the policy is stricter now than when this was asked"
APPROVER_GONE = "somebody who approved it no longer counts"


def in_session_above(why: str) -> str:
    """Why consent was cleared in a session, if that was done in the one that started it."""
    return f"in the session that started this one: {why}"


def tampering_reported(reports: int, last: str | None, *, whole: bool) -> str:
    """Return what a trail says of rows that were changed outside Sayso, for whoever verifies it."""

    when = "" if last is None else f"; the last is of {last}"
    trail = "The trail itself is whole, but it" if whole else "The trail"
    return f"{trail} holds {count_of(reports, 'report')} of tampering with the store (TAMPERED){when}."


def in_child_session(consent: str, session: str) -> str:
    """Return what ended in a session that this one started."""
    return f"{consent} (in session {session})"


SINCE = {
    "pending": "waits for an answer",
    "allowed": "has not started",
    "ran_out": "was not started in time",
    "taken_back": "was taken back before it started",
    "used_elsewhere": "the same call, made again, ran on its approval",
    "running": "started, no end reported yet",
    "waiting": "waits inside",
    "succeeded": "ended well",
    "failed": "failed",
    "ambiguous": "nobody knows how it ended",
}
"""How far a call came, beside the decision or the answer. tools/page/words.py writes these for the page."""
STANDS = SINCE | {
    "allowed": "allowed, has not started",
    "ran_out": "allowed, but not started in time",
    "taken_back": "allowed, then taken back before it started",
    "denied": "denied",
    "expired": "nobody answered in time",
    "cancelled": "taken back",
}
"""Where a call stands, where nothing else is said of it."""
ANSWERED = {
    "once": "allowed once",
    "task": "allowed for this task",
    "temporary": "allowed for 15 minutes",
    "always": "allowed for this session",
    "remember": "allowed and remembered",
    "edit": "edited and allowed",
    "deny": "denied",
}
STEPS = {
    "expired": STANDS["expired"],
    "cancelled": STANDS["cancelled"],
    "ran_out": "the approval ran out",
    "taken_back": "the approval was taken back",
    "repeated": "tried again",
}
"""Steps in the story of a call; a step that is not listed is its own word."""


def elsewhere_notice(answer: str, by: str, reason: str | None) -> str:
    """Return what a surface says when it takes a question down that was answered on another."""
    return f"Answered elsewhere: {answered_notice(answer, by, reason)}"


def answered_notice(answer: str, by: str, reason: str | None) -> str:
    """Return who answered what, as the surface says it that was answered on."""
    said = ANSWERED.get(answer, f"answered {visible(answer)}")
    who = f" by {visible(by)}" if by else ""
    return f"{said}{who}" + (f": {visible(reason)}" if reason else ".")


def describe_question_taken_back(by: str | None, reason: str | None) -> str:
    """Return what a surface says when it takes a question down that nobody can answer any more."""
    who = f" by {visible(by)}" if by else ""
    return f"Taken back{who}" + (f": {visible(reason)}" if reason else ".")


def story_step(what: str, answer: str | None, state: str | None, by: str | None, reason: str | None) -> str:
    """One step in the story of a call."""
    said = STEPS.get(what, what)
    if what in ("answered", "edited"):
        said = ANSWERED.get(answer or "", f"answered {visible(answer or '')}")
    elif what == "ended":
        said = STANDS.get(state or "", "ended")
    who = f" by {visible(by)}" if by else ""
    return f"{said}{who}" + (f": {visible(reason)}" if reason else "")


def other_arguments(unknown: Collection[str], missing: Collection[str]) -> str:
    """Why an edit is refused that adds arguments to a call, or leaves some of its own out."""
    added = f"the call has no argument {argument_names(unknown)}" if unknown else ""
    left_out = f"the call needs {argument_names(missing)}" if missing else ""
    return "; ".join(filter(None, (added, left_out)))


def argument_names(names: Collection[str]) -> str:
    """Names that anybody may have written, in order and in quotes; of many, or of a long one, not all."""
    told = [f"'{visible(name, LONGEST_ARGUMENT)}'" for name in sorted(names)[:MOST_ARGUMENTS]]
    more = len(names) - len(told)
    return ", ".join(told) + (f" and {more:,} more" if more else "")


CLAIM_ASKED = "Sayso asks you on its own page whether you meant this as consent."


def pending_for_hook(call: str) -> str:
    """What a coding agent is told when nobody has answered in time."""
    return (
        f"Pending approval ({call}): a person was asked and has not answered yet. Nothing has run. "
        "Make exactly the same call again to wait on, or once it is approved; do not work around it."
    )


def over_for_hook(state: str) -> str:
    return f"Not approved: the question is {state}. Nothing has run."


def edited_for_hook(tool: str, arguments: str) -> str:
    return f"A person allowed this only as changed: make the call {visible(tool)} with {visible(arguments)}"


NOT_THE_DOCTORS = "A session of sayso doctor is for the call that must be blocked, and for no other"


DOCTOR = "sayso doctor"
SURFACE_TEST, SURFACE_TEST_OPERATION = "sayso surfaces test", "sayso.test_surface"
"""Who asks the question with which a surface is tried, and about what."""


def doctor_name(agent: str) -> str:
    """Name the caller of the canary, with the agent whose hook it goes through."""
    return f"{DOCTOR} ({agent})"


def is_own_name(agent: str) -> bool:
    """Return whether it is Sayso itself that asks under this name, to try something."""
    return agent == SURFACE_TEST or agent.startswith(f"{DOCTOR} (")


# --- the policy file under a running gate ---

POLICY_OPENED = "a gate was opened under it"
POLICY_TIGHTENED = "the policy file was tightened"
POLICY_JOINED = "the policy file changed: the stricter of the two applies until you apply it"
POLICY_RESTORED = "what was in force before is in force again"
POLICY_APPLIED = "the operator applied the policy file"
POLICY_WAITS = "the policy file waits: `sayso policy apply` shows what it loosens, and puts it in force"
POLICY_HELD = (
    "a gate was opened under a policy other than the one in force: there the stricter of the two applies"
)
PROJECT_FILE = "this project's own .sayso.yaml is stricter here than your policy"
POLICY_LOST = (
    "what says which policy is in force was restored from a backup, so everything is asked, or it was"
    " tampered with, so everything is denied; `sayso policy apply` puts the file in force"
)
NOT_THE_PINNED_POLICY = (
    "the policy file is locked and is not the one that was locked: the locked policy stays in force, and"
    " self_modification is denied; restore the file, or run `sayso policy unlock`"
)


def policy_file_refused(problem: str) -> str:
    return f"the policy file was refused, and the policy in force stays: {problem}"


def decay_notice(domain: str, seconds: float) -> str:
    """Say that a domain decays soon, and what to do."""
    left = describe_left(seconds)
    return f"{domain} decays in {left}: what it may do unasked asks from then on (sayso policy review)"


def with_project(reason: str) -> str:
    """Return the reason for a decision that the project's own file made stricter."""
    return f"{reason} ({PROJECT_FILE})"


def project_file_counts(file: str) -> str:
    return f"{file} is merged over your policy here: the stricter of the two counts"


def project_file_refused(file: str, problem: str) -> str:
    return f"{file} is refused, so every call in that workspace asks: {visible(problem)}"


def join_names(names: Iterable[str]) -> str:
    """Return names in one phrase: ana, bo and cy."""
    every = list(dict.fromkeys(names))
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def glass_notice(person: str, question: str, operations: Iterable[str], reason: str) -> str:
    return (
        f"{person} broke the glass: {question} ({', '.join(operations)}) was allowed alone. Reason: {reason}"
    )


def approval_kept(missing: str) -> str:
    return f"Your approval counts, and others are needed: {missing}."
