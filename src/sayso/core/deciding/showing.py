"""What a question shows of a call, and what may be allowed from a view that did not show all of it.

- A question shows all that runs: command or operations, tool, server, workflow, folder, state and every
  argument. Text of the agent is on lines of its own, with every line end spelled out, so none of it can
  pass for a line of ours.
- What was found in the call is told with the part of it that shows it. A change is shown as the lines that go
  and come.
- A long value is folded with its true length. A rendering with a fold is not complete.
- Above moderate risk a yes counts only if whoever gave it names the digest of the call it was shown whole.
- A yes that names another digest counts nowhere.
- An edit that raises the risk above moderate counts only if whoever made it was shown the edited call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.deciding.changes import TextChange, find_change
from sayso.core.decision import Item, Question
from sayso.core.digest import decode_canonical
from sayso.core.errors import NotSeen, SaysoError
from sayso.core.model import Call, Request, Risk
from sayso.core.text.patterns import lazy_pattern

PLAIN_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")


def describe_whole_call(
    request: Request, items: tuple[Item, ...], fold: int | None = words.FOLD_AT, mark: str = "- "
) -> list[str]:
    """The whole call: what would run behind a mark, and beneath it the facts, indented as far as the mark."""
    room = " " * len(mark)
    heads = [f"{mark}{head}" for head in _heads(request.call, items, fold)]
    return [*heads, *(f"{room}{fact}" for fact in _facts(request, items, fold))]


def shows_all(request: Request, items: tuple[Item, ...], others: Iterable[str] = ()) -> bool:
    """Return whether nothing has to be folded of the call, nor of what else is shown with it."""
    whole = describe_whole_call(request, items, fold=None) == describe_whole_call(request, items)
    return whole and all(len(text) <= words.FOLD_AT for text in others)


def digest_seen_in_text(question: Question) -> str | None:
    """Return the digest that a reader of the question's text has seen; None if anything was folded."""
    return question.request.digest if question.complete else None


def is_only_command(call: Call) -> bool:
    """Return whether the command is all there is: every argument, if there are any, is the command itself."""
    try:
        values = msgspec.json.decode(call.arguments, type=dict[str, Any]).values()
    except msgspec.MsgspecError:
        return False
    return all(value == call.command for value in values)


def check_seen(question: Question, seen: str | None, risk: Risk = Risk.LOW) -> None:
    """Refuse to allow more than moderate risk to somebody who was not shown this very call, whole.

    Whoever names another call than the one asked about allows nothing, at any risk. `risk` is that of an
    edited call, which runs in its place.
    """
    digest = question.request.digest
    if seen and seen != digest:
        raise NotSeen(words.wrong_digest_reason(seen, digest), hint=words.where_digest_is(question.id))
    if max(question.risk, risk) > Risk.MODERATE and not seen:
        raise NotSeen(words.NOT_SEEN, hint=words.how_to_see(question.id))


def check_edit_seen(question: Question, digest: str, seen: str | None, risk: Risk) -> None:
    """Refuse an edit that raises the risk above moderate for somebody who was not shown the edited call.

    Whoever names another edited call than this one allows nothing, at any risk.
    """
    if seen and seen != digest:
        raise NotSeen(words.OTHER_EDIT, hint=words.LOOK_AT_EDIT)
    if risk > max(question.risk, Risk.MODERATE) and not seen:
        raise NotSeen(words.EDIT_RAISES, hint=words.LOOK_AT_EDIT)


def _heads(call: Call, items: tuple[Item, ...], fold: int | None) -> Iterator[str]:
    if call.command is not None:
        yield words.visible(call.command, fold)
        return
    target = f" {words.visible(call.target, fold)}" if call.target else ""
    for item in items:
        yield f"{item.operation}{target}"


