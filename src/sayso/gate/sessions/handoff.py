"""Hand-off: the allowlist of one context for the next, if the user says yes at both ends.

- Sayso asks the user; only a yes heard right after saves or loads, in the transaction of that message.
- What is saved or loaded is exactly what was shown. If it has changed since, nothing happens.
- It is bound to user, agent and workspace, sealed, loadable once, and only within 24 hours.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.conversation import words
from sayso.core.conversation.hear import allowlist_entry, list_allowlist_entries
from sayso.core.digest import encode_canonical, sha256
from sayso.core.durations import DAY
from sayso.core.effects import AllowlistHandedOff, Effect, GrantAdded, SessionChanged
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.session import PendingPrompt, Session
from sayso.core.words import visible
from sayso.gate.gate import Gate, apply_and_save, load_open_session, select_all_rows, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import LoadedSession
from sayso.gate.sealed_values import find_value, value_name, write_value
from sayso.store.contract import Reader, Writer

SAVE = words.SAVE_ALLOWLIST


class NotAgreed(SaysoError):
    """Nobody said yes to the hand-off that was asked for."""

    code = "not_agreed"


class Command(msgspec.Struct, frozen=True):
    command: str
    risk: Risk


class Handoff(msgspec.Struct, frozen=True):
    """A saved allowlist: the commands with their risks, when, by which session. `taken`: it was loaded."""

    commands: tuple[Command, ...]
    at: float
    session: str = ""
    taken: bool = False


_encode = msgspec.json.Encoder().encode


def ask_to_save_handoff(gate: Gate, session: str) -> str | None:
    """Return the question to ask before a context is renewed; None if there is nothing to save.

    The next message answers it.
    """
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, select_all_rows())
        entries = list_allowlist_entries(found.session, tx.now)
        if not entries:
            return None
        _ask(gate, tx, found, "save", _listing(_commands(found.session, tx.now)))
    return f"{words.allowlist_block(entries, with_risk=True)}\n\n{SAVE}"


def ask_to_load_handoff(gate: Gate, session: str) -> str | None:
    """What was saved for this context, and whether to load it, for the next message to answer; else None."""
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, select_all_rows())
        saved = _load_handoff(gate, tx, found)
        if saved is None:
            return None
        _ask(gate, tx, found, "load", _listing(saved.commands))
    lines = [f"- {visible(one.command)} ({one.risk.word})" for one in saved.commands]
    return "\n".join(["Saved session allowlist:", *lines, "", words.LOAD_ALLOWLIST])


def apply_handoff(
    gate: Gate, tx: Writer, found: LoadedSession, session: Session, agreed: AllowlistHandedOff
) -> tuple[Effect, ...] | None:
    """Do what the user has just said yes to; `session` is as their message left it.

    Returns the new grants; None if what was shown is not what there is by now.
    """
    if agreed.way == "save":
        return () if _save(gate, tx, found, session, agreed.shown) else None
    return _load_commands(gate, tx, found, session, agreed.shown)


def check_handoff_saved(gate: Gate, session: str) -> None:
    """Make sure that the allowlist was saved. Only the user's yes saves it: without one, NotAgreed."""
    with gate.store.read() as tx:
        found = load_open_session(gate, tx, session, select_all_rows())
        saved = _load_handoff(gate, tx, found)
        kept = _listing(_commands(found.session, tx.now))
    if saved is None or saved.session != session or _listing(saved.commands) != kept:
        raise NotAgreed(
            "the user has not said yes to saving the allowlist",
            hint="show the user what offer_handoff returns, and hear their answer",
        )


def list_loaded_commands(gate: Gate, session: str) -> tuple[str, ...]:
    """The commands that a yes of the user has loaded into this session. NotAgreed if they still wait."""
    with gate.store.read() as tx:
        found = load_open_session(gate, tx, session, select_all_rows())
        entries = list_allowlist_entries(found.session, tx.now)
        taken = tuple(held.grant.value for held in entries if held.grant.given_by == FROM_BEFORE)
        if not taken and _load_handoff(gate, tx, found) is not None:
            raise NotAgreed(
                "the user has not said yes to loading the saved allowlist",
                hint="show the user what show_handoff returns, and hear their answer",
            )
    return taken


FROM_BEFORE = "user, in an earlier context"


def _ask(gate: Gate, tx: Writer, found: LoadedSession, way: str, listing: str) -> None:
    """The question is put to the user, for the very next message of theirs to answer."""
    pending = PendingPrompt(way, found.session.turn, sha256(listing.encode()))
    apply_and_save(gate, tx, found, (SessionChanged(pending=pending),))
    record(tx, events.HandoffAsked(way), session=found.session.id, stream=gate.stream)


def _save(gate: Gate, tx: Writer, found: LoadedSession, session: Session, shown: str) -> bool:
    commands = _commands(session, tx.now)
    if not commands or sha256(_listing(commands).encode()) != shown:
        return False
    saved = Handoff(commands, tx.now, session.id)
    write_value(gate, tx, _value_name(found), saved, until=saved.at + DAY)
    record(tx, events.HandoffSaved(len(commands)), session=session.id, stream=gate.stream)
    return True


def _load_commands(
    gate: Gate, tx: Writer, found: LoadedSession, session: Session, shown: str
) -> tuple[Effect, ...] | None:
    saved = _load_handoff(gate, tx, found)
    if saved is None or sha256(_listing(saved.commands).encode()) != shown:
        return None
    write_value(gate, tx, _value_name(found), Handoff((), saved.at, taken=True), until=saved.at + DAY)
    policy, now = gate.policy, tx.now
    record(tx, events.HandoffTaken(len(saved.commands)), session=session.id, stream=gate.stream)
    return tuple(
        GrantAdded(allowlist_entry(session, one.command, one.risk, policy, now, by=FROM_BEFORE, after=number))
        for number, one in enumerate(saved.commands)
    )


def _commands(session: Session, now: float) -> tuple[Command, ...]:
    return tuple(Command(held.grant.value, held.grant.risk) for held in list_allowlist_entries(session, now))


def _listing(commands: tuple[Command, ...]) -> str:
    return _encode(commands).decode()


def _load_handoff(gate: Gate, tx: Reader, found: LoadedSession) -> Handoff | None:
    """Return the allowlist saved for the next context, if it is untampered and less than a day old."""
    saved = find_value(gate, tx, _value_name(found), Handoff)
    if saved is None or saved.taken:
        return None
    return saved if 0 <= tx.now - saved.at < DAY else None


def _value_name(found: LoadedSession) -> str:
    """Return the name it is saved under: it belongs to a user, an agent and a workspace, not to a session."""
    whose = {"user": found.row.user, "agent": found.row.agent, "workspace": found.row.workspace}
    return value_name("handoff", sha256(encode_canonical(whose)))
