"""Every sentence shown to people stands here, so that they can be read, and changed, in one place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from sayso.core.durations import describe_duration
from sayso.core.grants import Grant, HeldGrant
from sayso.core.policy import Entry
from sayso.core.rulebook import RISKY

LONGEST_NAME = 200
LONGEST_WORD = 30
FOLD_AT = 2_000


def visible(text: str, fold: int | None = FOLD_AT) -> str:
    """Foreign text as data: control, invisible and direction characters spelled out, long text folded.

    With `fold` None it is shown whole, however long.
    """
    spelled = {  # once for each character: a question may hold a million of them
        ord(c): c.encode("unicode_escape", "surrogatepass").decode()
        for c in set(text[:fold])
        if not _plain(c)
    }
    shown = text[:fold].translate(spelled)
    return shown if fold is None or len(text) <= fold else f"{shown}{full_length_note(text)}"


def full_length_note(text: str) -> str:
    """What stands behind the shown part of a folded text: its true length."""
    return f" … ({len(text)} characters in all)"


def _plain(character: str) -> bool:
    if character == " ":
        return True
    return unicodedata.category(character)[0] not in "CZ" and not _SHOWS_NOTHING.fullmatch(character)


# Letters, marks and signs by category, but nothing to see: fillers, selectors, the empty Braille cell.
_SHOWS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


# --- reasons: why it was decided so ---

DENIED = "you denied exactly this call in this turn"
STOPPED = "this session is stopped; everything asks until you let it go on"
WAS_STOPPED = "this session was stopped when it asked; it may go on now"
IS_STOPPED = "its session, or one above it, is stopped"
SESSION_OVER = "its session, or one above it, has ended"
CLEARED_SINCE = "all consent was cleared since it was started"
REVOKED_SINCE = "the consent it was started with was revoked"
INNER_UNANSWERED = "what it waited for was never allowed"
SLASH = "your slash command asks for this operation"
PARANOID = "mode paranoid asks before every call"
ON_ALLOWLIST = "you gave standing consent for exactly this command"
NESTED_GRANTED = "it was granted with the outer call"
NESTED_LIGHT = "it weighs no more than the outer call that was allowed"
WORKFLOW_LIGHT = "a workflow of low weight starts unasked"
REDUCED = "a declared safe caller lowers it to low risk"
REMEMBERED = "you approved this tool and had it remembered for the session"
AUTONOMOUS = "the policy lists it as autonomous"
SAFE = "low risk runs unasked"
ORDERED = "you ordered exactly this command"
RETRY = "it is the identical call that failed before"
IN_PLAN = "the plan you accepted names it"
APPROVAL_REQUIRED = "the policy requires approval"


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
            f"an operator finds out, and says so: sayso calls resolve {call} succeeded|failed",
        )
    if state == "failed":
        return (
            f"this effect may have happened: only its agent says that {call} failed",
            "an operator finds out; if it did not happen, make the call with another effect key",
        )
    return f"this effect is under way: {call} is {state}", "wait until that call has ended"


EFFECT_TAMPERED = (
    "this effect may have happened: the record of a call that had it was tampered with",
    "sayso audit verify says what was changed",
)


def inner_denial_reason(by: str, reason: str | None) -> str:
    """A run does not go on because of what it waited for."""
    return f"what it waited for was denied by {by or 'the user'}" + (f": {reason}" if reason else "")


def ask_now_reason(reason: str) -> str:
    """A started call does not go on because the policy would ask for it now."""
    return f"it would have to be asked for now: {reason}"


def block_reason(entry: Entry) -> str:
    return f"{entry.name} is blocked by the policy" + reason_suffix(entry)


def block_unlisted_reason(name: str) -> str:
    return f"{name} is not listed, and the policy blocks what is not listed"


def guard_reason(action: str, meant: str) -> str:
    """Why an operation on the guard's own files is refused under every policy, and which file was meant."""
    what = f"{action.replace('_', ' ')} ({visible(meant, LONGEST_NAME)})"
    never = f"an agent may never do this to its own guard or instructions: {what}"
    return f"{never}; do it yourself, outside the agent"


