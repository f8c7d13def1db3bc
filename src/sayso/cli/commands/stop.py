"""`sayso stop` and `sayso resume`: stop a session or all of them, and let them go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, show_or_json
from sayso.cli.options import JsonOption
from sayso.cli.short_ids import OneSession, OneStoppedSession, StoreOption, expand_open_session_id
from sayso.core.text.counts import count_of

if TYPE_CHECKING:
    from sayso.gate.sessions.stop import Stopped

AllOption = Annotated[bool, typer.Option("--all", help="Every open session.")]


def stop_sessions(
    session: OneSession = None,
    everything: AllOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a session, or all of them with --all: calls not yet started ask, and unused consent ends.

    Open questions are cancelled. The allowlist stays but does not apply. `sayso resume` lifts the stop.
    The service goes on; `sayso serve --stop` stops it.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.sessions.stop import stop_all_and_tell, stop_session

    _check_one(session, everything)
    with open_gate_to_act(store) as gate:
        if session is None:
            done = stop_all_and_tell(gate, by=operator_name())
            lines = [_describe_stop(done.stopped, done.tampered, done.settled)]
            lines += [line for one in done.cleared for line in _format_cleared(one)]
            show_or_json(as_json, done, lines)
            return
        one = stop_session(gate, expand_open_session_id(gate, session), by=operator_name())
    head = f"Was stopped already: {one.session}" if one.already else f"Stopped: {one.session}"
    cleared = one.cleared[1:] if one.already else one.cleared  # the first line says what a stop clears
    show_or_json(as_json, one, [head, *(f"  cleared: {each}" for each in cleared)])


def resume_sessions(
    session: OneStoppedSession = None,
    everything: AllOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resume a stopped session, or all of them with --all. What the stop cleared stays cleared."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.sessions.stop import resume_all, resume_session

    _check_one(session, everything)
    with open_gate_to_act(store) as gate:
        if session is None:
            done = resume_all(gate, by=operator_name())
            show_or_json(as_json, done, [_describe_resume(done.resumed, done.tampered, done.busy)])
            return
        one = resume_session(gate, expand_open_session_id(gate, session), by=operator_name())
    lines = [f"Was not stopped: {one.session}" if one.already else f"Resumed: {one.session}"]
    if one.held_by is not None:
        lines.append(f"  It still asks for everything: {one.held_by}, which started it, is stopped.")
    show_or_json(as_json, one, lines)


def _check_one(session: str | None, everything: bool) -> None:
    from sayso.core.errors import MalformedRequest

    if session is not None and everything:
        raise MalformedRequest(
            "a session is named, and --all is said: which of the two?", hint="leave one of them out"
        )
    if session is None and not everything:
        raise MalformedRequest(
            "name a session, or use --all",
            hint="`sayso sessions` lists them; `sayso serve --stop` stops the service",
        )


def _describe_stop(stopped: int, tampered: int, settled: bool) -> str:
    words = f"Stopped: {count_of(stopped, 'session')}."
    if tampered:
        words += f" {count_of(tampered, 'session')} tampered with: nothing is decided there."
    return words if settled else f"{words} More were opened meanwhile, or are held: stop them again."


def _describe_resume(resumed: int, tampered: int, busy: int) -> str:
    words = f"Resumed: {count_of(resumed, 'session')}."
    if tampered:
        words += f" {count_of(tampered, 'session')} tampered with: nothing is decided there."
    return f"{words} {count_of(busy, 'session')} busy: try again." if busy else words


def _format_cleared(one: Stopped) -> list[str]:
    """Return the consent a session lost; the first line of `cleared` only says how far it reached."""
    return [f"  {one.session}", *(f"    cleared: {each}" for each in one.cleared[1:])]
