"""Sessions: opened and ended by hosts, seen by operators, and stopped by either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from sayso.core.ledger import BEATEN, LEASE
from sayso.core.model import Assurance
from sayso.gate.call_rows import find_record
from sayso.gate.gate import Gate
from sayso.gate.people.tokens import list_tokens
from sayso.gate.rows.sessions import LoadedSession, RowSelection, load_session
from sayso.gate.sessions import reopen, sessions
from sayso.gate.sessions.operator_grants import ListedGrant, list_live_grants, one_for_each_answer
from sayso.gate.sessions.stop import (
    Resumed,
    ResumedAll,
    Stopped,
    StoppedAll,
    resume_all,
    resume_session,
    stop_all,
    stop_session,
)
from sayso.service.api.asking.question_details import find_known_waits
from sayso.service.api.conversation import ONE_SESSION, assurance_of
from sayso.service.http.callers import own_session, session_for, unknown_session, visible_owner
from sayso.service.http.endpoints import ANY, HOSTS, OPERATORS, Context, Endpoint, Paged
from sayso.service.http.problems import RequestRefused
from sayso.service.shapes import SessionView
from sayso.store.contract import CallRow, Reader

LONGEST = 1_000
PAGE = 200
MOST = 1_000
HEARD_WITHIN = 30.0
"""Three heartbeats missed: whoever holds a call is silent."""
MOST_GRANTS = 1_000
"""How many grants of a session are told with it."""


class SessionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A session to open. It belongs to the token that opens it.

    With a `key`, the session that this key of this token stands for is opened again; one that ended stays
    ended, and a new one begins. It has to be of the agent, user, workspace and parent that are named.
    """

    agent: str = ""
    """What the agent is called; without a name, as the token is."""
    user: str | None = None
    workspace: str | None = None
    parent: str | None = None
    key: str | None = None
    any_agent: bool = False
    """With a key: an open session may be another agent's; `agent` is for a new one."""
    folder: str = ""
    """With a key: the workspace of a new session, where none is named."""


class OpenedSessionView(SessionView, frozen=True):
    """A session that was opened, or opened again by its key."""

    reopened: bool = False
    after: str | None = None
    """The session that the key stood for before, and that has ended."""


class EndedSessionView(msgspec.Struct, frozen=True):
    session: str
    ended: bool = True


def post_session(context: Context) -> OpenedSessionView:
    """A new session with a clean slate; with a key, the one that this key stands for, if it is open."""
    body: SessionBody = context.body
    for text in (body.agent, body.user or "", body.workspace or "", body.folder):
        if len(text) > LONGEST or "\x00" in text:
            raise RequestRefused(422, "malformed", f"names and folders have {LONGEST:,} characters at most")
    parent = None if body.parent is None else session_for(context, body.parent)
    opened = _open_session(context, body, parent)
    told = msgspec.structs.asdict(_load_session_view(context, opened.session))
    return OpenedSessionView(**told, reopened=opened.reopened, after=opened.after)


def _open_session(context: Context, body: SessionBody, parent: str | None) -> reopen.KeyedSession:
    owner, name = context.token.id, body.agent or context.token.name
    if body.key is None:
        opened = sessions.open_session(
            context.gate,
            agent=name,
            owner=owner,
            user=body.user or "",
            workspace=body.workspace or "",
            parent=parent,
        )
        return reopen.KeyedSession(opened)
    agent = None if body.any_agent else name
    asked = reopen.SessionWish(agent, body.user, body.workspace, parent)
    return reopen.open_session_by_key(
        context.gate, body.key, owner=owner, asked=asked, agent=name, workspace=lambda: body.folder
    )


def list_all_sessions(context: Context) -> Paged:
    """A page of the open sessions, oldest first; of hosts and agents, their own."""
    limit, after = context.whole_number("limit", PAGE, 1, MOST), context.query.get("after", "")
    known = _load_facts(context)
    with context.gate.store.read() as tx:
        rows = tx.sessions(owner=visible_owner(context), after=after, limit=limit + 1)
        told = [_describe_session(context, tx, row.id, known) for row in rows[:limit]]
    return Paged(told, {**context.query, "after": told[-1].id} if len(rows) > limit else None)


def get_session(context: Context) -> SessionView:
    return _load_session_view(context, own_session(context, context.parameters["session"]))


def delete_session(context: Context) -> EndedSessionView:
    """Everything granted in it ends, and nothing is decided in it any more."""
    session = session_for(context, context.parameters["session"])
    by = context.token.name if context.token.role == "operator" else ""
    sessions.close_session(context.gate, session, by=by)
    return EndedSessionView(session)


def post_stop(context: Context) -> Stopped:
    """Stop a session without a message of its user: what is not started asks, and unused consent is gone."""
    session = session_for(context, context.parameters["session"])
    operator = context.token.role == "operator"
    assurance = Assurance.ASSURED if operator else assurance_of(context)
    return stop_session(context.gate, session, by=context.token.name, assurance=assurance)


def post_stop_all(context: Context) -> StoppedAll:
    """Stop every open session, and those that are opened meanwhile, as far as that is possible.

    Each is stopped and recorded by itself. It looks again until it finds none it has not stopped, a bounded
    number of times; `settled` says whether that was reached. A session that begins after the last look is not
    stopped.
    """
    return stop_all(context.gate, by=context.token.name)