def runs_no_command(tool: str) -> str:
    return f"the tool {visible(tool, LONGEST_NAME)} is not declared to run a command"


def declare_command(tool: str, argument: str) -> str:
    entry = f"{{tool: {visible(tool, LONGEST_NAME)}, command: args.{visible(argument, LONGEST_NAME)}}}"
    return f"leave `command` out, or declare it in the policy: {entry}"


def other_command(argument: str) -> str:
    return f"the command differs from the argument {argument}, which this tool is declared to run"


def leave_command_out(argument: str) -> str:
    return f"leave `command` out: Sayso reads it from the argument {argument}"


def channel_reason(name: str) -> str:
    return f"{name} counts only when it arrives through the trusted channel"


def approval_reason(grant: Grant) -> str:
    return f"{grant.given_by} approved exactly this call"


def grant_reason(grant: Grant) -> str:
    return f"{grant.given_by} granted {grant.value} in turn {grant.turn}"


def always_ask_reason(entry: Entry) -> str:
    return f"the policy asks every time for {entry.name}" + reason_suffix(entry)


UNKNOWN_FOLDER = "touches a path whose folder is not known"
NO_FOLDER = "a folder that is gone"


def program_moved_reason(folder: str, here: str) -> str:
    """The program that would run an approved call works elsewhere by now."""
    there = visible(folder) or NO_FOLDER
    return f"the call is for {there}, and the program is in {visible(here) or NO_FOLDER} now"


def workspace_replaced(workspace: str, leads_to: str) -> str:
    """The workspace is not the folder any more that consent was given for."""
    now = f"leads to {visible(leads_to)} now" if leads_to else "is gone"
    return f"the workspace {visible(workspace)} {now}: consent given for it does not hold"


def go_back(folder: str) -> str:
    if not folder:
        return "make the call again from where it shall run"
    return f"go back to {visible(folder)} and retry it, or make the call again here"


def high_risk_reason(entry: Entry, found: str | None = None, *, every_time: bool = True) -> str:
    """Why high risk asks. Where a policy lets it be granted for longer, it does not ask every time."""
    asks = "high risk asks every time" if every_time else "high risk needs your consent"
    return asks + (reason_suffix(entry) if found is None else f": {found}")


def reason_suffix(entry: Entry) -> str:
    return f": it {entry.reason}" if entry.reason else ""


def user_initiated_reason(clicked: str) -> str:
    return f"you started it yourself ({clicked})"


def workflow_start_reason(workflow: str) -> str:
    return f"it starts the workflow {workflow}"


def workflow_grant_reason(name: str) -> str:
    return f"the workflow {name} was allowed and declares it"


def task_grant_reason(category: str) -> str:
    return f"you consented to {category} for this task"


def fan_out_reason(other: str) -> str:
    return f"the same content already goes out by {other}"


def confidence_reason(name: str, confidence: float) -> str:
    return f"{name} at confidence {confidence:g}: proceed and notify"


def decay_reason(days: float) -> str:
    return f"the permission has decayed: no valid review within {days:g} days"


def not_listed_reason(name: str) -> str:
    return f"unlisted: {name} is not listed in your policy"


def suspension_reason(category: str) -> str:
    return f"consent for {category} is suspended since an operation failed"


def task_not_confirmed_reason(task: str) -> str:
    return f"consent is suspended until you confirm that {visible(task)} goes on"


def low_confidence_reason(confidence: float, threshold: float) -> str:
    return f"low confidence: {confidence} is below {threshold}"


def new_task_reason(category: str) -> str:
    return f"new task: no consent for {_plural(category, 'operations')} yet"


def first_in_category_reason(category: str) -> str:
    return f"first {_plural(category, 'command')} in this task"


# --- announcements: what is said while it happens ---


def announce_slash(slash: str) -> str:
    return f"Executing command: {slash}"


def announce_allowlist(command: str) -> str:
    return f"Using session allowlist: {command}"


def announce_task_consent(category: str, turn: int) -> str:
    return f"Using workflow consent for {category} (granted turn {turn})"


def announce_plan_consent(turn: int) -> str:
    return f"Using plan consent (plan of turn {turn})"


