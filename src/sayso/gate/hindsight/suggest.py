"""Suggestions: changes of the policy that the recorded past speaks for. None is ever applied by itself.

- Always approved: the very same call, in the very same folder, was approved every time it was asked about.
  What is proposed fits that call alone. High risk only if the operator asks for it.
- Never used: autonomous permissions that nothing used in all that time would ask again.
- Often refused: an operation that people deny at least half of the time would be blocked.
- self_modification is never among them.
- Each comes with its evidence, with the replay of what it would have changed, and with the change itself.
  Where no entry of a policy file covers exactly what was approved, there is evidence and no change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Literal

import msgspec

from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.model import Call, Risk, Tier
from sayso.core.policy import GUARDED_DOMAIN, Policy, with_mode
from sayso.core.proposals.diffs import make_diff
from sayso.gate.deciding.request import read_again
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.figures.totals import load_totals
from sayso.gate.gate import Gate
from sayso.gate.hindsight import words
from sayso.gate.hindsight.evidence import (
    Answers,
    CallAnswers,
    Evidence,
    find_counting_arguments,
    gather_evidence,
)
from sayso.gate.hindsight.own_file import OwnPolicyFile
from sayso.gate.hindsight.policy_text import MovedActions, PolicyChange, ToolChange
from sayso.gate.hindsight.replay import ReplayReport, replay_decisions
from sayso.policy import load_text
from sayso.policy.compare.diff import find_loosened
from sayso.reading.resolve import find_tool_entry

LEAST_APPROVED = 5
LEAST_REFUSED = 3
MOST = 5
"""Of each kind, so that an agent that asks a lot crowds out no other; each is replayed over all of it."""
LONGEST_WHEN = 1_000
DOMAIN = "approved"
"""The domain of the operations that suggestions make."""
_CAN_CHANGE = "what the call runs or works on can change without the call changing"

Kind = Literal["always_approved", "never_used", "often_refused"]


class SuggestionEvidence(msgspec.Struct, frozen=True):
    """What people said. Titles, tools and folders are the agents' own text."""

    asked: int = 0
    approved: int = 0
    denied: int = 0
    expired: int = 0
    first_at: float | None = None
    last_at: float | None = None
    people: tuple[str, ...] = ()
    tool: str = ""
    folder: str = ""
    title: str = ""
    agents: tuple[str, ...] = ()
    """The agents that were asked about; the change holds for every agent."""


class SuggestionEffect(msgspec.Struct, frozen=True):
    """What the change does to the recorded decisions of that time, against the policy in force now."""

    decisions: int
    loosened: int
    tightened: int
    not_replayed: int


class Suggestion(msgspec.Struct, frozen=True):
    """One suggestion. `diff` is the change of the policy file; without one, `why_not` says why."""

    id: str
    kind: Kind
    operations: tuple[str, ...]
    risk: str
    words: str
    evidence: SuggestionEvidence
    effect: SuggestionEffect | None = None
    diff: str | None = None
    path: str = ""
    why_not: str = ""


class _Draft(msgspec.Struct, frozen=True):
    suggestion: Suggestion
    change: PolicyChange | None


def suggest_changes(
    gate: Gate, file: OwnPolicyFile | None, *, days: float, high: bool = False
) -> list[Suggestion]:
    """Suggest changes from the last days, those with the most evidence first."""
    with gate.store.read() as tx:
        since = max(tx.now - days * DAY, 0.0)
    evidence = gather_evidence(gate, since)
    kinds = (
        _always_approved(gate.policy, evidence, days, high),
        _often_refused(gate.policy, evidence, days),
        _never_used(gate, since, days),
    )
    drafts = [one for kind in kinds for one in islice(kind, MOST)]
    return [_work_out(gate, file, one, since) for one in drafts]


