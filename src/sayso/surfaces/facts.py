"""Facts a person needs before answering, which any surface can lay out."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.deciding.changes import TextChange, find_change
from sayso.core.decision import Item, Question
from sayso.core.digest import decode_canonical
from sayso.core.durations import describe_left
from sayso.core.errors import SaysoError
from sayso.core.model import Call, Origin, Request
from sayso.core.text.foreign import describe_gaps
from sayso.gate.questions.surface import AskedQuestion

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
SHORT = 60
AS_ABOVE = "the command above"


class QuestionFact(msgspec.Struct, frozen=True):
    """One thing to know. `text` may hold anybody's words, so a surface makes it visible.

    A line break in `text` is ours: one that is in the call is spelled `\\n` before it. `length` is how
    many characters there are to show in truth, however much of them is shown. `parts` of the text made the
    call what it is, and are marked in it.
    """

    label: str
    text: str
    length: int
    parts: tuple[str, ...] = ()


def facts_of(asked: AskedQuestion, now: float) -> Iterator[QuestionFact]:
    """Yield what runs, what it does and how risky that is, who asks, until when."""
    question = asked.question
    request, call = question.request, question.request.call
    yield _make_fact("Tool", call.tool)
    if call.command is not None:
        parts = _parts_of(question, None)
        yield msgspec.structs.replace(_make_fact("Command", call.command), parts=parts)
    if call.target:
        yield _make_fact("Target", call.target)
    yield from _argument_facts(question)
    yield from _place_facts(call)
    if request.workflow is not None and request.workflow not in call.tool:
        yield _make_fact("Workflow", request.workflow)
    if call.state is not None:
        yield _make_fact("State now", call.state)
    for item in question.items:
        yield from _operation_facts(item, request)
    if asked.approvals is not None:
        yield _make_fact("Approvals", asked.approvals)
    for name in question.later:
        yield _make_fact("Later", f"{name} will be asked with its arguments")
    for piece in question.because:
        yield _make_fact(
            "Because of", f"{_argument_prefix(piece.argument)}{json.dumps(piece.text, ensure_ascii=False)}"
        )
    yield from _asker_facts(request)
    yield _make_fact("Question", f"{question.id}, open {format_deadline(asked.expires_at, now)}")
    yield _make_fact("Digest", request.digest)


def decode_arguments(call: Call) -> dict[str, Any] | None:
    """The arguments as values, or None if the bytes are not an object in JSON."""
    try:
        found = decode_canonical(call.arguments)
    except SaysoError:
        return None
    return found if isinstance(found, dict) else None


def format_deadline(expires_at: float, now: float) -> str:
    """Until when, by the clock on the wall, with the date where that is another day; and how long that is."""
    try:
        ends, today = time.localtime(expires_at), time.localtime(now)
        clock = time.strftime("%H:%M" if ends[:3] == today[:3] else "%Y-%m-%d %H:%M", ends)
        left = describe_left(expires_at - now)
    except (OverflowError, OSError, ValueError):
        return "without a deadline"
    return f"until {clock} ({left})"


def _make_fact(label: str, foreign: str) -> QuestionFact:
    return QuestionFact(label, _break_lines(foreign), len(foreign))


def _break_lines(foreign: str) -> str:
    """Foreign text, broken after its own line ends, which are spelled out."""
    return describe_gaps(foreign).replace("\n", "\\n\n").removesuffix("\n")


def _parts_of(question: Question, argument: str | None) -> tuple[str, ...]:
    """The parts of the command, or of an argument, that made the call what is asked, as they are shown."""
    texts = [piece.text for piece in question.because if piece.argument == argument]
    if argument is None:
        return tuple(_break_lines(text) for text in texts if text != question.request.call.command)
    return tuple(_format_value(text)[1:-1] for text in texts)


def _argument_facts(question: Question) -> Iterator[QuestionFact]:
    call = question.request.call
    values = decode_arguments(call)
    if values is None:
        yield _make_fact("Not JSON", call.arguments.decode("utf-8", "backslashreplace"))
        return
    change = find_change(values)
    for name, value in values.items():
        if change is not None and name in change.names:
            continue
        if call.command is not None and value == call.command:
            text, length = AS_ABOVE, 0
        else:
            text = _format_value(value)
            length = len(value) if isinstance(value, str) else len(text)
        length += len(name) if len(name) > SHORT else 0
        yield QuestionFact("Arguments", f"{_argument_prefix(name)}{text}", length, _parts_of(question, name))
    if change is not None:
        yield from _change_facts(change)


def _change_facts(change: TextChange) -> Iterator[QuestionFact]:
    """Yield the change, a fact for each line of it: what is behind a sign of ours is one line of the text."""
    yield QuestionFact("Change", words.change_heading(*change.names), 0)
    for sign, line in change.lines():
        yield QuestionFact("Change", f"{sign} {describe_gaps(line)}", len(line))


def _argument_prefix(argument: str | None) -> str:
    """The name before the value of an argument; none before a part of the command."""
    if argument is None:
        return ""
    return f"{argument if PLAIN_NAME.fullmatch(argument) else json.dumps(argument, ensure_ascii=False)}: "


def _format_value(value: Any) -> str:
    """JSON that reads well: text broken after its own line ends, what is long and nested indented."""
    if isinstance(value, str):
        lines = describe_gaps(value).split("\n")
        return '"' + "\\n\n".join(json.dumps(line, ensure_ascii=False)[1:-1] for line in lines) + '"'
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= SHORT else json.dumps(value, ensure_ascii=False, indent=2)


def _place_facts(call: Call) -> Iterator[QuestionFact]:
    if call.folder:
        yield _make_fact("Folder", call.folder)
    if call.workspace and call.workspace != call.folder:
        yield _make_fact("Workspace", call.workspace)
    if call.leads_to:
        yield _make_fact("Leads to", call.leads_to)


def _operation_facts(item: Item, request: Request) -> Iterator[QuestionFact]:
    """Yield what it does in the words of its declaration, if there are any, and why that is asked."""
    named = f"{item.operation} ({item.risk.word} risk)"
    said = (one for one in request.operations if one.name == item.operation)
    declared = next((one.found or one.reason for one in said), None)
    if declared is None:
        yield _make_fact("Does", f"{named}: {item.ruling.reason}")
        return
    yield _make_fact("Does", f"{named}: {declared}")
    yield _make_fact("Asked", item.ruling.reason)


def _asker_facts(request: Request) -> Iterator[QuestionFact]:
    call = request.call
    yield _make_fact("Agent", request.agent)
    if request.origin is not Origin.AGENT:
        yield _make_fact("Origin", request.origin.value.replace("_", " "))
    yield _make_fact("Session", request.session)
    yield _make_fact("Through", call.door + (f", server {call.server}" if call.server else ""))
