"""Adding up the decisions of a stream."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import msgspec

from sayso.core.audit.events import DECISIONS
from sayso.core.durations import HOUR
from sayso.core.model import Risk, Verdict
from sayso.core.rulebook import ALLOWLIST, APPROVED_CALL, SPARING
from sayso.gate.summaries.questions import read_asked
from sayso.gate.summaries.shapes import (
    BLOCK,
    DECIDED,
    FOUND,
    PARTS,
    SEEN,
    SPANS,
    THROUGH,
    USES,
    DecisionTotals,
    LastUse,
    VerdictCounts,
)
from sayso.gate.summaries.source import SourceSummaries
from sayso.store.contract import EntryTuple, Reader

PAGE = 1_000
FIELDS = {Verdict.ALLOW: "allowed_at", Verdict.ASK: "asked_at", Verdict.DENY: "refused_at"}
_CONSENT = SPARING | {ALLOWLIST.name, APPROVED_CALL.name}


class _Details(msgspec.Struct, frozen=True, gc=False):
    digest: str
    risk: str
    rule: str
    question: str = ""


class _Decision(msgspec.Struct, frozen=True, gc=False):
    """The parts of a decision's entry that are added up."""

    agent: str
    details: _Details
    operations: tuple[str, ...]


_Read = tuple[EntryTuple, _Decision | None]
_Known = tuple[EntryTuple, _Decision]
_decode = msgspec.json.Decoder(_Decision).decode


def read_tail(tx: Reader, stream: str, after: int, *, most: int | None = None) -> Iterator[EntryTuple]:
    """The entries of a stream after this one, so many at most."""
    left = most
    while left is None or left > 0:
        page = tx.entry_tuples(stream, after=after, limit=PAGE if left is None else min(PAGE, left))
        if not page:
            return
        yield from page
        after = page[-1][0]
        left = None if left is None else left - len(page)


def add_entries(sums: SourceSummaries, tx: Reader, rows: Iterable[EntryTuple]) -> int:
    """Add these entries, which follow those that were added before; how many."""
    page = list(rows)
    if not page:
        return 0
    read = [(row, _try_decode(row[1])) for row in page if row[5] in DECISIONS]
    known = [(row, said) for row, said in read if said is not None]
    _count_unread(sums, [row for row, said in read if said is None])
    _count(sums, known)
    _note_uses(sums, known)
    _note_found(sums, read)
    _add_consented(sums, tx, [one for one in known if _wants_consent(*one)])
    sums.change(THROUGH).entry = page[-1][0]
    return len(page)


def found_name(what: str, value: str) -> str:
    """The name under which the entries with this value are found."""
    return f"{what}:{value}"


