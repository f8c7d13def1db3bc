"""Reading ahead: what is wanted and not known yet, by kind, and what to do with the rows that are found.

What belongs to a session is read ahead only with that session, which is then held: so what was found stays as
it is until the transaction ends, or changes it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from sayso.store.contract import (
    Ahead,
    CallRow,
    GrantRow,
    ReviewRow,
    SessionRow,
    SpendRow,
)
from sayso.store.sql.known import KnownRows

ReadKind = Literal[
    "metas", "sessions", "calls", "host_ids", "host_questions", "call_keys", "key_questions", "effects",
    "grants", "grants_by_key", "approvals", "approval_spends", "reviews", "questions", "questions_of",
    "open_questions", "counted",
]  # fmt: skip
Found = list[tuple[Any, ...]]
Key = tuple[Any, ...]
Keyed = TypeVar("Keyed", bound=Key)


class ReadAhead(NamedTuple):
    """One read: the keys of its rows, and what learns from them. Sessions are also those of `calls`."""

    kind: ReadKind
    keys: Sequence[Key]
    learn: Callable[[Found], object]


def reads_ahead(wanted: Ahead, known: KnownRows) -> list[ReadAhead]:
    """The reads, in the order they are to be made; those with nothing to look for are left out."""
    every = [one for reads in _READS for one in reads(wanted, known)]
    calls = known.new_calls(wanted)
    return [one for one in every if one.keys or (one.kind == "sessions" and calls)]


def new_sessions_and_calls(wanted: Ahead, known: KnownRows) -> tuple[list[str], list[str]]:
    """The sessions and calls that are wanted and not known."""
    return sorted(wanted.sessions - known.sessions.keys()), known.new_calls(wanted)


def new_effects(wanted: Ahead, known: KnownRows) -> list[str]:
    """The effect keys that are wanted and not known."""
    return sorted(wanted.effects - known.effects.keys())


def _of_held(wanted: Ahead, known: KnownRows, keys: Iterable[Keyed]) -> list[Keyed]:
    """Of keys that begin with a session, those whose session is held by the time they are read."""
    return sorted(one for one in keys if one[0] in wanted.sessions or one[0] in known.sessions)


def _read_metas(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    names = sorted(wanted.metas - known.metas.keys())

    def learn(rows: Found) -> None:
        known.metas.update({**dict.fromkeys(names), **dict(rows)})

    yield ReadAhead("metas", _keys(names), learn)


def _read_sessions(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    sessions, calls = new_sessions_and_calls(wanted, known)

    def learn_sessions(rows: Found) -> None:
        known.sessions.update(dict.fromkeys(sessions))
        known.sessions.update({row[0]: SessionRow(*row) for row in rows})

    def learn_calls(rows: Found) -> None:
        known.learn_calls(rows)
        known.no_calls.update(name for name in calls if name not in known.calls)

    yield ReadAhead("sessions", _keys(sessions), learn_sessions)
    yield ReadAhead("calls", _keys(calls), learn_calls)


def _read_repeated(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    """The calls recorded under these ids and keys, and the questions they wait for."""
    host_ids = _of_held(wanted, known, wanted.host_ids - known.host_ids.keys())
    call_keys = _of_held(wanted, known, wanted.call_keys - known.call_keys.keys())

    def learn_host_ids(rows: Found) -> None:
        calls = known.learn_calls(rows)
        known.host_ids.update(dict.fromkeys(host_ids))
        known.host_ids.update({(one.session, str(one.host_id)): one.id for one in calls})

    def learn_call_keys(rows: Found) -> None:
        calls = known.learn_calls(rows)
        known.call_keys.update(dict.fromkeys(call_keys))
        known.call_keys.update({(one.session, one.tool, str(one.key)): one.id for one in calls})

    yield ReadAhead("host_ids", host_ids, learn_host_ids)
    yield ReadAhead("host_questions", host_ids, known.learn_questions)
    yield ReadAhead("call_keys", call_keys, learn_call_keys)
    yield ReadAhead("key_questions", call_keys, known.learn_questions)


def _read_effects(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    effects = new_effects(wanted, known)

    def learn(rows: Found) -> None:
        calls = [CallRow(*row) for row in rows]
        known.effects.update({key: [one for one in calls if one.effect_key == key] for key in effects})

    yield ReadAhead("effects", _keys(effects), learn)


def _read_grants(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    grants = sorted(wanted.grants - known.grants.keys())
    by_key = _of_held(wanted, known, wanted.grants_by_key - known.grants_by_key.keys())

    def learn_by_key(rows: Found) -> None:
        of_session = _by_session(known.learn_grants(rows))
        for session, each in by_key:
            mine = [row for row in of_session.get(session, ()) if (row.kind, row.value) in each]
            known.grants_by_key[session, each] = mine

    yield ReadAhead("grants", _keys(grants), known.learn_grants)
    keys = list(dict.fromkeys((session, *key) for session, each in by_key for key in each))
    yield ReadAhead("grants_by_key", keys, learn_by_key)


def _read_approvals(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    """The questions that were answered with an approval of these calls, and what was used of it."""
    approvals = _of_held(wanted, known, wanted.approvals - known.approvals)

    def learn_spends(rows: Found) -> None:
        known.approvals.update(approvals)
        known.spends.update({grant: [] for grant, *_ in rows})
        for _, *spend in rows:
            if spend[0] is not None:
                known.add_spend(SpendRow(*spend))

    yield ReadAhead("approvals", approvals, known.learn_questions)
    yield ReadAhead("approval_spends", approvals, learn_spends)


def _read_reviews(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    names = sorted(wanted.reviews - known.reviews.keys())

    def learn(rows: Found) -> None:
        known.reviews.update(dict.fromkeys(names))
        known.reviews.update({row[0]: ReviewRow(*row) for row in rows})

    yield ReadAhead("reviews", _keys(names), learn)


def _read_questions(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    """These questions, and the open ones about these calls."""
    ids = _of_held(wanted, known, [one for one in wanted.questions if one[1] not in known.questions])
    open_ones = _of_held(wanted, known, wanted.open_questions - known.open_questions.keys())

    def learn_open(rows: Found) -> None:
        known.open_questions.update(dict.fromkeys(open_ones))
        found = known.learn_questions(rows)  # the newest of several counts, which comes last
        known.open_questions.update({(one.session, one.digest): one for one in found})

    yield ReadAhead("questions", ids, known.learn_questions)
    yield ReadAhead("open_questions", open_ones, learn_open)


def _read_questions_of(wanted: Ahead, known: KnownRows) -> Iterable[ReadAhead]:
    """The open questions of these sessions, and how many those are."""
    listed = _of_held(wanted, known, _keys(wanted.questions_of - known.all_questions.keys()))
    counted = _of_held(wanted, known, _keys(wanted.counted - known.counted.keys()))

    def learn_all(rows: Found) -> None:
        questions = known.learn_questions(rows)
        for (name,) in listed:
            known.all_questions[name] = [row for row in questions if row.session == name]

    def learn_counts(rows: Found) -> None:
        known.counted.update(dict(rows))

    yield ReadAhead("questions_of", listed, learn_all)
    yield ReadAhead("counted", counted, learn_counts)


_READS = (
    _read_metas,
    _read_sessions,
    _read_repeated,
    _read_effects,
    _read_grants,
    _read_approvals,
    _read_reviews,
    _read_questions,
    _read_questions_of,
)


def _by_session(rows: Iterable[GrantRow]) -> dict[str, list[GrantRow]]:
    found: dict[str, list[GrantRow]] = {}
    for row in rows:
        found.setdefault(row.session, []).append(row)
    return found


def _keys(names: Iterable[str]) -> list[tuple[str]]:
    return [(name,) for name in names]