def _always_approved(policy: Policy, evidence: Evidence, days: float, high: bool) -> Iterator[_Draft]:
    always = [
        (key, one)
        for key, one in evidence.calls.items()
        if one.answers.approved == one.answers.asked >= LEAST_APPROVED and (high or one.risk < Risk.HIGH)
    ]
    for _, one in sorted(always, key=lambda pair: (-pair[1].answers.approved, pair[0])):
        operations = one.request.operation_names
        if all(_may_loosen(policy, name) for name in operations) and not _runs_unasked(policy, one):
            change, why = find_exact_change(policy, one)
            told = words.suggest_approved(
                one.answers.approved, one.answers.asked, days, operations, one.title, one.request.call.folder
            )
            made = _make("always_approved", operations, one.risk, told, _evidence(one.answers, one))
            yield _Draft(msgspec.structs.replace(made, why_not=why), change)


def _often_refused(policy: Policy, evidence: Evidence, days: float) -> Iterator[_Draft]:
    for name, one in sorted(evidence.operations.items(), key=lambda pair: (-pair[1].denied, pair[0])):
        entry = policy.entry(name)
        often = one.denied >= LEAST_REFUSED and one.denied * 2 >= one.answered
        if often and entry.tier is Tier.REQUIRES_APPROVAL and entry.domain != GUARDED_DOMAIN:
            told = words.suggest_refused(one.denied, one.answered, days, name)
            made = _make("often_refused", (name,), evidence.risks[name], told, _evidence(one))
            action = name.partition(".")[2]
            yield _Draft(made, MovedActions(entry.domain, (action,), Tier.BLOCKED.value))


def _never_used(gate: Gate, since: float, days: float) -> Iterator[_Draft]:
    """Yield the domains with permissions that were not used, if the whole time is in the trail."""
    with gate.store.read() as tx:
        first = next(iter(tx.entry_tuples("main", limit=1)), None)
        pruned = load_totals(tx, since).decided.pruned
    if first is None or first[4] > since or pruned:
        return
    uses = load_last_uses(gate)
    for name, domain in sorted(gate.policy.domains.items()):
        idle = tuple(
            action
            for action in domain.autonomous
            if (use := uses.get(f"{name}.{action}")) is None or (use.allowed_at or 0.0) < since
        )
        if idle and name != GUARDED_DOMAIN:
            operations = tuple(f"{name}.{action}" for action in idle)
            told = words.suggest_unused(days, operations)
            made = _make("never_used", operations, Risk.LOW, told, SuggestionEvidence())
            yield _Draft(made, MovedActions(name, idle, Tier.REQUIRES_APPROVAL.value))


def _may_loosen(policy: Policy, name: str) -> bool:
    """Return whether a suggestion may ever let this run unasked."""
    try:
        entry = policy.entry(name)
    except SaysoError:
        return False
    protected = entry.domain == GUARDED_DOMAIN or entry.trusted_channel or entry.asks_always(Risk.HIGH)
    return not protected and entry.tier is not Tier.BLOCKED


def _runs_unasked(policy: Policy, one: CallAnswers) -> bool:
    """Return whether the policy lists this call as autonomous by now; a review is all that it may need."""
    try:
        read = read_again(one.request, policy).operations
    except (SaysoError, OSError, ValueError):
        return False
    return one.risk < Risk.HIGH and all(policy.entry(each.name).tier is Tier.AUTONOMOUS for each in read)


def find_exact_change(policy: Policy, one: CallAnswers) -> tuple[ToolChange | None, str]:
    """Return the change that lets exactly this call run unasked, or why there is none."""
    call = one.request.call
    if any(letter in call.tool for letter in "*?[") or not call.tool.isprintable():
        return None, "the tool's name would be read as a pattern"
    if call.places or call.state is not None:
        return None, _CAN_CHANGE
    if not call.folder or one.request.workflow is not None:
        return None, "the call has no folder that an entry could name"
    if any(policy.entry(each.name).fan_out for each in one.request.operations):
        return None, "its domain watches for the same content going out twice, and another one would not"
    when = spell_condition(call, policy)
    if len(when) > LONGEST_WHEN:
        return None, "the call is too long for the condition of an entry"
    entry, _ = find_tool_entry(call.tool, find_counting_arguments(call, policy), policy, folder=call.folder)
    if entry is not None and entry.resolve == "path":  # it goes through the folder, and names no path
        return None, _CAN_CHANGE
    if entry is not None and entry.resolve == "recipient":
        return None, "whom it goes to is judged by your contacts, which can change"
    risk = max(one.risk, Risk.MODERATE).word
    named = sha256("\n".join((call.tool, when)).encode()).hexdigest()[:12]
    change = ToolChange(call.tool, when, DOMAIN, f"call_{named}", risk)
    if entry is None:
        return change, ""
    beside = {"command": entry.command_from, "ignore": entry.ignore, "title": entry.title}
    return msgspec.structs.replace(change, **beside), ""


