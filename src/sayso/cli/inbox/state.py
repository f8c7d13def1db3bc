"""The state of the inbox on a screen: which questions there are, which is being read, and how much of it.

- A question that was answered elsewhere while it is read stays, says how it ended, and goes when the person
  moves on: nothing else takes its place under their finger.
- Keys count only half a second after a question was shown.
- What was read is what was on the screen, from the top on without a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from sayso.cli.views.operator import InboxItem
from sayso.surfaces.terminal.terminal import IGNORES_KEYS_FOR


class InboxState:
    """The contents of the inbox, independent of screen, store and clock."""

    def __init__(self) -> None:
        self.items: dict[str, InboxItem] = {}
        self.endings: dict[str, str] = {}
        self.chosen: str | None = None
        self.filter = ""
        self._shown_at = float("inf")
        self._read: dict[str, int] = {}
        self._length: dict[str, int] = {}

    @property
    def rows(self) -> Sequence[InboxItem]:
        """The questions that fit the filter, in the order they were asked."""
        words = self.filter.lower().split()
        return [one for one in self.items.values() if all(word in _searched(one) for word in words)]

    @property
    def question(self) -> InboxItem | None:
        """The question that is being read; None if none is."""
        return None if self.chosen is None else self.items.get(self.chosen)

    @property
    def open(self) -> bool:
        """Return whether the question that is read can still be answered."""
        return self.question is not None and self.chosen not in self.endings

    def take(self, found: Iterable[InboxItem]) -> str | None:
        """Take the questions that are open now; the id of the one that is read, if it has just ended."""
        now = {one.id: one for one in found}
        kept = self.question
        ended = kept is not None and kept.id not in now and kept.id not in self.endings
        if kept is not None and kept.id not in now:
            now = {kept.id: kept, **now}
        self.items = now
        self._choose_one()
        return kept.id if kept is not None and ended else None

    def end(self, question: str, ending: str) -> None:
        self.endings[question] = ending

    def sift(self, words: str) -> None:
        """Show those that fit these words."""
        self.filter = words
        self._choose_one()

    def move(self, step: int) -> None:
        """Read the question so many places on. The one read before goes, if it is over."""
        rows = self.rows
        ids = [one.id for one in rows]
        if not ids:
            return
        at = ids.index(self.chosen) if self.chosen in ids else 0
        self._go_to(ids[max(0, min(len(ids) - 1, at + step))])

    def move_on(self) -> None:
        """After an answer: the next that waits, else the one before, else none."""
        ids = [one.id for one in self.rows]
        at = ids.index(self.chosen) if self.chosen in ids else 0
        left = [one for one in (*ids[at + 1 :], *reversed(ids[:at])) if one not in self.endings]
        self._go_to(left[0] if left else None)

    def show(self, at: float, lines: int) -> None:
        """The question is on the screen since then, in so many lines."""
        self._shown_at = at
        if self.chosen is not None and self._length.get(self.chosen) != lines:
            self._length[self.chosen], self._read[self.chosen] = lines, 0

    def see(self, top: int, bottom: int) -> None:
        """These lines of it are on the screen."""
        if self.chosen is not None and top <= self._read.get(self.chosen, 0):
            self._read[self.chosen] = max(self._read.get(self.chosen, 0), bottom)

    @property
    def length(self) -> int:
        """The number of lines of the question that is read."""
        return self._length.get(self.chosen or "", 0)

    @property
    def whole(self) -> bool:
        """Return whether all of the question that is read was on the screen."""
        if self.chosen is None or self.chosen not in self._length:
            return False
        return self._read.get(self.chosen, 0) >= self._length[self.chosen]

    def counts(self, pressed_at: float) -> bool:
        """Return whether a key that was pressed then is meant for the question on the screen."""
        return pressed_at - self._shown_at >= IGNORES_KEYS_FOR

    def _choose_one(self) -> None:
        rows = self.rows
        if self.chosen not in {one.id for one in rows}:
            self._go_to(rows[0].id if rows else None)

    def _go_to(self, question: str | None) -> None:
        if question == self.chosen:
            return
        left, self.chosen = self.chosen, question
        self._shown_at = float("inf")  # nothing counts until it is on the screen
        if left is not None and left in self.endings:
            self.items = {key: one for key, one in self.items.items() if key != left}


class AnswerChoice(msgspec.Struct, frozen=True):
    """An answer by its key; wide ones, and every yes at high risk, want their word instead."""

    key: str
    answer: str
    label: str


BY_KEY = (
    AnswerChoice("o", "once", "once"),
    AnswerChoice("t", "task", "task"),
    AnswerChoice("m", "temporary", "15 min"),
)


def choices_of(item: InboxItem) -> tuple[AnswerChoice, ...]:
    """Return what a single key answers to this question."""
    if item.risk == "high":
        return ()
    return tuple(one for one in BY_KEY if one.answer in item.answers)


def answer_in_words(item: InboxItem, typed: str) -> str | None:
    """Return the answer that these words give; None if they give none. At high risk only `allow` is a yes."""
    said = typed.strip().lower()
    if said in ("deny", "no"):
        return "deny"
    if item.risk == "high":
        return "once" if said == "allow" and "once" in item.answers else None
    said = {"allow": "once", "15 min": "temporary", "15": "temporary"}.get(said, said)
    return said if said in item.answers and said != "edit" else None


def _searched(one: InboxItem) -> str:
    return f"{one.id} {one.title} {one.agent} {one.risk} {' '.join(one.operations)} {one.session}".lower()
