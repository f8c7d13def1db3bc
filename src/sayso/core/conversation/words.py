"""What Sayso says in the conversation: what it asks back, announces, lists and clears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sayso.core.grants import Grant, HeldGrant
from sayso.core.text.counts import count_of
from sayso.core.words import visible


def not_all_shown(question: str) -> str:
    return (
        "Part of this call was folded, and its risk is high, so a yes does not count here: "
        f"answer it where all of it is shown, on the page or with `sayso approve {question}`."
    )


def approve_elsewhere(question: str) -> str:
    return (
        f"Others have to approve {question}: a yes here does not count. `sayso inbox` shows whose is missing."
    )


def sign_elsewhere(question: str) -> str:
    return (
        "A yes to this has to be signed with a passkey, so it does not count in the conversation: "
        f"answer it on the page, or at a terminal with `sayso approve {question}`."
    )


CONFIRM_SHOWN = "Proceed with this?"
CONFIRM_PLAN = "Just to confirm, you want me to proceed with the plan?"
CONFIRM_ADJUSTED = "Proceed with this adjusted version?"
PROCEED_WITH_WHAT = "Proceed with what?"
TASK_COMPLETE = "Workflow complete, clearing consent state"
TO_REVOKE = 'To revoke: "Revoke consent for: <command>" or "Revoke all consent"'
NOTHING_REVOKED = f"Nothing was revoked. {TO_REVOKE}"


def no_command(entry: str) -> str:
    return (
        f'"{visible(entry)}" is not clearly a command, and limits are not supported (write only exact'
        " commands, in backticks if they could be misread: `make deploy`; to allow one once, answer"
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


PLAN_CONSENT = "plan consent"


def consent_name(grant: Grant) -> str:
    """A grant in few words, for lists of what was cleared."""
    if grant.group is not None:
        return PLAN_CONSENT
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


def several_consents(name: str, count: int) -> str:
    return name if count == 1 else f"{name} ({count} of them)"


def open_questions_name(operation: str, count: int) -> str:
    return f"open question about {operation}" if count == 1 else f"{count} open questions about {operation}"


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
        f"{slash} does not count: what follows it may limit it or ask about it, and it allows high risk."
        f" Say {slash} alone, or put its text in quotes."
    )


NO_LIMITS = (
    "Nothing was answered: a yes with a limit or a change does not count here."
    ' Say "yes", "just this once" or "no", or tell the agent what to do instead.'
)
NOT_A_PLAIN_YES = (
    "Nothing was answered: this yes contains more than Sayso can understand for certain."
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


def nothing_to_revoke(name: str) -> str:
    return f'Nothing was revoked for "{visible(name)}": there is no consent for it.'


def carried_name(name: str) -> str:
    """A name that calls under way do not carry any more, for lists of what was cleared."""
    return f"{visible(name)}, inside calls under way"


def not_carried(name: str) -> str:
    return f'Calls under way no longer carry "{visible(name)}": what they do of it is asked.'


def order_name(order: str) -> str:
    """A slash command or an order of this turn's message, for lists of what was cleared."""
    return f"{visible(order)}, which you ordered in this turn"


def revokes_nothing(name: str) -> str:
    return f"no standing consent for {visible(name)}"


FREE_RETRY = "the free retry of a failed call"


def describe_taken_back(consents: Iterable[str]) -> str:
    """What a no took back, with nothing else for it to answer."""
    return "\n".join(["You said no. Taken back:", *(f"- {consent}" for consent in consents)])


def allowlist_block(entries: Iterable[HeldGrant], with_risk: bool = False) -> str:
    lines = [_allowlist_line(held, with_risk) for held in entries] or ["(empty)"]
    return "\n".join(["Session Allowlist:", *lines])


def _allowlist_line(held: HeldGrant, with_risk: bool) -> str:
    risk = f"{held.grant.risk.word}, " if with_risk else ""
    return f"- {held.grant.value} ({risk}used {count_of(held.used, 'time')})"


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