def spell_condition(call: Call, policy: Policy) -> str:
    """Return a condition that holds for calls in this folder with exactly these arguments, and never fails.

    Arguments that the tool's entry lists as harmless are left open, as they are for the allowlist.
    """
    counting = find_counting_arguments(call, policy)
    entry, _ = find_tool_entry(call.tool, counting, policy, folder=call.folder)
    harmless = () if entry is None or entry.command_from is None else entry.ignore
    known = json.dumps(sorted({*counting, *harmless}), ensure_ascii=False)
    parts = [f"cwd == {json.dumps(call.folder, ensure_ascii=False)}", f"args.all(k, k in {known})"]
    for name, value in sorted(counting.items()):
        key = json.dumps(name, ensure_ascii=False)
        parts.append(f"{key} in args && args[{key}] == {json.dumps(value, ensure_ascii=False)}")
    return " && ".join(parts)


def _make(
    kind: Kind, operations: tuple[str, ...], risk: Risk, told: str, evidence: SuggestionEvidence
) -> Suggestion:
    names = "\n".join((kind, *operations, evidence.tool, evidence.folder, evidence.title))
    return Suggestion(sha256(names.encode()).hexdigest()[:12], kind, operations, risk.word, told, evidence)


def _evidence(answers: Answers, one: CallAnswers | None = None) -> SuggestionEvidence:
    call = None if one is None else one.request.call
    return SuggestionEvidence(
        answers.asked,
        answers.approved,
        answers.denied,
        answers.expired,
        answers.first_at,
        answers.last_at,
        tuple(sorted(answers.people)),
        "" if call is None else call.tool,
        "" if call is None else call.folder,
        "" if one is None else one.title,
        tuple(sorted(answers.agents)),
    )


def _work_out(gate: Gate, file: OwnPolicyFile | None, draft: _Draft, since: float) -> Suggestion:
    """Return the suggestion with its change and what that would have done, if it does just what it says."""
    made = draft.suggestion
    if draft.change is None:
        return made
    if file is None:
        return msgspec.structs.replace(made, why_not=words.NO_OWN_FILE)
    try:
        after = file.change(draft.change)
        changed = with_mode(load_text(after, name="suggestion"), gate.policy.mode)
        report = replay_decisions(gate, changed, since=since, against_now=True)
    except SaysoError as error:
        return msgspec.structs.replace(made, why_not=error.message)
    effect = SuggestionEffect(
        report.decisions, report.loosened_calls, report.tightened_calls, sum(report.not_replayed.values())
    )
    why_not = _does_more(made, report) or _loosens_its_own(made, gate.policy, changed)
    if why_not:
        return msgspec.structs.replace(made, effect=effect, why_not=why_not)
    diff = make_diff(file.path, file.text, after)
    return msgspec.structs.replace(made, effect=effect, diff=diff, path=file.path)


def _loosens_its_own(made: Suggestion, before: Policy, after: Policy) -> str:
    """Return why a change that is to tighten loosens the very operations that it is about; empty if not."""
    wanted = made.kind == "always_approved"
    if wanted or not any(find_loosened(one, before, after) for one in made.operations):
        return ""
    return "a confident agent would run it unasked where it asks now; set confidence_bypass: false for it"


def _does_more(made: Suggestion, report: ReplayReport) -> str:
    """Return what the change does besides what the evidence is for; empty if it does exactly that."""
    if made.kind != "always_approved":
        return "it would also loosen other calls" if report.loosened else ""
    if report.tightened or any(set(one.operations) != set(made.operations) for one in report.loosened):
        return "it would also change other calls"
    if not report.loosened:
        return "no entry of a policy file lets exactly these calls run: they are declared elsewhere"
    return ""
