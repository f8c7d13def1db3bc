"""What is read ahead, in the words of PostgreSQL: one statement a kind, whose keys are lists."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.store.sql import statements as sql
from sayso.store.sql.ahead import ReadAhead, ReadKind

Said = tuple[str, Sequence[object]]
"""A statement and its parameters."""

METAS = 'SELECT "name", "value" FROM meta WHERE "name" = ANY (?)'
_SESSIONS = sql.SESSION.replace(
    "id = ?",
    'id IN (SELECT unnest(?::text[]) COLLATE "C" UNION SELECT session FROM calls WHERE id = ANY (?))',
)


def _each(select: str, table: str, width: int, where: str) -> str:
    """The rows of this table for each key of so many parts, looked up one by one.

    Given all keys at once, a plan made while the table is small would pass the whole table for them.
    """
    lists = ", ".join(["?::text[]"] * width)
    keys = f"unnest({lists}) AS wanted ({', '.join(('one', 'two', 'three')[:width])})"
    found = f"CROSS JOIN LATERAL (SELECT * FROM {table} WHERE {where} OFFSET 0) AS {table}"  # noqa: S608  only names of this file
    return select.replace(f"FROM {table} WHERE id = ?", f"FROM {keys} {found} ORDER BY {table}.place")


_BY_HOST_ID = ("calls", 2, "session = one AND host_id = two")
_BY_KEY = ("calls", 3, "session = one AND tool = two AND key = three")
_QUESTION_OF = "id IN (SELECT question FROM calls WHERE id = ?)"
# The approvals of calls, of which there are few. Of their questions those are found that are among the newest
# of their session: no index leads from a call to the questions about it that are closed.
_APPROVALS_OF = _each(
    "SELECT id AS approval, session, value AS digest FROM grants WHERE id = ?",
    "grants",
    2,
    "session = one AND kind = 'call' AND value = two",
)
_APPROVALS = sql.QUESTION.replace(
    "id = ?",
    f"""
    id IN (
        SELECT newest.id FROM (SELECT DISTINCT session, digest FROM ({_APPROVALS_OF}) AS each) AS approved
        CROSS JOIN LATERAL (
            SELECT id, digest FROM questions WHERE session = approved.session ORDER BY place DESC LIMIT 64
        ) AS newest WHERE newest.digest = approved.digest
    )
    """,  # noqa: S608  only statements of this file
)
_APPROVAL_SPENDS = f"""
    SELECT approval, "grant", number, spends.session, what, call, at FROM ({_APPROVALS_OF}) AS approved
    LEFT JOIN LATERAL (SELECT * FROM spends WHERE "grant" = approval OFFSET 0) AS spends ON true
    ORDER BY approval, number
"""  # noqa: S608  only statements of this file
_COUNTED = """
    SELECT one, (SELECT COUNT(*) FROM questions WHERE session = one AND state = 'open')
    FROM unnest(?::text[]) AS wanted (one)
"""
AHEAD: dict[ReadKind, str] = {
    "metas": METAS,
    "calls": sql.CALL.replace("id = ?", "id = ANY (?)"),
    "host_ids": _each(sql.CALL, *_BY_HOST_ID),
    "host_questions": sql.QUESTION.replace("id = ?", _each(_QUESTION_OF, *_BY_HOST_ID)),
    "call_keys": _each(sql.CALL, *_BY_KEY),
    "key_questions": sql.QUESTION.replace("id = ?", _each(_QUESTION_OF, *_BY_KEY)),
    "effects": sql.CALL.replace("id = ?", "effect_key = ANY (?) ORDER BY place"),
    "grants": sql.GRANT.replace("id = ?", "id = ANY (?)"),
    "grants_by_key": _each(sql.GRANT, "grants", 3, "session = one AND kind = two AND value = three"),
    "approvals": _APPROVALS,
    "approval_spends": _APPROVAL_SPENDS,
    "reviews": sql.REVIEWS.replace("ORDER BY", "WHERE name = ANY (?) ORDER BY"),
    "open_questions": _each(
        sql.QUESTION, "questions", 2, "session = one AND digest = two AND state = 'open'"
    ),
    "questions": _each(sql.QUESTION, "questions", 2, "session = one AND id = two"),
    "questions_of": _each(sql.QUESTION, "questions", 1, "session = one AND state = 'open'"),
    "counted": _COUNTED,
}
"""What is asked of each kind; every part of its keys is a list of its own. Of sessions: see below."""


def statement_for(read: ReadAhead, calls: list[str]) -> Said:
    """The words for this read: every part of its keys is a list of its own."""
    if read.kind == "sessions":
        return _SESSIONS, (array_of([key[0] for key in read.keys]), array_of(calls))
    return AHEAD[read.kind], _columns(read.keys)


def _columns(keys: Sequence[tuple[object, ...]]) -> tuple[str, ...]:
    return tuple(array_of([*map(str, each)]) for each in zip(*keys, strict=True))


def array_of(texts: Sequence[str]) -> str:
    """An array of these texts as PostgreSQL reads it; psycopg would look at each of them by itself."""
    joined = '","'.join(texts)
    if "\\" in joined or joined.count('"') > 2 * (len(texts) - 1):
        joined = '","'.join([text.replace("\\", r"\\").replace('"', r"\"") for text in texts])
    return f'{{"{joined}"}}' if texts else "{}"
