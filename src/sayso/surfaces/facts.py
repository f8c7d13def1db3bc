"""What a person has to know before answering, as plain facts that any surface can lay out."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from sayso.core.decision import Item
from sayso.core.digest import decode
from sayso.core.errors import SaysoError
from sayso.core.model import Call, Origin, Request
from sayso.gate.questions.surface import Asked

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
SHORT = 60
AS_ABOVE = "the command above"


class Fact(msgspec.Struct, frozen=True):
    """One thing to know. `text` may hold anybody's words, so a surface makes it visible.

    A line break in `text` is ours: one that stands in the call is spelled `\\n` before it. `length` is how
    many characters there are to show in truth, however much of them is shown.
    """

    label: str
    text: str
    length: int


def facts_of(asked: Asked, now: float) -> Iterator[Fact]:
    """What runs, what it does and how risky that is, who asks, until when."""
    question = asked.question
    request, call = question.request, question.request.call
    yield _fact("Tool", call.tool)
    if call.command is not None:
        yield _fact("Command", call.command)
    if call.target:
        yield _fact("Target", call.target)
    yield from _arguments(call)
    yield from _place(call)
    if request.workflow is not None and request.workflow not in call.tool:
        yield _fact("Workflow", request.workflow)
    if call.state is not None:
        yield _fact("State now", call.state)
    for item in question.items:
        yield from _operation(item, request)
    for name in question.later:
        yield _fact("Later", f"{name} will be asked with its arguments")
    for piece in question.because:
        yield _fact("Because of", f"{_named(piece.argument)}{json.dumps(piece.text, ensure_ascii=False)}")
    yield from _asker(request)
    yield _fact("Question", f"{question.id}, open {deadline(asked.expires_at, now)}")
    yield _fact("Digest", request.digest)


def arguments_of(call: Call) -> dict[str, Any] | None:
    """The arguments as values, or None if the bytes are not an object in JSON."""
    try:
        found = decode(call.arguments)
    except SaysoError:
        return None
    return found if isinstance(found, dict) else None


def deadline(expires_at: float, now: float) -> str:
    """Until when, by the clock on the wall and in minutes."""
    try:
        clock = time.strftime("%H:%M", time.localtime(expires_at))
        minutes = max(0, round((expires_at - now) / 60))
    except (OverflowError, OSError, ValueError):
        return "without a deadline"
    return f"until {clock} ({minutes} {'minute' if minutes == 1 else 'minutes'})"


def _fact(label: str, foreign: str) -> Fact:
    return Fact(label, foreign.replace("\n", "\\n\n").removesuffix("\n"), len(foreign))


def _arguments(call: Call) -> Iterator[Fact]:
    values = arguments_of(call)
    if values is None:
        yield _fact("Not JSON", call.arguments.decode("utf-8", "backslashreplace"))
        return
    for name, value in values.items():
        if call.command is not None and value == call.command:
            text, length = AS_ABOVE, 0
        else:
            text = _value(value)
            length = len(value) if isinstance(value, str) else len(text)
        yield Fact("Arguments", f"{_named(name)}{text}", length + (len(name) if len(name) > SHORT else 0))


def _named(argument: str | None) -> str:
    """The name that stands before the value of an argument; none before a part of the command."""
    if argument is None:
        return ""
    return f"{argument if PLAIN_NAME.fullmatch(argument) else json.dumps(argument, ensure_ascii=False)}: "


def _value(value: Any) -> str:
    """JSON that reads well: text broken after its own line ends, what is long and nested indented."""
    if isinstance(value, str):
        return (
            '"' + "\\n\n".join(json.dumps(line, ensure_ascii=False)[1:-1] for line in value.split("\n")) + '"'
        )
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= SHORT else json.dumps(value, ensure_ascii=False, indent=2)


def _place(call: Call) -> Iterator[Fact]:
    if call.folder:
        yield _fact("Folder", call.folder)
    if call.workspace and call.workspace != call.folder:
        yield _fact("Workspace", call.workspace)
    if call.leads_to:
        yield _fact("Leads to", call.leads_to)


def _operation(item: Item, request: Request) -> Iterator[Fact]:
    """What it does in the words of its declaration, if there are any, and why that is asked."""
    named = f"{item.operation} ({item.risk.word} risk)"
    said = (one for one in request.operations if one.name == item.operation)
    declared = next((one.found or one.reason for one in said), None)
    if declared is None:
        yield _fact("Does", f"{named}: {item.ruling.reason}")
        return
    yield _fact("Does", f"{named}: {declared}")
    yield _fact("Asked", item.ruling.reason)


def _asker(request: Request) -> Iterator[Fact]:
    call = request.call
    yield _fact("Agent", request.agent)
    if request.origin is not Origin.AGENT:
        yield _fact("Origin", request.origin.value.replace("_", " "))
    yield _fact("Session", request.session)
    yield _fact("Through", call.door + (f", server {call.server}" if call.server else ""))