def _try_decode(body: bytes | None) -> _Decision | None:
    try:
        return None if body is None else _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _count_unread(sums: SourceSummaries, rows: Iterable[EntryTuple]) -> None:
    for hour, count in Counter(int(row[4] // HOUR) for row in rows).items():
        for totals in _totals(sums, hour):
            totals.pruned += count


def _count(sums: SourceSummaries, known: Sequence[_Known]) -> None:
    """Count the decisions: alike ones together."""
    agents: Counter[tuple[int, str, str, bool, str]] = Counter()
    operations: Counter[tuple[int, str, str, bool, tuple[str, ...]]] = Counter()
    unasked: Counter[tuple[int, str]] = Counter()
    for (_, _, _, _, at, event, _), said in known:
        hour, verdict, rule = int(at // HOUR), DECISIONS[event], said.details.rule
        avoided = verdict is Verdict.ALLOW and rule in SPARING
        agents[hour, "agents", verdict.value, avoided, said.agent] += 1
        operations[hour, "operations", verdict.value, avoided, said.operations] += 1
        if verdict is Verdict.ALLOW and _counts_as_high(said.details.risk, rule):
            unasked[hour, rule] += 1
    for (hour, where, verdict_name, was_avoided, named), count in (*agents.items(), *operations.items()):
        name = named if isinstance(named, str) else "\n".join(sorted(set(named)))
        for totals in _totals(sums, hour):
            totals.hours.add(hour)
            counts: VerdictCounts = getattr(totals, where).setdefault(name, VerdictCounts())
            setattr(counts, verdict_name, getattr(counts, verdict_name) + count)
            counts.avoided += count * was_avoided
    for (hour, rule), count in unasked.items():
        for totals in _totals(sums, hour):
            totals.high_unasked[rule] = totals.high_unasked.get(rule, 0) + count


def _note_uses(sums: SourceSummaries, known: Sequence[_Known]) -> None:
    latest: dict[tuple[tuple[str, ...], str], float] = {}
    for (_, _, _, _, at, event, _), said in known:
        key = (said.operations, event)
        latest[key] = max(at, latest.get(key, at))
    for (operations, event), at in latest.items():
        field = FIELDS[DECISIONS[event]]
        for name in operations:
            place = int.from_bytes(sha256(name.encode()).digest()[:2], "big") % PARTS
            use = sums.change(USES, place=place).operations.setdefault(name, LastUse())
            before = getattr(use, field)
            setattr(use, field, at if before is None else max(at, before))


def _note_found(sums: SourceSummaries, read: Sequence[_Read]) -> None:
    """Note under each value which entries have it. Of those without a body only the session is known."""
    places: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    domains: dict[tuple[tuple[str, ...], int], list[int]] = defaultdict(list)
    for (seq, _, _, _, _, event, session), said in read:
        block, offset = divmod(seq, BLOCK)
        places["session", session, block].append(offset)
        if said is None:
            continue
        details = said.details
        places["agent", said.agent, block].append(offset)
        places["rule", details.rule, block].append(offset)
        places["risk", details.risk, block].append(offset)
        places["verdict", DECISIONS[event].value, block].append(offset)
        domains[said.operations, block].append(offset)
    for (operations, block), offsets in domains.items():
        for domain in {name.partition(".")[0] for name in operations}:
            places["domain", domain, block] += offsets
    named = {(found_name(what, value), block): offsets for (what, value, block), offsets in places.items()}
    sums.load(FOUND, named)
    for key, offsets in named.items():
        found = sums.change(FOUND, *key)
        found.offsets = sorted(found.offsets + offsets)


def _wants_consent(row: EntryTuple, said: _Decision) -> bool:
    """Return whether the call was stopped, or ran by somebody's word."""
    return DECISIONS[row[5]] is not Verdict.ALLOW or said.details.rule in _CONSENT


def _add_consented(sums: SourceSummaries, tx: Reader, read: Sequence[_Known]) -> None:
    """Prompts for high risk, and calls seen before in their session: covered, or asked again."""
    keys = [(row[6], _seen_place(said.details.digest)) for row, said in read]
    sums.load(SEEN, keys)
    for (row, said), key in zip(read, keys, strict=True):
        seen = sums.change(SEEN, *key)
        again = seen.times > 0
        seen.times += 1
        details, hour = said.details, int(row[4] // HOUR)
        if again and details.rule == ALLOWLIST.name:
            for totals in _totals(sums, hour):
                totals.covered += 1
        if DECISIONS[row[5]] is not Verdict.ASK or not details.question or seen.question == details.question:
            continue
        question = tx.question(details.question)
        if question is None or question.digest != details.digest or question.session != row[6]:
            continue
        seen.question = question.id
        asked = read_asked(question)
        for totals in _totals(sums, hour):
            totals.high_asked += _counts_as_high(details.risk, details.rule)
            totals.asked_again += again and asked is not None and asked.is_command


def _totals(sums: SourceSummaries, hour: int) -> list[DecisionTotals]:
    """The totals of the spans that this hour lies in."""
    return [sums.change(DECIDED[span], place=hour * SPANS[0] // span) for span in SPANS]


def _counts_as_high(risk: str, rule: str) -> bool:
    """A call that runs on its approval was counted when it was asked."""
    return risk == Risk.HIGH.word and rule != APPROVED_CALL.name


def _seen_place(digest: str) -> int:
    return int.from_bytes(sha256(digest.encode()).digest()[:7], "big")
