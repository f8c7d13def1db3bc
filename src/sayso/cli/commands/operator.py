"""The operator's commands: see what is asked and granted, answer, grant, revoke, wait, and the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, optional_session_id, show_or_json
from sayso.cli.operator_name import operator_name
from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy, print_note
from sayso.cli.short_ids import (
    GrantId,
    OneQuestion,
    QuestionId,
    SessionId,
    SessionOption,
    StoreOption,
    WaitedId,
    complete_ids,
    complete_words,
    expand_grant_id,
    expand_open_session_id,
    expand_question_id,
    expand_shown_question_id,
    expand_waited_id,
    open_session_ids,
)
from sayso.core.durations import DAY, GRANT_MINUTES, LONGEST_WAIT, USUAL_WAIT

if TYPE_CHECKING:
    from sayso.gate.gate import Gate

GRANTED, DENIED, TIMED_OUT, NOT_FOUND = 0, 1, 2, 3
NOT_YOURS = 1


def show_inbox(
    question: OneQuestion = None,
    session: SessionOption = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
    plain: Annotated[bool, typer.Option("--plain", help="Print the list, also at a terminal.")] = False,
) -> None:
    """Read and answer open questions on the whole screen, live; or print them, or one in full.

    At a terminal, with the extra `tui`, keys answer; at high risk you type the word allow.
    Elsewhere the list is printed and folds long values; `sayso inbox ID` shows them in full.
    """
    from sayso.cli.views import operator, question_card, review
    from sayso.core import words

    if question is None and not as_json and not plain and _can_show_screen():
        from sayso.cli.inbox.app import InboxApp

        with open_gate_to_act(store, choose_policy(policy, preset, approval)) as gate:
            InboxApp(gate, optional_session_id(gate, session)).run(mouse=False)
        return
    with open_gate_to_look(store, sealed=True) as gate:
        if question is not None:
            one = question_card.load_open_question(gate, expand_shown_question_id(gate, question))
            show_or_json(as_json, one.waiting, question_card.question_detail_lines(one))
            return
        found, changed = operator.load_open_questions(gate, optional_session_id(gate, session))
        notes = [*review.find_waiting_notes(gate), *review.find_decay_notes(gate)]
    for one_changed in changed:
        print_note(words.question_changed(one_changed))
    for note in notes:
        print_note(note)
    show_or_json(as_json, found, operator.question_lines(found))


def approve_question(
    question: QuestionId,
    how: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="HOW",
            help="once, task, temporary, always or remember.",
            autocompletion=complete_words("once", "task", "temporary", "always", "remember"),
        ),
    ] = "once",
    seen: Annotated[
        str | None,
        typer.Option(
            "--seen",
            metavar="DIGEST",
            help="For scripts, at high risk: the digest of the call you have read.",
        ),
    ] = None,
    break_glass: Annotated[
        str | None,
        typer.Option(
            "--break-glass",
            metavar="REASON",
            help="In an emergency, if the policy lets you: allow alone what others must approve.",
        ),
    ] = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve a question: once, for this task, for 15 minutes (temporary) or always (this session).

    At high risk it shows the whole call and asks you to type allow; a script gives the digest
    that `sayso inbox ID` shows. The first answer counts; exit 1 if another one came first.
    Example: sayso approve s_4f.q1 --for task
    """
    from sayso.cli.views import question_card
    from sayso.core.deciding.offers import ANSWERS
    from sayso.core.errors import UnknownAnswer

    if how not in ANSWERS:
        raise UnknownAnswer(f"{how!r} is not a way to approve", hint=f"use one of: {', '.join(ANSWERS)}")
    with open_gate_to_act(store, choose_policy(policy, preset, approval)) as gate:
        question = expand_question_id(gate, question)
        seen = seen or question_card.confirm_at_terminal(gate, question, how)
        _give_answer(gate, question, how, break_glass, seen, as_json, glass=break_glass is not None)


