"""Reading ahead: what is wanted and not known yet, by kind, and what to do with the rows that are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from sayso.store.contract import Ahead, CallRow, GrantRow, QuestionRow, ReviewRow, SessionRow
from sayso.store.sql.known import KnownRows

ReadKind = Literal["metas", "sessions", "calls", "grants", "grants_by_key", "reviews", "open_questions"]
Found = list[tuple[Any, ...]]


class ReadAhead(NamedTuple):
    """One read: the keys of its rows, and what learns from them. Sessions are also those of `calls`."""

    kind: ReadKind
    keys: Sequence[tuple[str, ...]]
    learn: Callable[[Found], None]


def reads_ahead(wanted: Ahead, known: KnownRows) -> list[ReadAhead]:  # noqa: C901  a list of small readers
    """The reads, in the order they are to be made; those with nothing to look for are left out."""
    metas = sorted(wanted.metas - known.metas.keys())
    sessions, calls = new_sessions_and_calls(wanted, known)
    grants = sorted(wanted.grants - known.grants.keys())
    by_key = [one for one in wanted.grants_by_key if one not in known.grants_by_key]
    asked = [one for one in wanted.open_questions if one not in known.open_questions]
    reviews = sorted(wanted.reviews - known.reviews.keys())

    def learn_metas(rows: Found) -> None:
        known.metas.update({**dict.fromkeys(metas), **dict(rows)})

    def learn_sessions(rows: Found) -> None:
        known.sessions.update(dict.fromkeys(sessions))
        known.sessions.update({row[0]: SessionRow(*row) for row in rows})

    def learn_calls(rows: Found) -> None:
        known.calls.update({row[0]: CallRow(*row) for row in rows})

    def learn_grants(rows: Found) -> None:
        known.grants.update({row[0]: GrantRow(*row) for row in rows})

    def learn_grants_by_key(rows: Found) -> None:
        of_session: dict[str, list[GrantRow]] = {}
        for row in rows:
            of_session.setdefault(row[1], []).append(GrantRow(*row))
        for session, each in by_key:
            mine = [row for row in of_session.get(session, ()) if (row.kind, row.value) in each]
            known.grants_by_key[session, each] = mine

    def learn_reviews(rows: Found) -> None:
        known.reviews.update(dict.fromkeys(reviews))
        known.reviews.update({row[0]: ReviewRow(*row) for row in rows})

    def learn_questions(rows: Found) -> None:
        known.open_questions.update(dict.fromkeys(asked))
        for question in [QuestionRow(*row) for row in reversed(rows)]:
            known.open_questions[question.session, question.digest] = question

    every = [
        ReadAhead("metas", _keys(metas), learn_metas),
        ReadAhead("sessions", _keys(sessions), learn_sessions),
        ReadAhead("calls", _keys(calls), learn_calls),
        ReadAhead("grants", _keys(grants), learn_grants),
        ReadAhead(
            "grants_by_key",
            [(session, *key) for session, each in by_key for key in each],
            learn_grants_by_key,
        ),
        ReadAhead("reviews", _keys(reviews), learn_reviews),
        ReadAhead("open_questions", asked, learn_questions),
    ]
    return [one for one in every if one.keys or (one.kind == "sessions" and calls)]


def new_sessions_and_calls(wanted: Ahead, known: KnownRows) -> tuple[list[str], list[str]]:
    """The sessions and calls that are wanted and not known."""
    return sorted(wanted.sessions - known.sessions.keys()), sorted(wanted.calls - known.calls.keys())


def _keys(names: list[str]) -> list[tuple[str, ...]]:
    return [(name,) for name in names]
