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
_PAIRS = "(SELECT * FROM unnest(?::text[], ?::text[]))"
_TRIPLES = "(SELECT * FROM unnest(?::text[], ?::text[], ?::text[]))"
_BY_HOST_ID = f"(session, host_id) IN {_PAIRS}"
_BY_KEY = f"(session, tool, key) IN {_TRIPLES}"
_ASKED_BY = "id IN (SELECT question FROM calls WHERE {})"
# The approvals of calls, of which there are few. Of their questions those are found that are among the newest
# of their session: no index leads from a call to the questions about it that are closed.
_APPROVED = """
    SELECT grants.id AS approval, grants.session, grants.value AS digest FROM grants
    WHERE kind = 'call' AND (session, value) IN (SELECT * FROM unnest(?::text[], ?::text[])) OFFSET 0
"""
_APPROVALS = sql.QUESTION.replace(
    "WHERE id = ?",
    f"""
    WHERE id IN (
        SELECT newest.id FROM (SELECT DISTINCT session, digest FROM ({_APPROVED}) AS each) AS approved
        CROSS JOIN LATERAL (
            SELECT id, digest FROM questions WHERE session = approved.session ORDER BY place DESC LIMIT 64
        ) AS newest WHERE newest.digest = approved.digest
    )
    """,  # noqa: S608  only statements of this file
)
_APPROVAL_SPENDS = f"""
    SELECT approval, "grant", number, spends.session, what, call, at FROM ({_APPROVED}) AS approved
    LEFT JOIN spends ON "grant" = approval ORDER BY approval, number
"""  # noqa: S608  only statements of this file
_ASKED = """
    SELECT session, since, (
        SELECT COUNT(*) FROM questions WHERE questions.session = asked.session AND state = 'open'
    ), ARRAY (
        SELECT opened_at FROM questions WHERE questions.session = asked.session AND opened_at >= since
    ) FROM (
        SELECT session, extract(epoch FROM transaction_timestamp())::float8 - seconds AS since
        FROM unnest(?::text[], ?::float8[]) AS wanted (session, seconds)
    ) AS asked
"""
_STATEMENTS: dict[ReadKind, str] = {
    "metas": METAS,
    "calls": sql.CALL.replace("id = ?", "id = ANY (?)"),
    "host_ids": sql.CALL.replace("id = ?", f"{_BY_HOST_ID} ORDER BY place"),
    "host_questions": sql.QUESTION.replace("id = ?", _ASKED_BY.format(_BY_HOST_ID)),
    "call_keys": sql.CALL.replace("id = ?", f"{_BY_KEY} ORDER BY place"),
    "key_questions": sql.QUESTION.replace("id = ?", _ASKED_BY.format(_BY_KEY)),
    "effects": sql.CALL.replace("id = ?", "effect_key = ANY (?) ORDER BY place"),
    "grants": sql.GRANT.replace("id = ?", "id = ANY (?)"),
    "grants_by_key": sql.GRANT.replace("id = ?", f"(session, kind, value) IN {_TRIPLES} ORDER BY place"),
    "all_grants": sql.GRANT.replace("id = ?", "session = ANY (?) ORDER BY place"),
    "all_questions": sql.QUESTION.replace("id = ?", "state = 'open' AND session = ANY (?) ORDER BY place"),
    "approvals": _APPROVALS,
    "approval_spends": _APPROVAL_SPENDS,
    "reviews": sql.REVIEWS.replace("ORDER BY", "WHERE name = ANY (?) ORDER BY"),
    "open_questions": sql.QUESTION.replace(
        "id = ?", f"state = 'open' AND (session, digest) IN {_PAIRS} ORDER BY place"
    ),
    "asked": _ASKED,
}


def statement_for(read: ReadAhead, calls: list[str]) -> Said:
    """The words for this read: every part of its keys is a list of its own."""
    if read.kind == "sessions":
        return _SESSIONS, (array_of([key[0] for key in read.keys]), array_of(calls))
    return _STATEMENTS[read.kind], _columns(read.keys)


def _columns(keys: Sequence[tuple[object, ...]]) -> tuple[str, ...]:
    return tuple(array_of([*map(str, each)]) for each in zip(*keys, strict=True))


def array_of(texts: Sequence[str]) -> str:
    """An array of these texts as PostgreSQL reads it; psycopg would look at each of them by itself."""
    joined = '","'.join(texts)
    if "\\" in joined or joined.count('"') > 2 * (len(texts) - 1):
        joined = '","'.join([text.replace("\\", r"\\").replace('"', r"\"") for text in texts])
    return f'{{"{joined}"}}' if texts else "{}"
