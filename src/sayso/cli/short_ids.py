"""Ids that people type: as long as they like, as short as is unique, and offered by shell completion.

- What is typed whole is taken as it is.
- Otherwise the one id that begins so is meant; of a question or a grant also `s_4f.q1`, with its session
  shortened. Those that are closed by now count as well: a short id never comes to mean another thing because
  the one it meant is over. Only to be looked at, the one question that is open is enough.
- Where several fit, nothing is done, and they are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.store.contract import GrantRow, Reader, SessionRow

LEAST = 3
"""How many characters a shortened id has at least."""
LISTS_OPEN = "`sayso sessions` lists those that are open"
MOST_LISTED = 10
MOST_OFFERED = 100
PAGE = 1_000
CHANGED = "tampered with"
"""The word about whatever is not as its gate left it: it says nothing that somebody else may have written."""

ListIds = Callable[["Gate"], Iterable[tuple[str, str]]]
"""Every id of a kind, each with a word about it."""


def expand_session_id(gate: Gate, typed: str) -> str:
    return _expand_id(gate, typed, "session", lambda tx: tx.session(typed), session_ids)


def expand_open_session_id(gate: Gate, typed: str) -> str:
    """The session meant, for what can only be done in one that is open."""
    from sayso.core.words import visible
    from sayso.gate.gate import UnknownSession

    name = expand_session_id(gate, typed)
    with gate.store.read() as tx:
        row = tx.session(name)
    if row is None:
        raise UnknownSession(f"there is no session {visible(typed)}", hint=LISTS_OPEN)
    if row.ended_at is not None:
        raise UnknownSession(f"session {name} has ended: nothing can be done in it", hint=LISTS_OPEN)
    return name


def expand_question_id(gate: Gate, typed: str) -> str:
    return _expand_id(gate, typed, "question", lambda tx: tx.question(typed), question_ids)


def expand_waited_id(gate: Gate, typed: str) -> str:
    """The question meant: by its own id, or by that of the call that waits for it."""
    if not typed.startswith("op_"):
        return expand_question_id(gate, typed)
    name = expand_call_id(gate, typed)
    with gate.store.read() as tx:
        row = tx.call(name)
    return typed if row is None or row.question is None else row.question


def expand_shown_question_id(gate: Gate, typed: str) -> str:
    """The question meant, to be looked at: where several fit, the only one of them that is open."""
    still = [name for name, _ in open_question_ids(gate) if len(typed) >= LEAST and shortens_id(name, typed)]
    return still[0] if len(still) == 1 else expand_question_id(gate, typed)


def expand_grant_id(gate: Gate, typed: str) -> str:
    """The grant meant. A session is none, even if it holds only one grant."""
    from sayso.core.errors import MalformedRequest
    from sayso.core.words import visible

    if (
        "." not in typed
        and len(typed) >= LEAST
        and any(shortens_id(name, typed) for name, _ in session_ids(gate))
    ):
        raise MalformedRequest(
            f"{visible(typed)} is a session, and no grant",
            hint=f"`sayso revoke --all {visible(typed)}` takes back all that it was granted",
        )
    return _expand_id(gate, typed, "grant", lambda tx: tx.grant(typed), grant_ids)


def expand_call_id(gate: Gate, typed: str) -> str:
    return _expand_id(gate, typed, "call", lambda tx: tx.call(typed), call_ids)


def expand_token_id(gate: Gate, typed: str) -> str:
    return _expand_id(gate, typed, "token", lambda tx: None, token_ids)


def expand_passkey_id(gate: Gate, typed: str) -> str:
    return _expand_id(gate, typed, "passkey", lambda tx: None, passkey_ids)


def session_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    """Every session, those that ended among them."""
    after = ""
    with gate.store.read() as tx:
        while page := tx.sessions(open_only=False, after=after, limit=PAGE):
            yield from ((row.id, _about_session(gate, row)) for row in page)
            after = page[-1].id


def question_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    """Every question, those that are closed among them."""
    from sayso.gate.questions.read import questions_in

    after = ""
    with gate.store.read() as tx:
        while page := tx.questions(state=None, after=after, limit=PAGE):
            sound = {one.row.id: one.row.state for one in questions_in(gate, tx, page)}
            yield from ((row.id, sound.get(row.id, CHANGED)) for row in page)
            after = page[-1].id


def grant_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    """Every grant that has not expired, those that are used up or revoked among them."""
    after = ""
    with gate.store.read() as tx:
        while page := tx.grants_ending_after(tx.now, after=after, limit=PAGE):
            yield from ((row.id, _about_grant(gate, row)) for row in page)
            after = page[-1].id


def live_grants(gate: Gate) -> Iterator[tuple[str, str]]:
    """The grants that still allow something."""
    from sayso.gate.sessions.operator_grants import list_grants

    yield from ((one.id, one.words) for one in list_grants(gate))


def call_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    from sayso.core.ledger import STATES
    from sayso.gate.call_rows import sound_call

    with gate.store.read() as tx:
        for row in tx.calls(states=STATES, limit=1_000_000):
            yield row.id, CHANGED if sound_call(gate, tx, row) is None else row.state


def token_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    from sayso.gate.people.tokens import list_tokens

    yield from ((one.id, f"{one.role} {one.name}") for one in list_tokens(gate))


def passkey_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    from sayso.gate.people.passkeys import list_passkeys

    yield from ((one.id, f"{one.name} of {one.user}") for one in list_passkeys(gate))


def _about_session(gate: Gate, row: SessionRow) -> str:
    """A word about it. One that ended is that whatever its row says else: nothing can be done with it."""
    if row.ended_at is not None:
        return "ended"
    known = gate.sealer.open_session(row) or gate.sealer.void_session(row)
    return CHANGED if known is None else row.agent


def _about_grant(gate: Gate, row: GrantRow) -> str:
    known = gate.sealer.open_grant(row) is not None or gate.sealer.is_void(row)
    if not known:
        return CHANGED
    return "approval of one call" if row.kind == "call" else f"{row.kind} {row.value}"


def _expand_id(gate: Gate, typed: str, noun: str, named: Callable[[Reader], object], every: ListIds) -> str:
    """The one id meant; what fits none is given back, for whoever looks it up to say so."""
    from sayso.core.errors import MalformedRequest
    from sayso.core.words import visible

    with gate.store.read() as tx:
        if named(tx) is not None:
            return typed
    found = {name: about for name, about in every(gate) if shortens_id(name, typed)}
    if typed in found or not found:
        return typed
    if len(found) == 1 and len(typed) >= LEAST:
        return next(iter(found))
    still = [name for name, about in found.items() if about == "open"]
    first = sorted(found.items(), key=lambda one: one[0] not in still)
    listed = [f"{name} ({visible(about)})" for name, about in first[:MOST_LISTED]]
    more = [f"and {len(found) - MOST_LISTED} more"] if len(found) > MOST_LISTED else []
    many = f"may be any of {len(found)} {noun}s" if len(found) > 1 else f"is too short for a {noun}"
    one_open = f", of which {still[0]} is open" if len(found) > 1 and len(still) == 1 else ""
    raise MalformedRequest(
        f"{visible(typed)} {many}{one_open}",
        hint="\n        ".join(["type more of it:", *listed, *more]),
    )


def shortens_id(name: str, typed: str) -> bool:
    """Return whether this shortens the id: its start, or the start of its session's id with its number."""
    session, dot, number = typed.partition(".")
    if not dot:
        return name.startswith(typed)
    whole, _, rest = name.partition(".")
    return whole.startswith(session) and rest == number and len(session) >= LEAST


