"""Hand-off: the allowlist of one context for the next, if the user says yes at both ends.

It is bound to user, agent and workspace, sealed, loadable once, and only within 24 hours.
"""

from __future__ import annotations

import hmac

import msgspec

from sayso.core import words
from sayso.core.digest import canonical, sha256
from sayso.core.effects import Granted
from sayso.core.grants import DAY
from sayso.core.hear import allowlist_entry, allowlisted
from sayso.core.model import Risk
from sayso.gate.gate import Gate, everything, loaded, settle, writing
from sayso.gate.journal import record
from sayso.gate.state import Loaded
from sayso.store.base import Reader

SAVE = "Save session allowlist for next context?"


class Command(msgspec.Struct, frozen=True):
    command: str
    risk: Risk


class Handoff(msgspec.Struct, frozen=True):
    """What was saved: the commands with their risks, when, and the seal over both and whom they are for."""

    commands: tuple[Command, ...]
    at: float
    seal: bytes = b""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Handoff).decode


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
        tx.set_meta(_place(found), _encode(_sealed(gate, found, saved)).decode())
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
        tx.set_meta(_place(found), "")
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
    text = tx.meta(_place(found))
    if not text:
        return None
    saved = _decode(text.encode())
    bare = msgspec.structs.replace(saved, seal=b"")
    ours = hmac.compare_digest(_sealed(gate, found, bare).seal, saved.seal)
    return saved if ours and 0 <= tx.now - saved.at < DAY else None


def _sealed(gate: Gate, found: Loaded, saved: Handoff) -> Handoff:
    mac = gate.sealer.text("handoff", f"{_place(found)}\n{_encode(saved).decode()}")
    return msgspec.structs.replace(saved, seal=mac)


def _place(found: Loaded) -> str:
    """Where it is kept: for whom, not in which session."""
    whose = {"user": found.row.user, "agent": found.row.agent, "workspace": found.row.workspace}
    return f"handoff/{sha256(canonical(whose))}"
