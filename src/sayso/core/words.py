"""Sentences about decisions and questions. The conversation and the gate have words of their own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sayso.core.durations import describe_duration, describe_left
from sayso.core.grants import Grant
from sayso.core.model import Request, Risk
from sayso.core.policy import Entry
from sayso.core.rulebook import RISKY
from sayso.core.team import ApprovalRule
from sayso.core.text import foreign
from sayso.core.text.sentences import add_subject, tell_ahead

LONGEST_NAME = 200
LONGEST_WORD = 30
FOLD_AT = foreign.FOLD_AT
visible, full_length_note = foreign.visible, foreign.full_length_note
"""Sentences that quote others are made with these."""


# --- reasons: why it was decided so ---

DENIED = "you denied exactly this call in this turn"
STOPPED = "this session is stopped; everything asks until you let it go on"
WAS_STOPPED = "this session was stopped when it asked; it may go on now"
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


def block_reason(entry: Entry) -> str:
    return f"{entry.name} is blocked by the policy" + reason_suffix(entry)


def block_unlisted_reason(name: str) -> str:
    return f"{name} is not listed, and the policy blocks what is not listed"


def guard_reason(action: str, meant: str) -> str:
    """Why an operation on the guard's own files is refused under every policy, and which file was meant."""
    what = f"{action.replace('_', ' ')} ({_end_of_path(meant)})"
    never = f"an agent may never do this to its own guard or instructions: {what}"
    return f"{never}; do it yourself, outside the agent"


def _end_of_path(path: str) -> str:
    """A path; of a long one the end, which names the file."""
    if len(path) <= LONGEST_NAME:
        return visible(path, LONGEST_NAME)
    return f"…{visible(path[-LONGEST_NAME:], None)} ({len(path)} characters in all)"


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


def always_ask_reason(entry: Entry, risk: Risk = Risk.HIGH) -> str:
    rules = [rule for rule in entry.approvals if risk >= rule.risk]
    if rules:
        asked = " and ".join(dict.fromkeys(map(approval_rule_phrase, rules)))
        return f"the policy requires {asked} for {entry.name}" + reason_suffix(entry)
    return f"the policy asks every time for {entry.name}" + reason_suffix(entry)


APPROVE_ONCE = "people named in the policy allow it once, on the page, at a terminal or on their surface"


def approvals_needed(question: str) -> str:
    """Return why an answer that allows does not count."""
    return f"{question} needs the approvals that the policy names, each for this call alone"


APPROVALS_TAMPERED = "its approvals were tampered with: deny it, and let the agent ask again"
OTHER_POLICY_APPROVES = "another policy is in force here, and its team has to approve this"
NAME_POLICY_IN_FORCE = "name the policy in force with --policy or --preset"
DECLARE_PEOPLE = "the policy's `people` say who is who; answer where you are known"
GLASS_NEEDS_REASON = "breaking the glass needs a reason of at least ten characters"
MOST_NAMES = 5


def unknown_approver(identity: str | None) -> str:
    said = "nobody who is known" if identity is None else foreign.visible(identity)
    return f"this needs approvals of people whom the policy names, and it names nobody for {said}"


def not_approver(person: str) -> str:
    return f"{person} is not among those who have to approve this"


COUNTED_ALREADY = "this answer was counted already; answer once more if you still approve it"


def already_approved(person: str) -> str:
    return f"{person} has approved this; it waits for others"


def seat_taken(person: str) -> str:
    return f"{person} could only stand in for somebody who has approved, or who already has a stand-in"


def requester_may_not_approve(person: str) -> str:
    return f"{person} asked for this, or somebody asked in their name: others have to approve it"


def may_not_break_glass(person: str) -> str:
    return f"the policy does not let {person} break the glass here"


def missing_approvals(there: int, rule: ApprovalRule, waits_for: list[str]) -> str:
    """Return how far one rule is: 1 of 2, waits for finance: ana or bo."""
    names = waits_for[:MOST_NAMES]
    more = [f"{len(waits_for) - len(names)} more"] if len(waits_for) > len(names) else []
    who = " or ".join(filter(None, (", ".join((*names, *more)[:-1]), *(*names, *more)[-1:])))
    who = who or "nobody is left who may approve"
    return f"{there} of {rule.needed}, waits for {' or '.join(rule.approvers)}: {who}"


def approvals_line(approved: Iterable[str], missing: str) -> str:
    """Return how far a question's approvals are, and who gave those that are there."""
    names = ", ".join(approved)
    return f"{missing} (approved: {names})" if names else missing