def complete_ids(*kinds: ListIds) -> Callable[[typer.Context, str], list[tuple[str, str]]]:
    """Return a completion for ids of these kinds. It never fails or writes."""

    def complete(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        import os

        try:
            from sayso.core.words import visible
            from sayso.gate.open import open_to_look

            gate = open_to_look(context.params.get("store") or os.environ.get("SAYSO_STORE"))
            try:
                every = (one for kind in kinds for one in kind(gate))
                fit = [(name, visible(about)) for name, about in every if name.startswith(incomplete)]
            finally:
                gate.store.close()
        except Exception:  # noqa: BLE001  there is nobody to tell while they type
            return []
        return fit[-MOST_OFFERED:]

    return complete


def open_session_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    return ((name, about) for name, about in session_ids(gate) if about != "ended")


def open_question_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    return ((name, about) for name, about in question_ids(gate) if about == "open")


def stopped_session_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    """The open sessions that are stopped."""
    from sayso.gate.rows.sessions import RowSelection, load_session

    named = list(open_session_ids(gate))
    with gate.store.read() as tx:
        for name, about in named:
            found = load_session(tx, gate.sealer, name, RowSelection())
            if found is not None and found.session.stopped is not None:
                yield name, about


def ambiguous_call_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    """The calls whose end nobody knows: those of processes that died among them."""
    from sayso.gate.call_rows import sound_call

    with gate.store.read() as tx:
        for row in tx.calls(states=("running", "ambiguous"), limit=1_000_000):
            died = row.state == "running" and row.lease_until is not None and row.lease_until <= tx.now
            if (died or row.state == "ambiguous") and sound_call(gate, tx, row) is not None:
                yield row.id, row.tool


def run_ids(gate: Gate) -> Iterator[tuple[str, str]]:
    """The workflow runs that are not over."""
    from sayso.gate.ledger.workflows import list_workflow_runs

    return ((one.run, one.workflow) for one in list_workflow_runs(gate))


def complete_words(*words: str) -> Callable[[str], list[str]]:
    """Return a completion that offers these words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def _id_argument(metavar: str, listed_by: str, *kinds: ListIds, **more: Any) -> Any:
    words = f"The id that `{listed_by}` lists, or its unique beginning."
    return typer.Argument(metavar=metavar, help=words, autocompletion=complete_ids(*kinds), **more)


StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        envvar="SAYSO_STORE",
        help="A file or postgresql://…; default: your own store.",
    ),
]
SessionOption = Annotated[
    str | None,
    typer.Option(
        "--session", metavar="ID", help="Only this session.", autocompletion=complete_ids(open_session_ids)
    ),
]
SessionId = Annotated[str, _id_argument("SESSION", "sayso sessions", open_session_ids)]
OneStoppedSession = Annotated[str | None, _id_argument("[SESSION]", "sayso sessions", stopped_session_ids)]
OneSession = Annotated[str | None, _id_argument("[SESSION]", "sayso sessions", open_session_ids)]
QuestionId = Annotated[str, _id_argument("ID", "sayso inbox", open_question_ids)]
WaitedId = Annotated[str, _id_argument("ID", "sayso inbox", open_question_ids, call_ids)]
OneQuestion = Annotated[str | None, _id_argument("[ID]", "sayso inbox", open_question_ids)]
GrantId = Annotated[str | None, _id_argument("[GRANT]", "sayso grants", live_grants)]
CallId = Annotated[str, _id_argument("ID", "sayso calls", call_ids)]
AmbiguousCallId = Annotated[str, _id_argument("ID", "sayso calls", ambiguous_call_ids)]
RunId = Annotated[str, _id_argument("ID", "sayso runs", run_ids)]
TokenId = Annotated[str, _id_argument("TOKEN", "sayso token list", token_ids)]
PasskeyId = Annotated[str | None, _id_argument("[PASSKEY]", "sayso passkey list", passkey_ids)]
