"""Replay: decide the recorded past again, under a changed policy or with a wished grant.

- Each decision is made again by itself, with what its session held then. What would have followed from
  another decision (a question that is not asked gives no grant) is not played on.
- A call is read again only if the changed policy reads calls of its tool otherwise, and counts only if it
  still reads as it did then: otherwise nobody can say what it did.
- A permission that was not autonomous then counts as just reviewed.
- What was decided then is compared; for a suggestion, what the policy in force would decide now.
- Decisions of a limit (too many questions, an effect had already) are not the policy's and stay as they are.
- What cannot be decided again is counted, with the reason. Nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from sayso.core.audit.events import DECISIONS
from sayso.core.deciding.facts import with_operations
from sayso.core.deciding.rules import RULES, START_RULES
from sayso.core.deciding.titles import title_of
from sayso.core.errors import SaysoError
from sayso.core.grants import Grant
from sayso.core.model import Request, Verdict
from sayso.core.policy import Policy
from sayso.gate.deciding.request import read_again
from sayso.gate.gate import Gate
from sayso.gate.hindsight.decide_again import OTHER_FORM, Decided, PastDecider, WishedGrant
from sayso.gate.hindsight.read_otherwise import OtherReadings
from sayso.gate.hindsight.recorded import (
    RecordedDecision,
    find_request,
    read_decision_row,
    read_pages,
)
from sayso.gate.policy.acting_policy import load_last_whole_policy
from sayso.store.contract import EntryTuple, Reader

EXAMPLES = 3
STRICTNESS = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}
BY_CHECKS = frozenset(rule.name for rule, _ in (*RULES, *START_RULES))
CALL_GONE = "the policy reads such calls otherwise, and the call is not stored any more"
READS_OTHERWISE = "the call does not read as it did then"
NO_COMMAND = "its command is not stored any more"

ReplayProgress = Callable[[int], object]
"""Told how many entries were read."""


class ReplayExample(msgspec.Struct, frozen=True):
    """One of the calls that would be decided otherwise. `title` is the call's own text."""

    stream: str
    entry: int
    at: float
    agent: str
    session: str
    title: str


class ReplayedChange(msgspec.Struct, frozen=True):
    """Calls of the same operations that would be decided otherwise in the same way."""

    operations: tuple[str, ...]
    before: str
    after: str
    rule_before: str
    rule_after: str
    times: int
    examples: tuple[ReplayExample, ...]


class ReplayReport(msgspec.Struct, frozen=True):
    """The past as it was decided and as it would be. `by_limits` are decisions that were not the policy's."""

    decisions: int
    before: dict[str, int]
    after: dict[str, int]
    loosened: tuple[ReplayedChange, ...]
    tightened: tuple[ReplayedChange, ...]
    by_limits: int
    not_replayed: dict[str, int]

    @property
    def loosened_calls(self) -> int:
        return sum(one.times for one in self.loosened)

    @property
    def tightened_calls(self) -> int:
        return sum(one.times for one in self.tightened)


def replay_decisions(
    gate: Gate,
    policy: Policy | None = None,
    *,
    wish: WishedGrant | None = None,
    since: float = 0.0,
    against_now: bool = False,
    progress: ReplayProgress = lambda done: None,
) -> ReplayReport:
    """Decide everything recorded since a time again: under this policy, or under the one of the gate.

    With `against_now` the other side is not what was decided, but what the gate's policy would decide now.
    """
    replay, done = _Replay(gate, gate.policy if policy is None else policy, wish, against_now=against_now), 0
    for tx, stream, page in read_pages(gate, since):
        for row in page:
            replay.add(tx, stream, row)
        done += len(page)
        progress(done)
    return replay.report()


_Read = tuple[tuple[str, ...], str]
_ChangeKey = tuple[tuple[str, ...], str, str, str, str]