def announce_command(command: str) -> str:
    return f"Running: {command}"


def announce_retry(left: int) -> str:
    return f"Retrying the identical call (retry {4 - left} of 3)"


def announce_notice(text: str) -> str:
    return f"Notice to the operator: {text}"


def announce_block(reason: str) -> str:
    return f"Blocked: {reason}"


def block_alert(name: str) -> str:
    return f"{name} was attempted and blocked"


# --- questions ---


def format_question(
    rule: str,
    reason: str,
    categories: str,
    lines: Iterable[str],
    notes: Iterable[str],
    will: Iterable[str],
    *,
    wider: bool = False,
) -> str:
    """What is put to the user: why, what would run, what an answer covers, and the question.

    A risky one also says what it will do. `wider` says that some answer covers more than this call.
    """
    effects = "".join(f"This {_future(what)}. " for what in will) if rule == RISKY.name else ""
    said = [_heading(rule, reason, categories, wider), *lines, "", *notes, f"{effects}Proceed?"]
    return "\n".join(said)


AS_ABOVE = "as above"
NOT_SEEN = "this is high risk, and it is not certain that the whole call was shown"
EDIT_RAISES = "the edit raises the risk to high, and it is not certain that the edited call was shown"
OTHER_EDIT = "the edited call is not the one that was shown"
LOOK_AT_EDIT = "look at the edited call and its risk again, then allow it"
LEFT_OPEN = "nothing was answered: the question was left open"
TYPE_ALLOW = "to let it run, answer again and type the word `allow`; `sayso deny` refuses it"


def edit_denied(reason: str) -> str:
    return f"the policy denies the edited call: {reason}"


def edit_decided(before: str, risk: str, reason: str) -> str:
    """What the policy makes of an edited call, and whether the edit changed its risk."""
    if before == risk:
        return f"The edited call is {risk} risk: {reason}."
    return f"The edit changes the risk from {before} to {risk}: {reason}."


def replacement_note(question: str) -> str:
    return f"the call is asked again, by question {question}"


def folding_note(question: str) -> str:
    shown = f"Part of this call is folded; `sayso inbox {question}` and the page show all of it."
    return f"{shown} At high risk a yes counts there."


def wrong_digest_reason(given: str, digest: str) -> str:
    """Why an answer that names this digest is no answer to the question about that one."""
    if len(given) < len(digest):
        return f"the digest given has {len(given)} characters; all {len(digest)} digits of it are needed"
    return "the digest given differs from that of the question: the answer is about another call"


def where_digest_is(question: str) -> str:
    return f"read the question again: `sayso inbox {question}` and the page show its whole digest"


def operation_with_risk(operation: str, risk: str) -> str:
    return f"{operation} ({risk} risk)"


def how_to_see(question: str) -> str:
    return (
        f"`sayso inbox {question}` and the page show all of it; the answer has to name the digest shown there"
    )


def not_all_shown(question: str) -> str:
    return (
        "Part of this call was folded, and its risk is high, so a yes does not count here: "
        f"answer it where all of it is shown, on the page or with `sayso approve {question}`."
    )


def question_changed(question: str) -> str:
    return f"question {question} was changed by hand: it is not shown, and nobody can answer it"


def sign_elsewhere(question: str) -> str:
    return (
        "A yes to this has to be signed with a passkey, so it does not count in the conversation: "
        f"answer it on the page, or at a terminal with `sayso approve {question}`."
    )


def coverage_note(category: str | None) -> str:
    """What a yes in the conversation gives: a category for the task, or this call alone."""
    if category is None:
        return "A yes covers this call only."
    return f"A yes covers {category} in this task; 'just this once' covers this call."


def asker_line(agent: str, session: str, lasts: float, digest: str) -> str:
    who = f"Asked by {visible(agent)} in session {visible(session)}"
    return f"{who}; open for {describe_duration(lasts)}; digest {digest[:12]}."


def agent_left(operation: str, lasts: float) -> str:
    """Told on the surfaces once the caller has stopped waiting for an answer."""
    return (
        f"The agent is no longer waiting for {visible(operation)}. "
        f"A yes within {describe_duration(lasts)} lets it try again."
    )