def post_session_resume(context: Context) -> Resumed:
    """Lift the stop of a session: the policy decides again. What the stop cleared stays cleared.

    `held_by` names a stopped session above it; until that one goes on, this one still asks for everything.
    """
    session = session_for(context, context.parameters["session"])
    return resume_session(context.gate, session, by=context.token.name)


def post_resume_all(context: Context) -> ResumedAll:
    """Lift the stop of every open session."""
    return resume_all(context.gate, by=context.token.name)


class SessionFacts(NamedTuple):
    """Facts about sessions besides their rows: their last signs of life, and the names of tokens."""

    seen: Mapping[str, float]
    names: Mapping[str, str]


def _load_facts(context: Context) -> SessionFacts:
    names = {token.id: token.name for token in list_tokens(context.gate)}
    return SessionFacts(context.running.activity.load_last_times(context.gate), names)


def _load_session_view(context: Context, session: str) -> SessionView:
    known = _load_facts(context)
    with context.gate.store.read() as tx:
        return _describe_session(context, tx, session, known)


def _presence(context: Context, tx: Reader, found: LoadedSession, beat: float | None) -> str:
    """Return the presence of its program: heartbeats that keep a lease, or a connection that waits."""
    if beat is not None and tx.now - beat <= HEARD_WITHIN:
        return "working"
    open_now = (name for name, end in found.kept.questions.items() if tx.now < end)
    asked = (find_known_waits(context, name) for name in open_now)
    if any(waits is not None and waits.now for waits in asked):
        return "waiting"
    return "unknown" if beat is None else "silent"


def _find_last_beat(context: Context, tx: Reader, found: LoadedSession, known: SessionFacts) -> float | None:
    """When somebody last kept the lease of a call of this session; None if no such lease is alive."""
    length = BEATEN if found.row.owner in known.names else LEASE
    running = (tx.call(name) for name, stands in found.kept.calls.items() if stands.startswith("running"))
    ends = [
        row.lease_until or 0.0 for row in running if row is not None and _has_live_lease(context, tx, row)
    ]
    return max(ends) - length if ends else None


def _has_live_lease(context: Context, tx: Reader, row: CallRow) -> bool:
    kept = find_record(context.gate, row)
    return kept is not None and not kept.silent and (row.lease_until or 0.0) > tx.now


def _list_grants_of(gate: Gate, tx: Reader, found: LoadedSession) -> tuple[ListedGrant, ...]:
    return tuple(one_for_each_answer(gate, list_live_grants(gate, tx, found)))


def _describe_session(context: Context, tx: Reader, session: str, known: SessionFacts) -> SessionView:
    gate = context.gate
    alive = tx.grants_ending_after(tx.now, session=session, limit=MOST_GRANTS)
    keys = dict.fromkeys((grant.kind, grant.value) for grant in alive)
    found = load_session(tx, gate.sealer, session, RowSelection(keys=tuple(keys)))
    if found is None:
        raise unknown_session()
    row, task = found.row, found.session.task
    asked = tx.count_open(session) if found.believed else 0
    beat = _find_last_beat(context, tx, found, known) if row.ended_at is None else None
    if beat is not None:
        context.running.activity.note(session, beat)
    seen = [at for at in (known.seen.get(row.id), beat) if at is not None]
    return SessionView(
        id=row.id,
        agent=row.agent,
        owner=row.owner,
        user=row.user,
        workspace=row.workspace,
        parent=row.parent,
        opened_at=row.opened_at,
        turn=found.session.turn,
        task=None if task is None else task.name,
        phase=None if task is None else task.phase,
        stopped=found.session.stopped is not None,
        tampered=not (found.believed or found.void),
        questions=asked,
        presence=_presence(context, tx, found, beat) if row.ended_at is None else "unknown",
        last_seen=max(seen, default=None),
        opened_by=known.names.get(row.owner, ""),
        grants=() if row.ended_at is not None else _list_grants_of(gate, tx, found),
    )


OPEN: Any = list[SessionView]
LISTING = {"after": "Only those after this session.", "limit": f"How many at most, up to {MOST:,}."}
ENDPOINTS = (
    Endpoint(
        "POST", "/v1/sessions", HOSTS, "Open a session", post_session, SessionBody, OpenedSessionView, 201
    ),
    Endpoint("POST", "/v1/sessions/stop", OPERATORS, "Stop every session", post_stop_all, result=StoppedAll),
    Endpoint(
        "POST",
        "/v1/sessions/resume",
        OPERATORS,
        "Resume every stopped session",
        post_resume_all,
        result=ResumedAll,
    ),
    Endpoint(
        "GET", "/v1/sessions", ANY, "List the open sessions", list_all_sessions, result=OPEN, query=LISTING
    ),
    Endpoint("GET", ONE_SESSION, ANY, "Get a session", get_session, result=SessionView),
    Endpoint("DELETE", ONE_SESSION, HOSTS, "End a session", delete_session, result=EndedSessionView),
    Endpoint("POST", f"{ONE_SESSION}/stop", HOSTS, "Stop a session", post_stop, result=Stopped),
    Endpoint(
        "POST",
        f"{ONE_SESSION}/resume",
        OPERATORS,
        "Resume a stopped session",
        post_session_resume,
        result=Resumed,
    ),
)
