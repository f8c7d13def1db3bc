"""Reviewing the policy in a terminal: each domain in a few lines, to be kept, tightened, or left to decay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from sayso.core.durations import DAY, describe_left
from sayso.core.errors import SaysoError
from sayso.core.text.counts import count_of

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.gate.people.team_view import BrokenGlass
    from sayso.gate.upkeep.review import DomainReview

FILE_NOTES = {
    "waits": "your policy file waits to be applied: sayso policy apply",
    "refused": "your policy file is refused: sayso policy status",
    "not_the_locked_one": "your locked policy file was changed: sayso policy status",
}
GO_ON = "Go on with: sayso policy review"
NOTHING_KEPT = "Nothing was kept: what is not reviewed decays."
SOON = 3
"""Days before a domain decays from which on it is said."""


class ReviewOutcome:
    """Carry out a review's answers, each as soon as it is given, and remember what came of them."""

    def __init__(self, keep: Callable[[str], None], tighten: Callable[[str], str]) -> None:
        self._keep, self._tighten = keep, tighten
        self._kept: list[str] = []
        self._filed: list[tuple[str, str]] = []

    def keep(self, domain: str) -> None:
        self._keep(domain)
        self._kept.append(domain)

    def tighten(self, operation: str) -> None:
        self._filed.append((operation, self._tighten(operation)))

    def lines(self) -> list[str]:
        kept = f"Kept: {', '.join(self._kept)}." if self._kept else NOTHING_KEPT
        asks = [f"Proposed that {name} asks: sayso propose approve {one}" for name, one in self._filed]
        return [kept, *asks]


def walk_reviews(found: list[DomainReview], outcome: ReviewOutcome) -> bool:
    """Ask what becomes of each domain. What was answered counts at once; False if the walk was broken off."""
    done = 0
    try:
        for one in found:
            typer.echo("\n".join(review_lines(one)))
            _walk_one(one, outcome)
            typer.echo()
            done += 1
    except (typer.Abort, KeyboardInterrupt):  # at a question, or between two
        left = count_of(len(found) - done, "domain")
        typer.echo(f"\n\nStopped with {left} left. What was answered counts.\n{GO_ON}")
    return done == len(found)


def _walk_one(one: DomainReview, outcome: ReviewOutcome) -> None:
    answer = _ask_for_one_of(f"{one.domain}: k to keep, t to tighten, Enter to let it decay", ("k", "t", ""))
    if answer == "k":
        try:
            outcome.keep(one.domain)
            typer.echo(f"{one.domain} is kept.")
        except SaysoError as error:
            typer.echo(f"{one.domain} is not kept: {error}")
    for operation in _ask_which(one) if answer == "t" else ():
        try:
            outcome.tighten(operation)
            typer.echo(f"Proposed that {operation} asks.")
        except SaysoError as error:  # the other answers still count
            typer.echo(f"{operation} stays as it is: {error}")


def _ask_for_one_of(question: str, answers: tuple[str, ...]) -> str:
    while True:
        answer: str = typer.prompt(question, default="", show_default=False).strip().lower()
        if answer in answers:
            return answer
        typer.echo(f"Answer {', '.join(filter(None, answers))}, or press Enter.")


def _ask_which(one: DomainReview) -> list[str]:
    """Ask which permissions of a domain are to ask, if it has several; names may stand without the domain."""
    from sayso.core.words import visible

    known = [use.operation for use in one.permissions]
    if len(known) == 1:
        return known
    which = "Which are to ask? Separate them with commas, Enter for none"
    said = typer.prompt(which, default="", show_default=False)
    wanted = {name.strip() for name in said.split(",")} - {""}
    found = [name for name in known if wanted & {name, name.partition(".")[2]}]
    for name in sorted(wanted - {*found, *(each.partition(".")[2] for each in found)}):
        typer.echo(f"{visible(name)} is not one of them.")
    return found


def review_lines(one: DomainReview) -> list[str]:
    """A domain with its permissions, and how long they still hold."""
    return [
        f"{one.domain}: {_holds(one)}",
        *(f"  {_use(use.operation, use.used, use.asked, use.refused)}" for use in one.permissions),
    ]


def broken_glass_lines(found: list[BrokenGlass]) -> list[str]:
    """Return who allowed alone what others had to approve, with the reason they gave."""
    from sayso.cli.views.operator import format_moment
    from sayso.core.words import visible

    return [
        f"{format_moment(one.at)}  {one.person} broke the glass for {one.question} "
        f"({', '.join(one.operations)}): {visible(one.reason)}"
        for one in found
    ]


def _holds(one: DomainReview) -> str:
    if one.decay.decayed:
        return "has decayed, and asks until it is reviewed"
    if one.days_left is None:
        return "does not decay"
    if one.days_left > SOON:
        return f"decays in {count_of(round(one.days_left), 'day')}"
    return f"decays in {describe_left(one.days_left * DAY)}: keep it now, or it asks from then on"


def _use(operation: str, used: int, asked: int, refused: int) -> str:
    if not used and not asked and not refused:
        return f"{operation}: not used since the last review"
    counts = {"used": used, "asked": asked, "refused": refused}
    return f"{operation}: {', '.join(f'{word} {_times(many)}' for word, many in counts.items() if many)}"


def _times(many: int) -> str:
    return "once" if many == 1 else f"{many} times"


def find_waiting_notes(gate: Gate) -> list[str]:
    """Return what waits besides questions: proposals, and a policy file that is not in force."""
    from sayso.gate.policy_acts.apply import find_file_state
    from sayso.gate.proposals.file_proposal import list_proposals
    from sayso.gate.settings import find_own_policies

    many = sum(one.state == "proposed" for one in list_proposals(gate))
    waits = "1 proposal waits" if many == 1 else f"{many} proposals wait"
    notes = [f"{waits} for your decision: sayso propose list"] if many else []
    try:
        files = find_own_policies()
        state = find_file_state(gate, files[0].absolute()) if files else None
    except SaysoError:  # as with a policy that cannot be read
        state = None
    return [*notes, FILE_NOTES[state]] if state in FILE_NOTES else notes


def find_decay_notes(gate: Gate) -> list[str]:
    """Return what to say of domains that decay soon; nothing if your own policy is not the one in force."""
    import msgspec

    from sayso.gate.policy.acting_policy import policy_in_force
    from sayso.gate.settings import load_own_policy
    from sayso.gate.upkeep.decay_notices import find_near_decays
    from sayso.policy import load_preset

    try:
        loaded = load_own_policy()
        policy = load_preset("balanced") if loaded is None else loaded.policy
        if policy_in_force(gate) != policy.digest:
            return []
        return [one.notice for one in find_near_decays(msgspec.structs.replace(gate, policy=policy))]
    except SaysoError:  # whoever wants to see questions is not stopped by a policy that cannot be read
        return []