def own_approvals_line(line: str, why_not: str) -> str:
    """The same for one person, with why an allow of theirs would not count."""
    return f"{line}. An allow from you does not count: {why_not}" if why_not else line


def surface_approvals_line(line: str, people: Iterable[str]) -> str:
    """The same for a surface: whose allow counts there."""
    names = ", ".join(people)
    who = f"Here an allow counts from {names}" if names else "Nobody who answers here can approve it"
    return f"{line}. {who}"


def approval_rule_phrase(rule: ApprovalRule) -> str:
    """Return what a rule of the team asks for: 2 approvals from finance."""
    number = "1 approval" if rule.needed == 1 else f"{rule.needed} approvals"
    return f"{number} from {' or '.join(rule.approvers)}"


def flags_found(operation: str) -> str:
    """Why a call that is declared as one git operation is read as a riskier one."""
    return f"may do more than {operation}, as which it is declared: an argument or option can change it"


UNKNOWN_FOLDER = "touches a path whose folder is not known"
NO_FOLDER = "a folder that is gone"


def program_moved_reason(folder: str, here: str) -> str:
    """The program that would run an approved call works elsewhere by now."""
    there = visible(folder) or NO_FOLDER
    return f"the call is for {there}, and the program is in {visible(here) or NO_FOLDER} now"


def workspace_replaced(workspace: str, leads_to: str) -> str:
    """The workspace is not the folder any more that consent was given for."""
    now = f"leads to {visible(leads_to)} now" if leads_to else "is gone"
    return f"the workspace {visible(workspace)} {now}: consent given for it does not apply"


def go_back(folder: str) -> str:
    if not folder:
        return "make the call again from the folder it should run in"
    return f"go back to {visible(folder)} and retry it, or make the call again here"


def high_risk_reason(entry: Entry, found: str | None = None, *, every_time: bool = True) -> str:
    """Why high risk asks. Where a policy lets it be granted for longer, it does not ask every time."""
    asks = "high risk asks every time" if every_time else "high risk needs your consent"
    return asks + (reason_suffix(entry) if found is None else f": {add_subject(found)}")


def reason_suffix(entry: Entry) -> str:
    return _spell_suffix(entry.reason) if entry.reason else ""


@lru_cache(maxsize=1_024)
def _spell_suffix(reason: str) -> str:
    """The same for the reason in a policy: there are few, and each is spelled for many calls."""
    return f": {add_subject(reason)}"


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
    return f"consent for {category} is suspended because an operation failed"


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


LONGEST_TOLD_NAME = 80


def block_alert(name: str) -> str:
    return f"{name} was attempted and blocked"


def guard_alert(name: str, request: Request, reason: str) -> str:
    """Tell an attempt on the guard itself: what was tried, with which tool, by whom, through which door.

    The names are the agent's own words: what cannot be printed is shown by its number, and all are cut.
    """
    call = request.call
    tool, agent, session = (
        repr(one)[:LONGEST_TOLD_NAME] for one in (call.tool, request.agent, request.session)
    )
    came = f"origin {request.origin.value}, door {call.door!r}"
    where = f"session {session}" if request.session else "no session"
    return f"{block_alert(name)}: tool {tool}, agent {agent}, {where}, {came}: {reason}"


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
    """Return what is put to the user: why, what would run, what an answer covers, and the question.

    A risky one also says what it will do. `wider` means that some answer covers more than this call.
    """
    effects = "".join(f"{tell_ahead(what)} " for what in will) if rule == RISKY.name else ""
    said = [_heading(rule, reason, categories, wider), *lines, "", *notes, f"{effects}Proceed?"]
    return "\n".join(said)


AS_ABOVE = "as above"
NOT_SEEN = "this is high risk, and it is not certain that the whole call was shown"
EDIT_RAISES = "the edit raises the risk to high, and it is not certain that the edited call was shown"
MESSAGE_AS_IT_IS = "a message is confirmed as it is, or denied"
WORKFLOW_AS_IT_IS = "a workflow is approved as it is, or denied"
EDITED_BY_PROGRAM = "only the program that asks can edit this call"
OTHER_EDIT = "the edited call is not the one that was shown"
LOOK_AT_EDIT = "look at the edited call and its risk again, then allow it"
LEFT_OPEN = "nothing was answered: the question was left open"
TYPE_ALLOW = "to let it run, answer again and type the word `allow`; `sayso deny` refuses it"


def edit_denied(reason: str) -> str:
    return f"the policy denies the edited call: {reason}"