def no_answer_reason(call: str, operation: str | None = None, risk: str | None = None) -> str:
    """Nobody answered while the caller waited: what to do, in one sentence."""
    what = "it" if operation is None else f"{visible(operation)} ({risk} risk)"
    return f"nobody has answered yet whether {what} may run: call retry with {call} to go on with it"


def flood_reason(too_many_open: bool, open_questions: int, an_hour: int) -> str:
    """This session asked too much, so its call is refused without asking."""
    limits = f"open_questions: {open_questions}, questions_per_hour: {an_hour}"
    if too_many_open:
        hit = f"{_count_questions(open_questions)} of this session are still open, and no more may be"
        do = "wait until some are answered, then make the call again"
    else:
        hit = f"this session has asked {_count_questions(an_hour)} within an hour, and no more may be asked"
        do = "wait, then make the call again"
    return f"refused as flooding: {hit} ({limits} in the policy's settings); {do}"


def flood_notice(agent: str, session: str, reason: str) -> str:
    """What the operator is told of it, once an hour."""
    return f"{visible(agent)} asks too much in session {visible(session)}: {reason}"


def _count_questions(questions: int) -> str:
    return "1 question" if questions == 1 else f"{questions} questions"


def later_question_line(operation: str) -> str:
    return f"- {visible(operation)} will be asked with its arguments"


def current_state_line(text: str, fold: int | None = FOLD_AT) -> str:
    return f"as things stand now: {visible(text, fold)}"


def _heading(rule: str, reason: str, categories: str, wider: bool) -> str:
    if rule == RISKY.name:
        return "Risky operation, need consent:" if wider else "Risky operation (requires consent every time):"
    if reason == first_in_category_reason(categories):
        return f"First {_plural(categories, 'command')} in workflow, need consent:"
    if reason == new_task_reason(categories):
        return f"New workflow, need consent for {_plural(categories, 'operations')}:"
    return heading(reason)


def heading(reason: str) -> str:
    """How a question begins: with why it is asked."""
    return f"{reason[0].upper()}{reason[1:]}; need consent:"


def _future(what: str) -> str:
    """'overwrites remote history' becomes 'will overwrite remote history'."""
    verb, _, rest = what.partition(" ")
    if verb.endswith("ies"):
        verb = f"{verb[:-3]}y"
    elif verb.endswith(("shes", "ches", "sses", "xes")):
        verb = verb[:-2]
    elif verb.endswith("s"):
        verb = verb[:-1]
    else:
        return what
    return f"will {verb} {rest}".rstrip()


def _plural(category: str, noun: str) -> str:
    """'file edits' stands alone, 'git' wants a noun."""
    return category if category.endswith("s") else f"{category} {noun}"


OFFERS = {
    "once": "allow once: this call, now",
    "deny": "deny: this call does not run",
}


def offer_text(answer: str, category: str, pinned: str) -> str:
    """What an answer would allow."""
    wider = {
        "task": f"for this task: {category}",
        "temporary": f"for 15 minutes: {pinned}",
        "always": f"always (this session, at most 24 h): {pinned}",
        "remember": "allow and remember this tool for the session",
    }
    return OFFERS.get(answer) or wider[answer]


# --- conversation ---

PLAN = "Plan"
PLAN_COVERS = "A yes covers"
PLAN_COVERS_NOTHING = "nothing: each call is asked for"
PLAN_ASKS = "Asked each time"
PLAN_BLOCKED = "Blocked, never runs"
PLAN_ADJUSTED = "Your changes, which only take away"
CONFIRM_SHOWN = "Proceed with this?"
CONFIRM_PLAN = "Just to confirm, you want me to proceed with the plan?"
CONFIRM_ADJUSTED = "Proceed with this adjusted version?"
PROCEED_WITH_WHAT = "Proceed with what?"
TASK_COMPLETE = "Workflow complete, clearing consent state"
TO_REVOKE = 'To revoke: "Revoke consent for: <command>" or "Revoke all consent"'


NOTHING_REVOKED = f"Nothing was revoked. {TO_REVOKE}"


