"""Whose session a request is about: an agent's own, one the host opened, or any for an operator."""

from __future__ import annotations

from sayso.gate.gate import UnknownSession
from sayso.gate.sessions import open_session
from sayso.service.endpoints import Context

NONE = "there is no such session"


def session_for(context: Context, wanted: str | None) -> str:
    """The session this caller means. One of somebody else's does not exist for them."""
    if context.token.role == "agent":
        own = _own_session(context)
        if wanted not in (None, own):
            raise UnknownSession(NONE)
        return own
    if wanted is None:
        raise UnknownSession("the request names no session", hint="open one, and name it in the request")
    row = context.door.row(wanted)
    if context.token.role == "host" and row.owner != context.token.id:
        raise UnknownSession(NONE)
    return wanted


def _own_session(context: Context) -> str:
    """An agent's token has one session, opened at its first request; a new one once that has ended."""
    place, token = f"session-of/{context.token.id}", context.token
    with context.gate.store.read() as tx:
        known = tx.meta(place)
        row = tx.session(known) if known else None
    if row is not None and row.ended_at is None and row.owner == token.id:
        return row.id
    opened = open_session(context.gate, agent=token.name, owner=token.id)
    with context.gate.store.write() as tx:
        tx.set_meta(place, opened)
    return opened