class _Replay:
    """One replay under way."""

    def __init__(self, gate: Gate, policy: Policy, wish: WishedGrant | None, *, against_now: bool) -> None:
        self._gate, self._policy, self._wish = gate, policy, wish
        self._read_then = gate.policy if against_now else load_last_whole_policy(gate)
        self._otherwise = OtherReadings(self._read_then, policy)
        self._decider = PastDecider(policy, self._read_then, wish)
        self._now = PastDecider(gate.policy, gate.policy, None) if against_now else None
        self._grants: dict[str, Grant | None] = {}
        self._readings: dict[tuple[object, ...], _Read | str] = {}
        self._before: Counter[str] = Counter()
        self._after: Counter[str] = Counter()
        self._times: Counter[_ChangeKey] = Counter()
        self._examples: dict[_ChangeKey, list[ReplayExample]] = {}
        self._missed: Counter[str] = Counter()
        self._by_limits = 0

    def add(self, tx: Reader, stream: str, row: EntryTuple) -> None:
        said = read_decision_row(row)
        if said is None:
            return
        if isinstance(said, str):
            self._missed[said] += 1
            return
        if said.details.rule not in BY_CHECKS:
            self._by_limits += 1
            return
        found, then = self._decide(tx, row, said), self._decide_before(tx, row, said)
        if isinstance(found, str) or isinstance(then, str):
            self._missed[found if isinstance(found, str) else str(then)] += 1
            return
        (before, rule_before), (after, rule) = then, found
        self._before[before.value] += 1
        self._after[after.value] += 1
        if before is not after:
            key = (said.operations, before.value, after.value, rule_before, rule)
            self._times[key] += 1
            examples = self._examples.setdefault(key, [])
            if len(examples) < EXAMPLES:
                examples.append(self._example(tx, stream, row, said))

    def report(self) -> ReplayReport:
        changes = [
            ReplayedChange(*key, times, tuple(self._examples[key]))
            for key, times in sorted(self._times.items(), key=lambda one: (-one[1], one[0]))
        ]
        return ReplayReport(
            self._before.total(),
            _by_verdict(self._before),
            _by_verdict(self._after),
            tuple(one for one in changes if _loosens(one)),
            tuple(one for one in changes if not _loosens(one)),
            self._by_limits,
            dict(sorted(self._missed.items())),
        )

    def _decide(self, tx: Reader, row: EntryTuple, said: RecordedDecision) -> Decided:
        details, names, wished = said.details, said.operations, self._wish is not None
        facts: str = details.facts
        if not facts:
            return OTHER_FORM
        if wished and self._wish is not None and self._wish.kind == "command":
            request = find_request(self._gate, tx, row[6], details)
            if request is None:
                return NO_COMMAND
            wished = request.call.command_line == self._wish.value
        if self._otherwise.of_call(details.tool, names):
            read = self._read_again(find_request(self._gate, tx, row[6], details), names, facts)
            if isinstance(read, str):
                return read
            names, facts = read
        return self._decider.decide(
            names, facts, details.origin, row[4], wished=wished, load=lambda name: self._load_grant(tx, name)
        )

    def _decide_before(self, tx: Reader, row: EntryTuple, said: RecordedDecision) -> Decided:
        """Return what the change is compared with: the decision as it was, or as it would be now."""
        details = said.details
        if self._now is None:
            return DECISIONS[row[5]], details.rule
        if not details.facts:
            return OTHER_FORM
        return self._now.decide(
            said.operations,
            details.facts,
            details.origin,
            row[4],
            wished=False,
            load=lambda name: self._load_grant(tx, name),
        )

    def _load_grant(self, tx: Reader, name: str) -> Grant | None:
        if name not in self._grants:
            row = tx.grant(name)
            self._grants[name] = None if row is None else self._gate.sealer.open_past_grant(row)
        return self._grants[name]

    def _read_again(self, request: Request | None, names: tuple[str, ...], facts: str) -> _Read | str:
        """Return operations and facts as the changed policy reads the call, or why nobody can tell."""
        if request is None:
            return CALL_GONE
        call = request.call
        key = (call.tool, call.folder, call.workspace, request.arguments_digest, names, facts)
        if key not in self._readings:
            self._readings[key] = self._read(request, names, facts)
        return self._readings[key]

    def _read(self, request: Request, names: tuple[str, ...], facts: str) -> _Read | str:
        try:
            as_then = with_operations(facts, read_again(request, self._read_then).operations)
            if as_then != (names, facts):
                return READS_OTHERWISE
            return with_operations(facts, read_again(request, self._policy).operations)
        except (SaysoError, OSError, ValueError):
            return READS_OTHERWISE

    def _example(self, tx: Reader, stream: str, row: EntryTuple, said: RecordedDecision) -> ReplayExample:
        request = find_request(self._gate, tx, row[6], said.details)
        title = said.details.tool if request is None else title_of(request.call)
        return ReplayExample(stream, row[0], row[4], said.agent, row[6], title)


def _loosens(change: ReplayedChange) -> bool:
    return STRICTNESS[Verdict(change.after)] < STRICTNESS[Verdict(change.before)]


def _by_verdict(counts: Counter[str]) -> dict[str, int]:
    return {verdict.value: counts[verdict.value] for verdict in Verdict}