def no_command(entry: str) -> str:
    return (
        f'"{visible(entry)}" is not a command, and a limit cannot be kept (write nothing but exact commands,'
        " in backticks where they hold such words; for a single time, answer"
        ' "just this once" when it is asked)'
    )


def still_working(task: str) -> str:
    return f"Still working on {task}, consent still valid?"


def plan_accepted(turn: int, covered: Iterable[str], asked: Iterable[str], targets: Iterable[str]) -> str:
    what = ", ".join(covered) or "nothing: it names no operation that a plan can cover"
    where = ", ".join(map(visible, targets))
    later = ", ".join(asked)
    said = f"Plan of turn {turn} accepted: {what}{f' on {where}' if where else ''}"
    return f"{said}; asked when reached: {later}" if later else said


def plan_operation_line(operation: str, targets: Iterable[str] | None) -> str:
    """An operation that a plan covers, with its targets."""
    where = ", ".join(map(visible, targets or ()))
    return f"{visible(operation)} on {where}" if where else visible(operation)


PLAN_LEFT = "This call is not in the plan: the plan's consent ends"


def after_failure(categories: str, retry: bool) -> str:
    but = " but for the identical retry" if retry else ""
    return f"The operation failed: consent for {categories} is suspended{but}"


def announce_clearing(why: str) -> str:
    return f"Consent state cleared: {why}"


REACHES = {
    "task": "task and plan consent, unused approvals",
    "all_but_allowlist": "everything but the allowlist",
    "allowlist": "the allowlist",
    "everything": "everything",
}


def clear_reach_text(reach: str, why: str) -> str:
    return f"{REACHES[reach]} ({why})"


ENDED_WITH = {"STOPPED": "the session was stopped", "SESSION_ENDED": "the session ended"}
"""Why consent ended, by the audit event that ended it."""


TIGHTENED = "the policy is stricter now than when this was asked"


def in_session_above(why: str) -> str:
    """Why consent was cleared in a session, if that was done in the one that started it."""
    return f"in the session that started this one: {why}"


def consent_name(grant: Grant) -> str:
    """A grant in few words, for lists of what was cleared."""
    if grant.group is not None:
        return "plan consent"
    names = {
        "call": f"approval of {', '.join(grant.pins.operations or ())}",
        "command": f"standing consent for {visible(grant.value)}",
        "operation": f"grant for {grant.value}",
        "tool": f"remembered approval of {visible(grant.value)}",
        "workflow": f"workflow {visible(grant.value)}",
        "run": f"workflow run {visible(grant.value)}",
        "retry": f"retry of failed {', '.join(grant.pins.operations or ())}",
    }
    return names.get(grant.kind) or f"{grant.value} (granted turn {grant.turn})"


def open_question_name(operation: str) -> str:
    return f"open question about {operation}"


def confirm_question(lines: Iterable[str]) -> str:
    return "\n".join(["Just to confirm, you want me to proceed with this?", *lines])


def which_one(lines: Iterable[str]) -> str:
    return "\n".join(["Several questions are open. Which one do you mean?", *lines])


def no_longer_open(lines: list[str]) -> str:
    said = "Nothing was answered: what you were asked is no longer open."
    return "\n".join([f"{said} Which of these do you mean?", *lines]) if lines else said


def question_first(lines: Iterable[str]) -> str:
    said = (
        "Nothing was answered: you spoke of the plan, and another question is open. Do you mean yes to this?"
    )
    return "\n".join([said, *lines])


def slash_in_doubt(slash: str) -> str:
    return (
        f"{slash} does not count: what follows it may limit it or ask about it, and it stands for high risk."
        f" Say {slash} alone, or put its text in quotes."
    )


NO_LIMITS = (
    "Nothing was answered: a yes with a limit or a change cannot be kept here."
    ' Say "yes", "just this once" or "no", or tell the agent what to do instead.'
)
ALL_REVOKED = "All consent revoked"
FORBIDDEN = "Prohibition heard, clearing consent state"
SAVE_ALLOWLIST = "Save session allowlist for next context?"
LOAD_ALLOWLIST = "Load it into this session?"