def edit_decided(before: str, risk: str, reason: str) -> str:
    """Return what the policy makes of an edited call, and whether the edit changed its risk."""
    if before == risk:
        return f"The edited call is {risk} risk: {reason}."
    return f"The edit changes the risk from {before} to {risk}: {reason}."


def folding_note(question: str) -> str:
    shown = f"Part of this call is folded; `sayso inbox {question}` and the page show all of it."
    return f"{shown} At high risk a yes counts there."


def wrong_digest_reason(given: str, digest: str) -> str:
    """Why an answer that names this digest does not answer the question about that one."""
    if len(given) < len(digest):
        return f"the digest given has {len(given)} characters; all {len(digest)} digits of it are needed"
    return "the digest given differs from that of the question: the answer is about another call"


def where_digest_is(question: str) -> str:
    return f"read the question again: `sayso inbox {question}` and the page show its whole digest"


def cause_line(found: str | None, argument: str | None = None, part: str = "") -> str:
    """What a reading found, and in which part of the call; the part stands last, as it is the agent's."""
    why = f"because {add_subject(found)}" if found else "because of"
    where = f" {argument}" if argument is not None and not found else f", in {argument}" if argument else ""
    return f"{why}{where}: {part}" if part else why


def change_heading(before: str, after: str) -> str:
    return f"{before} becomes {after}:"


def operation_with_risk(operation: str, risk: str) -> str:
    return f"{operation} ({risk} risk)"


def how_to_see(question: str) -> str:
    return (
        f"`sayso inbox {question}` and the page show all of it; the answer has to name the digest shown there"
    )


def question_changed(question: str) -> str:
    return f"question {question} was changed outside Sayso: it is not shown, and nobody can answer it"


def coverage_note(category: str | None) -> str:
    """Return what a yes in the conversation gives: a category for the task, or this call alone."""
    if category is None:
        return "A yes covers this call only."
    return f"A yes covers {category} in this task; 'just this once' covers this call."


def asker_line(agent: str, session: str, lasts: float, digest: str) -> str:
    who = f"Asked by {visible(agent)}" + (f" in session {visible(session)}" if session else "")
    return f"{who}; open for {describe_duration(lasts)}; digest {digest[:12]}."


def agent_left(operation: str, left: float) -> str:
    """Told on the surfaces once the caller has stopped waiting, while the question can still be answered."""
    return (
        f"The agent is no longer waiting for {visible(operation)}. "
        f"A yes within {describe_left(left)} lets it try again."
    )


def no_answer_reason(call: str, operation: str | None = None, risk: str | None = None) -> str:
    """Nobody answered while the caller waited: what to do, in one sentence."""
    what = "it" if operation is None else f"{visible(operation)} ({risk} risk)"
    return f"nobody has answered yet whether {what} may run: call retry with {call} to go on with it"


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
    """Return how a question begins: with why it is asked."""
    return f"{reason[0].upper()}{reason[1:]}; need consent:"


def _plural(category: str, noun: str) -> str:
    """'file edits' stands alone, 'git' wants a noun."""
    return category if category.endswith("s") else f"{category} {noun}"


OFFERS = {
    "once": "allow once: this call, now",
    "deny": "deny: this call does not run",
}


def offer_text(answer: str, category: str, pinned: str) -> str:
    """Return what an answer would allow."""
    wider = {
        "task": f"for this task: {category}",
        "temporary": f"for 15 minutes: {pinned}",
        "always": f"always (this session, at most 24 h): {pinned}",
        "remember": "allow and remember this tool for the session",
    }
    return OFFERS.get(answer) or wider[answer]


# --- plans and tasks ---

PLAN = "Plan"
PLAN_COVERS = "A yes covers"
PLAN_COVERS_NOTHING = "nothing: each call is asked for"
PLAN_ASKS = "Asked each time"
PLAN_BLOCKED = "Blocked, never runs"
PLAN_ADJUSTED = "Your changes, which only take away"
PLAN_LEFT = "This call is not in the plan: the plan's consent ends"


def confirms_task(task: str) -> str:
    return f"A yes also confirms that you are still working on {visible(task)}."


# --- lines of lists ---


def bundle_title(label: str, operations: int) -> str:
    """A bundle in a line."""
    return f"bundle {visible(label.removeprefix('bundle:'))} ({operations} operations)"


def title_misses(argument: str) -> str:
    """Behind the usual line of a call, where the policy's title for its tool could not be filled."""
    return f" (without {visible(argument, LONGEST_WORD)} for its title)"


RESULT_TOO_LARGE = "its JSON form is larger than 64 KiB"
