"""Hand-off: the allowlist of one context for the next, if the user says yes at both ends.

It is bound to user, agent and workspace, sealed, loadable once, and only within 24 hours.
"""

from __future__ import annotations

import msgspec

from sayso.core import words
from sayso.core.digest import canonical, sha256
from sayso.core.effects import Granted
from sayso.core.grants import DAY
from sayso.core.hear import allowlist_entry, allowlisted
from sayso.core.model import Risk
from sayso.gate.gate import Gate, everything, loaded, settle, writing
from sayso.gate.journal import record
from sayso.gate.sealed_values import find_value, write_value
from sayso.gate.state import Loaded
from sayso.store.base import Reader

SAVE = "Save session allowlist for next context?"


class Command(msgspec.Struct, frozen=True):
    command: str
    risk: Risk


class Handoff(msgspec.Struct, frozen=True):
    """What was saved: the commands with their risks, and when. `taken`: it was loaded, and is over."""

    commands: tuple[Command, ...]
    at: float
    taken: bool = False


def offer_handoff(gate: Gate, session: str) -> str | None:
    """What to ask before a context is renewed; None if there is nothing to save."""
    with gate.store.read() as tx:
        found = loaded(gate, tx, session, everything())
        entries = allowlisted(found.session, tx.now)
    return f"{words.allowlist_block(entries, with_risk=True)}\n\n{SAVE}" if entries else None


def save_handoff(gate: Gate, session: str) -> None:
    """The user said yes: keep the allowlist for the next context of the same user, agent and workspace."""
    with writing(gate) as tx:
        found = loaded(gate, tx, session, everything())
        entries = allowlisted(found.session, tx.now)
        commands = tuple(Command(held.grant.value, held.grant.risk) for held in entries)
        saved = Handoff(commands, tx.now)
        write_value(gate, tx, _place(found), saved, until=saved.at + DAY)
        record(tx, "HANDOFF_SAVED", session=session, details={"commands": len(commands)}, stream=gate.stream)


def show_handoff(gate: Gate, session: str) -> str | None:
    """What was saved for this context, to be shown before anybody says yes to it; None if nothing was."""
    with gate.store.read() as tx:
        saved = _saved(gate, tx, loaded(gate, tx, session, everything()))
    if saved is None:
        return None
    lines = [f"- {words.visible(one.command)} ({one.risk.word})" for one in saved.commands]
    return "\n".join(["Saved session allowlist:", *lines, "", "Load it into this session?"])


def take_handoff(gate: Gate, session: str, *, by: str = "user") -> tuple[str, ...]:
    """The user said yes to the list shown: its commands stand on this session's allowlist. It works once."""
    with writing(gate) as tx:
        found = loaded(gate, tx, session, everything())
        saved = _saved(gate, tx, found)
        if saved is None:
            return ()
        write_value(gate, tx, _place(found), Handoff((), saved.at, taken=True), until=saved.at + DAY)
        effects = tuple(
            Granted(
                allowlist_entry(
                    found.session, one.command, one.risk, gate.policy, tx.now, by=by, after=number
                )
            )
            for number, one in enumerate(saved.commands)
        )
        settle(gate, tx, found, effects)
        record(tx, "HANDOFF_TAKEN", session=session, details={"commands": len(effects)}, stream=gate.stream)
    return tuple(one.command for one in saved.commands)


def _saved(gate: Gate, tx: Reader, found: Loaded) -> Handoff | None:
    """What was saved for the next context of this kind, if it is ours and not a day old."""
    saved = find_value(gate, tx, _place(found), Handoff)
    if saved is None or saved.taken:
        return None
    return saved if 0 <= tx.now - saved.at < DAY else None


def _place(found: Loaded) -> str:
    """Where it is kept: for whom, not in which session."""
    whose = {"user": found.row.user, "agent": found.row.agent, "workspace": found.row.workspace}
    return f"handoff/{sha256(canonical(whose))}"