def call_under_way_name(tool: str | None) -> str:
    """A call that was started and has not ended, for lists of what was cleared."""
    return f"{visible(tool)}, which was under way" if tool is not None else "a call that was under way"


def does_not_go_on(tool: str | None, *, waits: bool) -> str:
    """A call whose consent was taken back after it had been started."""
    name = visible(tool) if tool is not None else "A call that cannot be read"
    if waits:
        return f"{name} was waiting for an answer: it does not go on."
    return f"{name} is running, and what it has done stays done: it passes no further gate."


def tampering_reported(reports: int, last: str | None, *, whole: bool) -> str:
    """What a trail says of rows that were changed by hand, for whoever verifies it."""
    many = "1 report" if reports == 1 else f"{reports:,} reports"
    when = "" if last is None else f"; the last is of {last}"
    trail = "The trail itself is whole, but it" if whole else "The trail"
    return f"{trail} holds {many} of tampering with the store (TAMPERED){when}."


def nothing_to_revoke(name: str) -> str:
    return f'Nothing was revoked for "{visible(name)}": there is no consent for it.'


def revokes_nothing(name: str) -> str:
    return f"no standing consent for {visible(name)}"


FREE_RETRY = "the free retry of a failed call"


def describe_taken_back(consents: Iterable[str]) -> str:
    """What a no took back, with nothing else for it to answer."""
    return "\n".join(["You said no. Taken back:", *(f"- {consent}" for consent in consents)])


def in_child_session(consent: str, session: str) -> str:
    """What ended in a session that this one started."""
    return f"{consent} (in session {session})"


def confirms_task(task: str) -> str:
    return f"A yes also confirms that you are still working on {visible(task)}."


def allowlist_block(entries: Iterable[HeldGrant], with_risk: bool = False) -> str:
    lines = [_allowlist_line(held, with_risk) for held in entries] or ["(empty)"]
    return "\n".join(["Session Allowlist:", *lines])


def _allowlist_line(held: HeldGrant, with_risk: bool) -> str:
    risk = f"{held.grant.risk.word}, " if with_risk else ""
    return f"- {held.grant.value} ({risk}used {held.used} {'time' if held.used == 1 else 'times'})"


def task_block(name: str, consents: Iterable[Grant], risky: Iterable[Grant]) -> str:
    """The second half of "What have I consented to?"."""
    listed, dangerous = _with_turns(consents), _with_turns(risky)
    return "\n".join(
        [
            f'Current Workflow: "{name}"',
            f"- Consented operations: {listed}" if listed else "- No operations consented",
            f"- Risky operations consented: {dangerous}" if dangerous else "- No risky operations consented",
        ]
    )


def other_block(grants: Iterable[Grant]) -> str:
    """What else is allowed: the plan's operations with their targets, approvals, remembered answers."""
    lines = (f"- {_other_line(grant)} (granted turn {grant.turn})" for grant in grants)
    return "\n".join(["Also consented:", *dict.fromkeys(lines)])


def _other_line(grant: Grant) -> str:
    return (
        f"plan: {plan_operation_line(grant.value, grant.pins.targets)}"
        if grant.group is not None
        else consent_name(grant)
    )


def _with_turns(grants: Iterable[Grant]) -> str:
    """Each once, with the turn it was last granted in."""
    return ", ".join(
        f"{name} (granted turn {turn})" for name, turn in {g.value: g.turn for g in grants}.items()
    )


ONLY_CLAIMED = "only the agent's host says that you wrote this, and it would loosen what is allowed"
NOT_YOURS = "it changes nothing"


def counts_as_yours(does: Sequence[str], calls: Iterable[str]) -> str:
    """What a yes to a claimed message does, and the calls it lets run, line by line."""
    said = ": ".join(["it counts as written by you", *(["; ".join(does)] if does else [])])
    return "\n".join([said, *calls])


def did_you_say(agent: str, text: str) -> str:
    return f"{visible(agent)} says that you wrote this. Did you?\n{visible(text)}"


# --- lines of lists ---


def bundle_title(label: str, operations: int) -> str:
    """A bundle in a line."""
    return f"bundle {visible(label.removeprefix('bundle:'))} ({operations} operations)"


