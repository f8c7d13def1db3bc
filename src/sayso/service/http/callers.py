"""Whose session a request is about: an agent's own, one the host opened, or any for an operator."""

from __future__ import annotations

from sayso.gate.gate import UnknownSession
from sayso.gate.people.answerers import Answerer, on_page, with_token
from sayso.gate.people.tokens import Token
from sayso.gate.sealed_values import value_name
from sayso.gate.sessions.reopen import open_session_at
from sayso.service.http.auth import BROWSER, BrowserCaller
from sayso.service.http.endpoints import Context
from sayso.store.contract import SessionRow

MOST = 1_000_000


def answerer_of(context: Context) -> Answerer:
    """Return the id of who makes this request: their token's, or the name their browser signed in under."""
    token = context.token
    if isinstance(token, BrowserCaller):
        return on_page(token.id.removeprefix(BROWSER), token.passkey, token.identity)
    return with_token(token.id)


def session_for(context: Context, wanted: str | None) -> str:
    """The session this caller means. One of somebody else's does not exist for them."""
    if context.token.role == "agent":
        own = _open_agent_session(context)
        if wanted not in (None, own):
            raise unknown_session()
        return own
    if wanted is None:
        raise UnknownSession("the request names no session", hint="open one, and name it in the request")
    return own_session(context, wanted)


def own_session(context: Context, wanted: str) -> str:
    """This session, which need not be open any more, if it exists for this caller."""
    if not can_see(context, wanted):
        raise unknown_session()
    return wanted


def unknown_session() -> UnknownSession:
    """One error for what does not exist and for what is somebody else's: the two look the same."""
    return UnknownSession("there is no such session")


def visible_sessions(context: Context, wanted: str | None) -> list[str] | None:
    """The sessions this caller may look at: all (None) for an operator, else their own; or the one wanted."""
    if wanted is not None:
        return [own_session(context, wanted)]
    if context.token.role == "operator":
        return None
    with context.gate.store.read() as tx:
        return [row.id for row in tx.sessions(owner=context.token.id, limit=MOST)]


def visible_owner(context: Context) -> str | None:
    """Return whose sessions this caller may look at: everybody's (None) for an operator, else their own."""
    return None if context.token.role == "operator" else context.token.id


def is_own(context: Context, row: SessionRow | None) -> bool:
    """Return whether the session exists for this caller."""
    if row is None:
        return False
    return context.token.role == "operator" or row.owner == context.token.id


def can_see(context: Context, session: str) -> bool:
    """The same, by its id."""
    with context.gate.store.read() as tx:
        return is_own(context, tx.session(session))


def owns(context: Context, session: str) -> bool:
    """Return whether the session is this caller's own: an operator sees those of others as well."""
    with context.gate.store.read() as tx:
        row = tx.session(session)
    return row is not None and row.owner == context.token.id


def _open_agent_session(context: Context) -> str:
    """An agent's token has one session, opened at its first request; a new one once that has ended."""
    token = context.token
    opened = open_session_at(
        context.gate, agent_session_key(token), owner=token.id, describe=lambda: {"agent": token.name}
    ).session
    context.running.callers.note_session(token, opened)
    return opened


def agent_session_key(token: Token) -> str:
    """The name under which the session of an agent's token is stored."""
    return value_name("session-of", token.id)
