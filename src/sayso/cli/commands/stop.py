"""`sayso stop` and `sayso resume`: stop a session or all of them, and let them go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.commands.operator import acting, show_or_json
from sayso.cli.policy_choice import Json
from sayso.cli.short_ids import OneSession, StoreFile, whole_session

if TYPE_CHECKING:
    from sayso.gate.sessions.stop import Stopped

All = Annotated[bool, typer.Option("--all", help="Every open session.")]


def stop(
    session: OneSession = None, everything: All = False, store: StoreFile = None, as_json: Json = False
) -> None:
    """Stop a session, or with --all every one: what has not started asks, and unused consent is gone.

    Open questions are cancelled; the allowlist stays, and asks. `sayso resume` lets it go on.
    """
    from sayso.cli.views.operator import operator
    from sayso.gate.sessions.stop import stop_all_and_tell, stop_session

    _check_one(session, everything)
    with acting(store) as gate:
        if session is None:
            done = stop_all_and_tell(gate, by=operator())
            lines = [_stopped_words(done.stopped, done.tampered, done.settled)]
            lines += [line for one in done.cleared for line in _cleared_lines(one)]
            show_or_json(as_json, done, lines)
            return
        one = stop_session(gate, whole_session(gate, session), by=operator())
    head = f"Was stopped already: {one.session}" if one.already else f"Stopped: {one.session}"
    show_or_json(as_json, one, [head, *(f"  cleared: {each}" for each in one.cleared)])


def resume(
    session: OneSession = None, everything: All = False, store: StoreFile = None, as_json: Json = False
) -> None:
    """Let a stopped session go on, or with --all every one. What the stop cleared stays cleared."""
    from sayso.cli.views.operator import operator
    from sayso.gate.sessions.stop import resume_all, resume_session

    _check_one(session, everything)
    with acting(store) as gate:
        if session is None:
            done = resume_all(gate, by=operator())
            show_or_json(as_json, done, [_resumed_words(done.resumed, done.tampered, done.busy)])
            return
        one = resume_session(gate, whole_session(gate, session), by=operator())
    lines = [f"Was not stopped: {one.session}" if one.already else f"Goes on: {one.session}"]
    if one.held_by is not None:
        lines.append(f"  It still asks for everything: {one.held_by}, which started it, is stopped.")
    show_or_json(as_json, one, lines)


def _check_one(session: str | None, everything: bool) -> None:
    from sayso.core.errors import MalformedRequest

    if (session is None) is not everything:
        raise MalformedRequest("name a session, or say --all", hint="sayso sessions lists them")


def _stopped_words(stopped: int, tampered: int, settled: bool) -> str:
    words = f"Stopped: {_sessions(stopped)}."
    if tampered:
        words += f" {_sessions(tampered)} tampered with: nothing is decided there."
    return words if settled else f"{words} More were opened meanwhile, or are held: stop them again."


def _resumed_words(resumed: int, tampered: int, busy: int) -> str:
    words = f"Goes on: {_sessions(resumed)}."
    if tampered:
        words += f" {_sessions(tampered)} tampered with: nothing is decided there."
    return f"{words} {_sessions(busy)} busy: try again." if busy else words


def _cleared_lines(one: Stopped) -> list[str]:
    """What a session lost; the first line of `cleared` only says how far it reached."""
    return [f"  {one.session}", *(f"    cleared: {each}" for each in one.cleared[1:])]


def _sessions(count: int) -> str:
    return f"{count} session{'' if count == 1 else 's'}"