def _facts(request: Request, items: tuple[Item, ...], fold: int | None) -> Iterator[str]:
    call = request.call
    places = {"server": call.server, "workflow": request.workflow, "folder": call.folder}
    if call.command is not None:
        places["target"] = call.target
    yield f"tool: {words.visible(call.tool, fold)}"
    yield from (f"{label}: {words.visible(text, fold)}" for label, text in places.items() if text)
    yield f"does: {', '.join(words.operation_with_risk(item.operation, item.risk.word) for item in items)}"
    yield from _causes(request, items, fold)
    if call.state is not None:
        yield words.current_state_line(call.state, fold)
    yield from _arguments(call, fold)


def _causes(request: Request, items: tuple[Item, ...], fold: int | None) -> Iterator[str]:
    """What was found in the call, and in which part of it, where that is not all of it."""
    asked = {item.operation for item in items}
    for one in request.operations:
        if one.name not in asked:
            continue
        found = words.visible(one.found, fold) if one.found else None
        parts = [piece for piece in one.because if piece.text != request.call.command]
        if found and not parts:
            yield words.cause_line(found)
        for part in parts:
            name = None if part.argument is None else _format_name(part.argument, fold)
            yield words.cause_line(found, name, words.visible(part.text, fold))


def _arguments(call: Call, fold: int | None) -> Iterator[str]:
    """Every argument on a line of its own, two columns further in than what is said about the call."""
    try:
        arguments = msgspec.convert(decode_canonical(call.arguments), dict[str, Any])
    except (SaysoError, msgspec.ValidationError):
        yield f"arguments: {words.visible(call.arguments.decode('utf-8', 'backslashreplace'), fold)}"
        return
    if arguments:
        yield "arguments:"
    change = find_change(arguments)
    if change is not None and fold is not None and change.length > fold:
        change = None
    for name, given in arguments.items():
        if change is not None and name in change.names:
            yield from _change_lines(change) if name == change.names[0] else ()
            continue
        if _has_lines(given, fold):
            yield from _part_lines(_format_name(name, fold), given)
            continue
        same = call.command is not None and given == call.command
        value = words.AS_ABOVE if same else _value(given, fold)
        yield f"  {_format_name(name, fold)}: {value}"


def _has_lines(given: Any, fold: int | None) -> bool:
    """Return whether this is an object with a text of several lines in it, such as a proposal with its diff.

    One that is longer than the fold stays on one line, which says how long it is.
    """
    if not isinstance(given, dict) or (fold is not None and len(msgspec.json.encode(given)) > fold):
        return False
    return any(isinstance(part, str) and "\n" in part for part in given.values())


def _part_lines(name: str, given: dict[str, Any]) -> Iterator[str]:
    """Each part of the object, a text of several lines line by line, each of them behind a sign of ours."""
    for part, value in given.items():
        heading = f"  {name} > {_format_name(part, None)}:"
        if isinstance(value, str) and "\n" in value:
            yield heading
            yield from (f"    │ {words.visible(line, None)}" for line in value.split("\n"))
        else:
            yield f"{heading} {_value(value, None)}"


def _change_lines(change: TextChange) -> Iterator[str]:
    """The lines that go and come, each behind a sign of ours: none of them can pass for another line."""
    yield f"  {words.change_heading(*change.names)}"
    yield from (f"    {sign} {words.visible(line, None)}" for sign, line in change.lines())


def _value(given: Any, fold: int | None) -> str:
    """An argument as JSON. A long text is folded by its own characters, not by those of its escapes."""
    written = msgspec.json.encode(given).decode()
    text = given if isinstance(given, str) else written
    if fold is None or len(text) <= fold:
        return words.visible(written, None)
    part = msgspec.json.encode(text[:fold]).decode() if isinstance(given, str) else text[:fold]
    return f"{words.visible(part, None)}{words.full_length_note(text)}"


def _format_name(argument: str, fold: int | None) -> str:
    """A name that is more than a word is quoted, so that it cannot pass for a value."""
    if PLAIN_NAME.fullmatch(argument):
        return words.visible(argument, fold)
    return words.visible(msgspec.json.encode(argument).decode(), fold)