def title_misses(argument: str) -> str:
    """Behind the usual line of a call, where the policy's title for its tool could not be filled."""
    return f" (without {visible(argument, LONGEST_WORD)} for its title)"


STANDS = {
    "pending": "waits for an answer",
    "allowed": "allowed, has not started",
    "ran_out": "allowed, but not started in time",
    "taken_back": "allowed, then taken back before it started",
    "used_elsewhere": "the same call, made again, ran on its approval",
    "denied": "denied",
    "expired": "nobody answered in time",
    "cancelled": "taken back",
    "running": "is running",
    "waiting": "waits inside",
    "succeeded": "ended well",
    "failed": "failed",
    "ambiguous": "nobody knows how it ended",
}
"""Where a call stands, in words."""
_ANSWERED = {
    "once": "allowed once",
    "task": "allowed for this task",
    "temporary": "allowed for 15 minutes",
    "always": "allowed for this session",
    "remember": "allowed and remembered",
    "edit": "edited and allowed",
    "deny": "denied",
}
_STEPS = {
    "expired": "nobody answered in time",
    "cancelled": "taken back",
    "ran_out": "the approval ran out",
    "taken_back": "the approval was taken back",
}


def elsewhere_notice(answer: str, by: str, reason: str | None) -> str:
    """What a surface says when it takes a question down that was answered on another."""
    said = _ANSWERED.get(answer, f"answered {visible(answer)}")
    who = f" by {visible(by)}" if by else ""
    return f"Answered elsewhere: {said}{who}" + (f": {visible(reason)}" if reason else ".")


def describe_question_taken_back(by: str | None, reason: str | None) -> str:
    """What a surface says when it takes a question down that nobody can answer any more."""
    who = f" by {visible(by)}" if by else ""
    return f"Taken back{who}" + (f": {visible(reason)}" if reason else ".")


def story_step(what: str, answer: str | None, state: str | None, by: str | None, reason: str | None) -> str:
    """One step in the story of a call."""
    said = _STEPS.get(what, what)
    if what in ("answered", "edited"):
        said = _ANSWERED.get(answer or "", f"answered {visible(answer or '')}")
    elif what == "ended":
        said = STANDS.get(state or "", "ended")
    who = f" by {visible(by)}" if by else ""
    return f"{said}{who}" + (f": {visible(reason)}" if reason else "")


# --- what a program passes and gets back ---

RESULT_TOO_LARGE = "its JSON form is larger than 64 KiB"
RESULT_DROPPED = "results are kept for 24 hours"


def no_json_form(kind: str) -> str:
    return f"a value of type {visible(kind, LONGEST_NAME)} has no JSON form"


def not_exactly_in_json(kind: str) -> str:
    why = "NaN, an endless number, or two keys that JSON spells alike"
    return f"JSON cannot hold this {visible(kind, LONGEST_NAME)} exactly ({why})"


def model_failed(kind: str, error: str) -> str:
    return f"{no_json_form(kind)}: its model_dump raised {visible(error, LONGEST_NAME)}"


def not_the_same_again(kind: str) -> str:
    return f"a {visible(kind, LONGEST_NAME)} would not come back as the same value"


def none_of(kind: str, names: str) -> str:
    return f"a {visible(kind, LONGEST_NAME)} is none of {visible(names, LONGEST_NAME)}"


WAITS_FOR_ITSELF = "this run waits for itself: it was started again inside itself, with the same key"


def still_running(call: str) -> str:
    """Somebody else runs this call, and the time to wait for its end is over."""
    return f"it is still running, started by another caller: call retry with {call} to get its result"


def not_kept(why: str | None) -> str:
    """The result of a call that ran, where what it returned is not there to be told."""
    return f"it ran, but what it returned was not kept: {why or RESULT_DROPPED}"


def not_passed_on(why: str) -> str:
    return f"it ran, but what it returned cannot be passed on: {why}"


NAME_ITS_SESSION = "or it is of a session of somebody else: then name that session (session=…)"

WITHDRAWN = (
    "the question was withdrawn, because its session ended or was cleared: make the call again "
    "(a session opened with session(key=…) outlives the program)"
)
