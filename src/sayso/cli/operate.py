"""The operator's commands: see what is asked and granted, answer, grant, revoke, wait, and the figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.choice import Approval, Json, PolicyFile, Preset, chosen

if TYPE_CHECKING:
    from sayso.gate.gate import Gate

GRANTED, DENIED, TIMED_OUT, NOT_FOUND = 0, 1, 2, 3
NOT_YOURS = 1

StoreFile = Annotated[
    str | None,
    typer.Option("--store", metavar="FILE", envvar="SAYSO_STORE", help="The store, if not your own."),
]
InSession = Annotated[str | None, typer.Option("--session", metavar="ID", help="Of this session only.")]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="As `sayso sessions` lists it.")]
QuestionId = Annotated[str, typer.Argument(metavar="ID", help="As `sayso inbox` lists it.")]


def inbox(
    session: InSession = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """The questions that wait for an answer, oldest first."""
    from sayso.cli import operating

    with opened_gate(store, policy, preset) as gate:
        questions = operating.open_questions(gate, session)
    _print(as_json, questions, operating.question_lines(questions))


def approve(
    question: QuestionId,
    how: Annotated[
        str, typer.Option("--for", metavar="HOW", help="once, task, temporary, always or remember.")
    ] = "once",
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
    as_json: Json = False,
) -> None:
    """Say yes to a question: once, for this task, for 15 minutes (temporary) or always (this session).

    The first answer stands. Exit 1 if another one did. Example: sayso approve s_4f.q1 --for task
    """
    from sayso.core.errors import UnknownAnswer
    from sayso.core.offers import ANSWERS

    if how not in ANSWERS:
        raise UnknownAnswer(f"{how!r} is no way to approve", hint=f"use one of: {', '.join(ANSWERS)}")
    _answer(question, how, None, opened_gate(store, policy, preset, approval), as_json)


def deny(
    question: QuestionId,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="What the agent gets to read.")
    ] = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
    as_json: Json = False,
) -> None:
    """Say no to a question. The first answer stands; exit 1 if another one did."""
    _answer(question, "deny", reason, opened_gate(store, policy, preset, approval), as_json)


def wait(
    question: QuestionId,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, max=600, help="At most 600.")
    ] = 90.0,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """Wait for the answer to a question.

    Exit 0 granted, 1 denied or cancelled, 2 timed out or expired, 3 not found.
    """
    from sayso.cli import operating
    from sayso.gate.answer import UnknownQuestion

    with opened_gate(store, policy, preset) as gate:
        try:
            outcome = operating.wait(gate, question, timeout)
        except UnknownQuestion:
            outcome = operating.Outcome(question, "not_found")
    _print(as_json, outcome, [operating.outcome_line(outcome)])
    codes = {"granted": GRANTED, "timeout": TIMED_OUT, "expired": TIMED_OUT, "not_found": NOT_FOUND}
    raise typer.Exit(codes.get(outcome.status, DENIED))


def grants(
    session: InSession = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """What is granted now, for how long, by whom, and how often it was used."""
    from sayso.cli import operating
    from sayso.gate.grants import list_grants

    with opened_gate(store, policy, preset) as gate:
        found = list_grants(gate, session)
    _print(as_json, found, operating.grant_lines(found))


def allowlist(
    session: InSession = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """The commands that have standing consent, word for word, session by session."""
    from sayso.cli import operating
    from sayso.gate.grants import list_grants

    with opened_gate(store, policy, preset) as gate:
        found = [one for one in list_grants(gate, session) if one.kind == "command"]
    _print(as_json, found, operating.allowlist_lines(found))


def sessions(
    store: StoreFile = None, policy: PolicyFile = None, preset: Preset = None, as_json: Json = False
) -> None:
    """The sessions that are open: who runs in them, where, on what task."""
    from sayso.cli import operating

    with opened_gate(store, policy, preset) as gate:
        found = operating.open_sessions(gate)
    _print(as_json, found, operating.session_lines(found))


def grant(
    session: SessionId,
    operation: Annotated[str | None, typer.Option(metavar="NAME", help="For example files.edit.")] = None,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="For the task under way.")] = None,
    command: Annotated[str | None, typer.Option(metavar="LINE", help="A command, word for word.")] = None,
    risk: Annotated[
        str | None, typer.Option(metavar="RISK", help="Up to low, moderate or high risk.")
    ] = None,
    minutes: Annotated[float, typer.Option(metavar="N", help="At most 1440, which is 24 hours.")] = 15.0,
    uses: Annotated[int | None, typer.Option(metavar="N", help="Left out: any number.")] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Only through this tool.")] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only on these targets.")] = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
    as_json: Json = False,
) -> None:
    """Grant an operation, a category or a command before anybody asks for it.

    Example: sayso grant s_4f --operation files.edit --minutes 30
    """
    from sayso.cli import operating
    from sayso.core.grants import Pins
    from sayso.core.model import Risk
    from sayso.gate.grants import give_grant, list_grants

    level = None if risk is None else Risk.of(risk)
    pins = Pins(tool=tool, targets=tuple(target) if target else None)
    with opened_gate(store, policy, preset, approval) as gate:
        given = give_grant(
            gate,
            session,
            by=operating.operator(),
            operation=operation,
            category=category,
            command=command,
            risk=level,
            minutes=minutes,
            uses=uses,
            pins=pins,
        )
        (told,) = [one for one in list_grants(gate, session) if one.id == given.id]
    _print(as_json, told, ["Granted:", *operating.grant_lines([told])])


def revoke(
    grant: Annotated[
        str | None, typer.Argument(metavar="[GRANT]", help="As `sayso grants` lists it.")
    ] = None,
    everything: Annotated[
        str | None, typer.Option("--all", metavar="SESSION", help="Everything of this session.")
    ] = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """Take a grant back, or with --all everything that a session and those it started were granted."""
    from sayso.cli import operating
    from sayso.core.errors import MalformedRequest
    from sayso.gate.grants import revoke_all, revoke_grant

    if (grant is None) == (everything is None):
        raise MalformedRequest("name a grant, or a session with --all", hint="sayso grants lists them")
    with opened_gate(store, policy, preset) as gate:
        if grant is not None:
            ended = [revoke_grant(gate, grant, operating.operator())]
        else:
            ended = revoke_all(gate, str(everything), operating.operator())
    _print(as_json, ended, operating.ended_lines(ended))


def stats(
    session: InSession = None,
    days: Annotated[float | None, typer.Option(metavar="N", min=0, help="Of the last N days only.")] = None,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """How often people are asked, how often that was spared, and how they answer."""
    import time

    from sayso.cli import operating
    from sayso.gate.stats import figures

    since = 0.0 if days is None else time.time() - days * operating.DAY
    with opened_gate(store, policy, preset) as gate:
        found = figures(gate, session=session, since=since)
    _print(as_json, found, operating.figure_lines(found))


@contextmanager
def opened_gate(
    store: str | None, policy: Path | None, preset: str | None, approval: str | None = None
) -> Iterator[Gate]:
    from sayso.gate.open import open_gate

    gate = open_gate(chosen(policy, preset, approval), store)
    try:
        yield gate
    finally:
        gate.store.close()


def _answer(
    question: str, given: str, reason: str | None, opened: AbstractContextManager[Gate], as_json: bool
) -> None:
    from sayso.cli import operating
    from sayso.gate.answer import answer_question

    with opened as gate:
        stands = answer_question(gate, question, given, by=operating.operator(), reason=reason)
    _print(as_json, stands, [operating.stands_line(stands)])
    raise typer.Exit(0 if stands.yours or stands.answer == given else NOT_YOURS)


def _print(as_json: bool, value: object, lines: list[str]) -> None:
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(value).decode())
        return
    for line in lines:
        typer.echo(line)
