"""Sessions: opened, listed and ended by the host; each belongs to the one who opened it."""

from __future__ import annotations

import os.path
import secrets
from pathlib import Path

from msgspec import UNSET

from sayso.core.audit import events
from sayso.core.effects import ConsentCleared
from sayso.core.session import Session
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, apply_and_save, load_open_session, select_live_rows, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import RowSelection, new_session_row
from sayso.gate.sessions.children import add_child, end_session_row
from sayso.gate.sessions.last_message import forget_last_message


def open_session(
    gate: Gate, *, agent: str, owner: str, user: str = "", workspace: str = "", parent: str | None = None
) -> str:
    """A new session with a clean slate. A child of a session is stopped and cleared with it.

    The workspace is the folder that the name leads to now: one swapped for a link later is not it.
    """
    workspace = os.path.realpath(workspace) if Path(workspace).is_absolute() else workspace
    rooted = Path(workspace).is_absolute() and Path(workspace).is_dir()
    session = Session(id=f"s_{secrets.token_hex(12)}", agent=agent, workspace=workspace, rooted=rooted)
    with writing(gate) as tx:
        if parent is not None:
            above = load_open_session(gate, tx, parent, RowSelection())
            add_child(tx, gate.sealer, above, session.id)
        tx.put_session(
            new_session_row(gate.sealer, session, owner=owner, user=user, parent=parent, now=tx.now)
        )
        opened = events.SessionOpened(owner, user, workspace, parent or "")
        record(tx, opened, session=session.id, agent=agent, stream=gate.stream)
    return session.id


def close_session(gate: Gate, session: str, *, by: str = "") -> None:
    """Everything granted in it ends; it cannot be used again. `by` names the operator, if it was one."""
    with operator_act(gate) if by else writing(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
        apply_and_save(gate, tx, found, (ConsentCleared("everything", "the session ended"),), by=by)
        end_session_row(tx, gate.sealer, session)
        forget_last_message(gate, tx, session)
        ended = events.SessionEnded(by or UNSET)
        record(tx, ended, session=session, agent=found.row.agent, stream=gate.stream)
