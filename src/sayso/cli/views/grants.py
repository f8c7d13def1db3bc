"""Grants as the operator's commands list them: what each is for, its limits and its pins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sayso.cli.views.operator import format_span
from sayso.core.digest import spell_exactly
from sayso.core.text.counts import count_of
from sayso.core.words import visible
from sayso.gate.gate import Gate
from sayso.gate.questions.read import read_question
from sayso.gate.sessions.operator_grants import EndedGrant, ListedGrant

AS_ASKED = "exactly those of the call that was asked about"
NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})


def load_pinned_arguments(gate: Gate, found: Iterable[ListedGrant]) -> dict[str, str]:
    """Of grants that are pinned to exact arguments, those arguments, where the question still shows them."""
    told: dict[str, str] = {}
    with gate.store.read() as tx:
        for one in found:
            row = None if one.question is None or one.pins.arguments is None else tx.question(one.question)
            asked = None if row is None else read_question(gate, tx, row)
            request = None if asked is None else asked.request
            if request is not None and request.arguments_digest == one.pins.arguments:
                told[one.id] = spell_exactly(request.call.arguments)
    return told


def grant_lines(found: Iterable[ListedGrant], arguments: Mapping[str, str] = NO_ARGUMENTS) -> list[str]:
    """Return lines for these grants: subject, limits, pins; with `arguments`, the pinned ones in full."""
    lines: list[str] = []
    for one in found:
        uses = (
            f"used {count_of(one.used, 'time')}"
            if one.uses is None
            else f"used {one.used} of {count_of(one.uses, 'time')}"
        )
        facts = [
            f"up to {one.risk} risk",
            f"{format_span(one.left)} left",
            uses,
            f"given by {visible(one.given_by)}",
        ]
        facts += [f"ends with the {one.ends_with}"] if one.ends_with != "session" else []
        facts += [f"answers {one.question}"] if one.question else []
        lines += [
            f"{one.id}  {one.words}",
            *([] if one.about is None else [f"    for {visible(one.about)}"]),
            f"    {', '.join(facts)}",
            *_pin_lines(one, arguments.get(one.id)),
        ]
    return lines or ["Nothing is granted."]


def _pin_lines(one: ListedGrant, arguments: str | None) -> list[str]:
    """Return one line for each value that a covered call has to match."""
    pins = one.pins
    facts = [
        ("tool", pins.tool),
        ("command", pins.command),
        ("targets", None if pins.targets is None else ", ".join(pins.targets)),
        ("operations", None if pins.operations is None else ", ".join(pins.operations)),
        ("workspace", pins.workspace or None),
        ("folder", pins.folder),
        ("arguments", None if pins.arguments is None else arguments or AS_ASKED),
    ]
    return [f"    only {name}: {visible(text)}" for name, text in facts if text is not None]


def allowlist_lines(found: list[ListedGrant]) -> list[str]:
    lines: list[str] = []
    for session in dict.fromkeys(one.session for one in found):
        lines += [f"Session Allowlist: {session}"]
        lines += [
            f"- {visible(one.value)} (used {count_of(one.used, 'time')})"
            for one in found
            if one.session == session
        ]
    return lines or ["Session Allowlist:", "(empty)"]


def revocation_lines(ended: Iterable[EndedGrant]) -> list[str]:
    lines: list[str] = []
    for one in ended:
        lines.append(f"{'Was over already' if one.already else 'Revoked'}: {one.id}  {one.words}")
        lines += [f"  with it: {beside.id}  {beside.words}" for beside in one.also]
    return lines or ["Nothing was granted; open questions, if any, are cancelled."]