def deny_question(
    question: QuestionId,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="The reason the agent will read.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deny a question. The first answer counts; exit 1 if another one came first."""
    with open_gate_to_act(store) as gate:
        _give_answer(gate, expand_question_id(gate, question), "deny", reason, None, as_json)


def rate_asked(
    question: QuestionId,
    unclear: Annotated[bool, typer.Option("--unclear", help="It was not clear.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a question was clear, after it was answered. `sayso stats` shows the share.

    Your first rating of a question counts. Example: sayso rate s_4f.q1 --unclear
    """
    from sayso.gate.questions.ratings import rate_question

    with open_gate_to_act(store) as gate:
        name = expand_question_id(gate, question)
        rated = rate_question(gate, name, clear=not unclear, by=operator_name())
    said = "clear" if rated.clear else "not clear"
    show_or_json(as_json, rated, [f"{'Rated' if rated.yours else 'You had rated it'} {said}: {name}"])


def wait_for_question(
    question: WaitedId,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0, max=int(LONGEST_WAIT), help=f"At most {LONGEST_WAIT:.0f}."
        ),
    ] = USUAL_WAIT,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Wait for the answer to a question, or to that of a call (op_…).

    Exit 0 granted, 1 denied or cancelled, 2 timed out or expired, 3 not found.
    """
    from sayso.cli.views import operator
    from sayso.gate.open import NoStore
    from sayso.gate.questions.read import UnknownQuestion

    try:
        with open_gate_to_look(store) as gate:
            outcome = operator.wait_for_outcome(gate, expand_waited_id(gate, question), timeout)
    except NoStore as error:
        print_note(error.message)
        outcome = operator.WaitOutcome(question, "not_found")
    except UnknownQuestion:
        outcome = operator.WaitOutcome(question, "not_found")
    show_or_json(as_json, outcome, [operator.outcome_line(outcome)])
    codes = {"granted": GRANTED, "timeout": TIMED_OUT, "expired": TIMED_OUT, "not_found": NOT_FOUND}
    raise typer.Exit(codes.get(outcome.status, DENIED))


def show_grants(
    session: SessionOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List live grants: for how long, by whom, and how often used."""
    from sayso.cli.views import grants
    from sayso.gate.sessions.operator_grants import list_grants, one_for_each_answer

    with open_gate_to_look(store, sealed=True) as gate:
        found = one_for_each_answer(gate, list_grants(gate, optional_session_id(gate, session)))
        arguments = grants.load_pinned_arguments(gate, found)
    show_or_json(as_json, found, grants.grant_lines(found, arguments))


def grant_ahead(
    session: SessionId,
    operation: Annotated[str | None, typer.Option(metavar="NAME", help="For example files.edit.")] = None,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="For the task under way.")] = None,
    command: Annotated[str | None, typer.Option(metavar="LINE", help="A command, word for word.")] = None,
    risk: Annotated[
        str | None, typer.Option(metavar="RISK", help="Up to low, moderate or high risk.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(metavar="N", help="At most 1440, which is 24 hours.")
    ] = GRANT_MINUTES,
    uses: Annotated[int | None, typer.Option(metavar="N", help="Unlimited if left out.")] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Only through this tool.")] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only on these targets.")] = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Grant an operation, a category or a command before anybody asks for it.

    Example: sayso grant s_4f --operation files.edit --minutes 30
    """
    from sayso.cli.views import grants
    from sayso.core.grants import Pins
    from sayso.core.model import Risk
    from sayso.gate.sessions.operator_grants import give_grant, list_grants

    level = None if risk is None else Risk.parse(risk)
    pins = Pins(tool=tool, targets=tuple(target) if target else None)
    with open_gate_to_act(store, choose_policy(policy, preset, approval)) as gate:
        session = expand_open_session_id(gate, session)
        given = give_grant(
            gate,
            session,
            by=operator_name(),
            operation=operation,
            category=category,
            command=command,
            risk=level,
            minutes=minutes,
            uses=uses,
            pins=pins,
        )
        (told,) = [one for one in list_grants(gate, session) if one.id == given.id]
    show_or_json(as_json, told, ["Granted:", *grants.grant_lines([told])])


def revoke_grants(
    grant: GrantId = None,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="SESSION",
            help="GRANT is a name in this session: an operation, category, tool, command or call.",
            autocompletion=complete_ids(open_session_ids),
        ),
    ] = None,
    everything: Annotated[
        str | None,
        typer.Option(
            "--all",
            metavar="SESSION",
            help="Everything in this session.",
            autocompletion=complete_ids(open_session_ids),
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a grant, or with --all everything granted to a session and those it started.

    With --session, revoke all consent for what is named; calls under way that it names are not continued.
    """
    from sayso.cli.views import grants
    from sayso.core.errors import MalformedRequest
    from sayso.gate.sessions.operator_grants import revoke_all, revoke_grant
    from sayso.gate.sessions.revoke import revoke_by_name

    if (grant is None) == (everything is None) or (session and everything):
        raise MalformedRequest("name a grant, or a session with --all", hint="sayso grants lists them")
    with open_gate_to_act(store) as gate:
        if grant is not None and session is not None:
            ended = revoke_by_name(gate, expand_open_session_id(gate, session), grant, operator_name())
        elif grant is not None:
            ended = [revoke_grant(gate, expand_grant_id(gate, grant), operator_name())]
        else:
            ended = revoke_all(gate, expand_open_session_id(gate, str(everything)), operator_name())
    show_or_json(as_json, ended, grants.revocation_lines(ended))


def show_stats(
    session: SessionOption = None,
    days: Annotated[float | None, typer.Option(metavar="N", min=0, help="Only the last N days.")] = None,
    charts: Annotated[
        bool, typer.Option("--charts", help="Also draw bars by hour, agent and category.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how often people are asked, how often earlier answers avoided it, and how they answer."""
    import time

    from sayso.cli.views import figures, operator
    from sayso.core.errors import MalformedRequest
    from sayso.gate.figures.charts import compute_figures_and_charts
    from sayso.gate.figures.figures import compute_figures
    from sayso.gate.gate import with_policy
    from sayso.gate.policy.acting_policy import load_last_whole_policy

    since = 0.0 if days is None else time.time() - days * DAY
    if charts and session is not None:
        raise MalformedRequest("charts are of all sessions", hint="leave --session or --charts out")
    with open_gate_to_look(store) as gate:
        if charts:
            named = with_policy(gate, load_last_whole_policy(gate))  # it knows the categories
            found, drawn = compute_figures_and_charts(named, since=since)
            lines = [*operator.figure_lines(found), *figures.chart_lines(drawn)]
            show_or_json(as_json, {"figures": found, "charts": drawn}, lines)
            return
        found = compute_figures(gate, session=optional_session_id(gate, session), since=since)
    show_or_json(as_json, found, operator.figure_lines(found))


def _can_show_screen() -> bool:
    """Return whether there is a terminal that a whole screen can be drawn on, and what draws it."""
    import os
    import sys
    from importlib.util import find_spec

    at_terminal = all(one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr))
    return at_terminal and os.environ.get("TERM", "dumb") != "dumb" and find_spec("textual") is not None


def _give_answer(
    gate: Gate,
    question: str,
    given: str,
    reason: str | None,
    seen: str | None,
    as_json: bool,
    *,
    glass: bool = False,
) -> None:
    from sayso.cli.views import operator
    from sayso.gate.people.answerers import at_terminal
    from sayso.gate.questions.answer import answer_question

    who, by = at_terminal(operator_name()), operator_name()
    stands = answer_question(gate, question, given, by=by, reason=reason, seen=seen, who=who, glass=glass)
    show_or_json(as_json, stands, [operator.stands_line(stands)])
    raise typer.Exit(0 if stands.yours or stands.answer == given else NOT_YOURS)
