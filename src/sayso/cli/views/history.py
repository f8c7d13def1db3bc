"""Views of `sayso history`: one story a call, in plain lines."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.cli.views.operator import format_moment
from sayso.core.words import visible
from sayso.gate import words
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.figures.story import ShownCall, Story, StoryStep
from sayso.gate.gate import Gate


class StorySummary(msgspec.Struct, frozen=True):
    """A story as it is listed, by the same names as over HTTP."""

    seq: int
    stream: str
    at: float
    session: str
    agent: str
    operations: tuple[str, ...]
    title: str
    risk: str
    rule: str
    state: str
    operation_id: str | None
    question: str | None
    call: ShownCall | None
    steps: tuple[StoryStep, ...]


def load_story_summaries(gate: Gate, wanted: StoryFilter, limit: int) -> list[StorySummary]:
    """The newest stories that are wanted, the newest last, as a terminal is read."""
    found: list[Story] = []
    before: str | None = None
    while len(found) < limit:
        page = find_stories(gate, wanted, before=before, limit=limit - len(found))
        found += page.stories
        before = page.before
        if before is None:
            break
    return [_summarise_story(one) for one in reversed(found)]


def story_lines(found: Iterable[StorySummary]) -> list[str]:
    lines: list[str] = []
    for one in found:
        lines += [one.title, f"    {one.risk} risk, {visible(one.agent)}, {words.STANDS[one.state]}"]
        lines += [f"    {line}" for line in step_lines(one.steps)]
    return lines or ["No decision matches."]


def step_lines(steps: Iterable[StoryStep]) -> list[str]:
    """One line a step; an edit says what it was before."""
    lines: list[str] = []
    for step in steps:
        when = "" if step.at is None else f"{format_moment(step.at)}  "
        said = words.story_step(step.what, step.answer, step.state, step.by, step.reason)
        times = f" ({step.times} times)" if step.times > 1 else ""
        lines += [f"{when}{said}{times}"]
        if step.before is not None and step.after is not None:
            lines += [f"  before: {_format_call(step.before)}", f"  after:  {_format_call(step.after)}"]
    return lines


def _format_call(call: ShownCall) -> str:
    return visible(str(call.get("command") or msgspec.json.encode(call.get("arguments")).decode()), None)


def _summarise_story(story: Story) -> StorySummary:
    said = story.said
    return StorySummary(
        seq=story.row.seq,
        stream=story.row.stream,
        at=said.at,
        session=said.session,
        agent=said.agent,
        operations=said.operations,
        title=story.title,
        risk=story.decision.risk,
        rule=story.decision.rule,
        state=story.state,
        operation_id=None if story.ledger is None else story.ledger.id,
        question=None if story.question is None else story.question.id,
        call=story.call,
        steps=story.steps,
    )
