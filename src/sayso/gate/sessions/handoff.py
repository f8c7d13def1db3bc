"""Hand-off: the allowlist of one context for the next, if the user says yes at both ends.

- Sayso asks the user; only a yes heard right after saves or loads, in the transaction of that message.
- What is saved or loaded is exactly what was shown. If it has changed since, nothing happens.
- It is bound to user, agent and workspace, sealed, loadable once, and only within 24 hours.
- What is taken back before it is loaded, in whichever session of theirs, is taken back from it as well.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.core.audit import events
from sayso.core.conversation import words
from sayso.core.conversation.consents import allowlist_entry, list_allowlist_entries
from sayso.core.conversation.hear import revoke_for_operator, take_back_below
from sayso.core.conversation.withdrawal import FROM_A_YES
from sayso.core.digest import encode_canonical, sha256
from sayso.core.durations import DAY
from sayso.core.effects import (
    AllowlistHandedOff,
    ConsentCleared,
    ConsentTakenBack,
    Effect,
    GrantAdded,
    GrantRevoked,
    SessionChanged,
    Withheld,
)
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.session import PendingPrompt, Session, apply_effects, find_ended_grants
from sayso.core.words import visible
from sayso.gate.gate import Gate, apply_and_save, load_open_session, select_live_rows, writing
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
        found = load_open_session(gate, tx, session, select_live_rows())
        entries = list_allowlist_entries(found.session, tx.now)
        if not entries:
            return None
        _ask(gate, tx, found, "save", _listing(_commands(found.session, tx.now)))
    return f"{words.allowlist_block(entries, with_risk=True)}\n\n{SAVE}"


def ask_to_load_handoff(gate: Gate, session: str) -> str | None:
    """Return the saved allowlist and the question whether to load it; None if there is nothing."""
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
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
        found = load_open_session(gate, tx, session, select_live_rows())
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
        found = load_open_session(gate, tx, session, select_live_rows())
        entries = list_allowlist_entries(found.session, tx.now)
        taken = tuple(held.grant.value for held in entries if held.grant.given_by == FROM_BEFORE)
        if not taken and _load_handoff(gate, tx, found) is not None:
            raise NotAgreed(
                "the user has not said yes to loading the saved allowlist",
                hint="show the user what show_handoff returns, and hear their answer",
            )
    return taken


def end_in_handoff(gate: Gate, tx: Writer, found: LoadedSession, effects: Iterable[Effect]) -> list[str]:
    """Take out of a saved hand-off what these effects take back in a session; what went, in words.

    `found` is the session as it was before them. The saved commands count as entries of a session below it.
    """
    effects = tuple(effects)
    if not any(isinstance(effect, _TAKING_BACK) for effect in effects):
        return []
    saved = _load_handoff(gate, tx, found)
    if saved is None:
        return []
    unsaid = any(isinstance(effect, Withheld) and not effect.forbids for effect in effects)
    left = _commands_left(gate, found.session, saved.commands, effects, tx.now)
    left = () if unsaid and _was_last_yes(gate, tx, saved, found.session.id) else left
    if left == saved.commands:
        return []
    kept = msgspec.structs.replace(saved, commands=left, taken=not left)
    write_value(gate, tx, _value_name(found), kept, until=saved.at + DAY)
    gone = [one.command for one in saved.commands if one not in left]
    return [f"{visible(command)}, saved for the next context" for command in gone]


def _was_last_yes(gate: Gate, tx: Reader, saved: Handoff, session: str) -> bool:
    """Return whether its yes was the last one, so that a no takes it back. What is over was given, too."""
    if saved.session != session:
        return False
    given = [grant for grant in map(gate.sealer.open_grant, tx.grants(session)) if grant is not None]
    return not any(grant.kind in FROM_A_YES for grant in given if grant.given_at > saved.at)


def _commands_left(
    gate: Gate, session: Session, commands: tuple[Command, ...], effects: tuple[Effect, ...], now: float
) -> tuple[Command, ...]:
    below = Session(workspace=session.workspace)
    for one in commands:
        entry = allowlist_entry(below, one.command, one.risk, gate.policy, now)
        below = apply_effects(below, (GrantAdded(entry),))
    for effect in effects:
        if isinstance(effect, ConsentCleared):
            below = apply_effects(below, (effect,))
        elif isinstance(effect, ConsentTakenBack):
            below = apply_effects(below, revoke_for_operator(below, effect.name, gate.policy, now).effects)
        elif isinstance(effect, Withheld) and effect.forbids:
            below = apply_effects(below, take_back_below(below, effect, gate.policy, now).effects)
    ended = {held.grant.value for held in find_ended_grants(session, effects, now)}
    live = {held.grant.value for held in list_allowlist_entries(below, now)} - ended
    return tuple(one for one in commands if one.command in live)


_TAKING_BACK = (ConsentCleared, ConsentTakenBack, GrantRevoked, Withheld)
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
