"""Sessions that outlive the program that opened them, found again by their owner's key.

- A key belongs to one session of one owner. For another owner the same key is another session.
- A session that ended, or is of an earlier epoch of the store, stays over: the next one begins clean.
- The session of a key is a sealed value. One that was tampered with opens nothing.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.digest import encode_canonical, sha256
from sayso.core.errors import MalformedRequest, SaysoError
from sayso.core.ledger import LONGEST_KEY
from sayso.gate.gate import Gate, refuse_tampered, writing
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sealed_values import lock_values, read_value_of_epoch, value_name, write_value
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.store.contract import Reader, SessionRow


class OtherSession(SaysoError):
    """The key's open session differs from what was asked for."""

    code = "other_session"


class KeyedSession(msgspec.Struct, frozen=True):
    """The session of a key: the open one, or a new one, `after` one that has ended."""

    session: str
    reopened: bool = False
    after: str | None = None


class SessionWish(msgspec.Struct, frozen=True):
    """The wanted session; None where the caller named nothing, so that an open one fits."""

    agent: str | None = None
    user: str | None = None
    workspace: str | None = None
    parent: str | None = None


class _KeptSession(msgspec.Struct, frozen=True):
    """The session of a key. Deleting this value does not lead to a new session."""

    name: str


def open_session_by_key(
    gate: Gate, key: str, *, owner: str, asked: SessionWish, agent: str, workspace: Callable[[], str]
) -> KeyedSession:
    """Return the session of this key, or a new one with this agent and workspace if none were named.

    The workspace is looked for only if there is no session yet.
    """
    printable = isinstance(key, str) and key.isprintable()  # a program may pass anything
    if not printable or not 1 <= len(key) <= LONGEST_KEY:
        raise MalformedRequest(f"a session's key is a text of 1 to {LONGEST_KEY} printable characters")

    def describe() -> dict[str, Any]:
        return {
            "agent": asked.agent or agent,
            "user": asked.user or "",
            "workspace": asked.workspace or workspace(),
            "parent": asked.parent,
        }

    opened = open_session_at(gate, place_of_key(owner, key), owner=owner, describe=describe)
    if opened.reopened and asked != SessionWish():
        _check_same(gate, key, opened.session, asked)
    return opened


def place_of_key(owner: str, key: str) -> str:
    """Return the name under which the session of this key is stored."""
    return value_name("session-key", sha256(encode_canonical([owner, key])))


def open_session_at(
    gate: Gate, place: str, *, owner: str, describe: Callable[[], dict[str, Any]]
) -> KeyedSession:
    """Return the open session stored under this name, or a new one. Callers at the same time get the same.

    `describe` tells the fields of a new one, and is asked only for that.
    """
    with gate.store.read() as tx:
        known, _ = _find_kept_session(gate, tx, place, owner)
    if known is not None:
        return KeyedSession(known, reopened=True)
    fresh = open_session(gate, owner=owner, **describe())
    with writing(gate) as tx:
        lock_values(tx, "session-key")  # of several services on one database, one at a time
        known, after = _find_kept_session(gate, tx, place, owner)
        if known is None:
            write_value(gate, tx, place, _KeptSession(fresh))
    if known is None:
        return KeyedSession(fresh, after=after)
    close_session(gate, fresh)  # two at once: one session is enough
    return KeyedSession(known, reopened=True)


def _find_kept_session(gate: Gate, tx: Reader, place: str, owner: str) -> tuple[str | None, str | None]:
    """Return the session stored under this name: first if it is open, second if it has ended.

    One that was tampered with is not replaced.
    """
    held = read_value_of_epoch(gate, tx, place, _KeptSession)
    if held is None:
        return None, None
    found = load_session(tx, gate.sealer, held.name, RowSelection())
    if found is not None and gate.sealer.has_dropped(found.row):
        return None, held.name
    if found is None or not found.believed:
        refuse_tampered(gate, tx, held.name, found)
    open_ = found is not None and found.row.ended_at is None and found.row.owner == owner
    return (held.name, None) if open_ else (None, held.name)


def _check_same(gate: Gate, key: str, session: str, asked: SessionWish) -> None:
    """Refuse a key whose session has another agent, user, workspace or parent than the caller named."""
    with gate.store.read() as tx:
        row = tx.session(session)
    if row is None:
        return
    said = msgspec.structs.asdict(asked)
    if asked.workspace is not None and Path(asked.workspace).is_absolute():
        said["workspace"] = os.path.realpath(asked.workspace)
    other = [name for name, value in said.items() if value is not None and value != _field_of(row, name)]
    if other:
        raise OtherSession(
            f"the key {key!r} belongs to an open session with another {', '.join(other)}",
            hint="use another key, leave that out, or end that session first",
        )


def _field_of(row: SessionRow, name: str) -> object:
    return getattr(row, name)
