"""The history: the stories of calls, newest first, filtered by what people look for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.core.audit.entry import AuditEntry
from sayso.core.audit.events import DECISIONS, read_decision
from sayso.core.model import Verdict
from sayso.gate.audit.backwards import MOST_READ, find_newest_entries
from sayso.gate.figures.story import Story, begins_story, load_story
from sayso.gate.gate import Gate
from sayso.gate.summaries.decisions import found_name
from sayso.gate.summaries.find import FoundValues
from sayso.store.contract import EntryRow, Reader

SEARCHED = 4_000
"""How many entries are looked at for one page of a search: each is put together to be looked through."""


class StoryFilter(msgspec.Struct, frozen=True):
    """Which stories are wanted; None and the empty text for all."""

    agent: str | None = None
    domain: str | None = None
    risk: str | None = None
    verdict: str | None = None
    rule: str | None = None
    session: str | None = None
    text: str = ""


class StoryPage(msgspec.Struct, frozen=True):
    """Some stories, newest first. `before` is where to go on; None once there is nothing older."""

    stories: tuple[Story, ...]
    before: str | None


def filter_from_query(query: Mapping[str, str]) -> StoryFilter:
    """The filter that a query asks for; what else is in the query is left alone."""
    names = StoryFilter.__struct_fields__
    given = {name: value for name, value in query.items() if name in names}
    return StoryFilter(**{**given, "text": given.get("text", "").casefold()})


def find_stories(gate: Gate, wanted: StoryFilter, *, before: str | None = None, limit: int = 50) -> StoryPage:
    """The newest stories that are wanted, before a place."""
    told: dict[tuple[str, int], Story] = {}

    def fits(tx: Reader, row: EntryRow, said: AuditEntry | None) -> bool:
        if said is None or not _fits_entry(wanted, said) or not begins_story(gate, tx, row, said):
            return False
        story = load_story(gate, tx, row, said)
        if not _fits_story(wanted, story):
            return False
        told[row.stream, row.seq] = story
        return True

    most = SEARCHED if wanted.text or wanted.verdict else MOST_READ
    found = find_newest_entries(
        gate,
        fits,
        before=before,
        limit=limit,
        events=frozenset(DECISIONS),
        most=most,
        values=_values_of(wanted),
    )
    return StoryPage(tuple(told[row.stream, row.seq] for row, _ in found.entries), found.before)


def _values_of(wanted: StoryFilter) -> list[FoundValues]:
    """The values to find wanted stories by. A call that was asked about may come out any way."""
    named = {name: getattr(wanted, name) for name in ("session", "agent", "rule", "risk", "domain")}
    found: list[FoundValues] = [
        (found_name(name, value),) for name, value in named.items() if value is not None
    ]
    if wanted.verdict is not None:
        found.append(tuple({found_name("verdict", one): None for one in (wanted.verdict, Verdict.ASK.value)}))
    return found


def _fits_entry(wanted: StoryFilter, said: AuditEntry) -> bool:
    """Check what the entry alone can answer; the story is loaded only for entries that pass."""
    decided = read_decision(said.details)
    return (
        wanted.session in (None, said.session)
        and wanted.agent in (None, said.agent)
        and wanted.risk in (None, decided.risk)
        and wanted.rule in (None, decided.rule)
        and wanted.domain in (None, *(name.partition(".")[0] for name in said.operations))
    )


def _fits_story(wanted: StoryFilter, story: Story) -> bool:
    if wanted.verdict not in (None, *_verdicts(story)):
        return False
    return not wanted.text or any(wanted.text in text.casefold() for text in _searchable_texts(story))


def _verdicts(story: Story) -> tuple[str, ...]:
    """Return the first decision, and the verdict of the answer."""
    first = story.decision.verdict
    answer = None if story.question is None else story.question.answer
    if answer is None:
        return (first,)
    return (first, "deny" if answer == "deny" else "allow")


def _searchable_texts(story: Story) -> tuple[str, ...]:
    said, decided = story.said, story.decision
    details = (decided.tool, decided.rule, decided.reason, decided.digest)
    ids = (None if one is None else one.id for one in (story.ledger, story.question))
    people = (text for step in story.steps for text in (step.by, step.reason) if text)
    edited = (step.before for step in story.steps if step.before is not None)
    shown = (text for call in (story.call, *edited) if call is not None for text in _texts_of_call(call))
    names = (said.agent, said.session, *(name for name in ids if name))
    return (*details, *said.operations, *names, story.title, *people, *shown)


def _texts_of_call(call: Mapping[str, object]) -> tuple[str, str, str]:
    """Return what a person would type to find this call: its command, and its arguments as they are shown."""
    arguments = msgspec.json.encode(call.get("arguments") or {}).decode()
    return str(call.get("command") or ""), arguments, str(call.get("arguments") or "")
