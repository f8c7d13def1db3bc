"""`sayso inbox` on a whole screen: the questions that wait, the one being read, and an answer by key.

Everything an agent wrote passes `surfaces/terminal/layout.py` and is put on the screen as plain text: nothing
in it acts, and nothing in it looks like the frame.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from itertools import chain, repeat
from time import monotonic, time
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from sayso.cli.inbox.state import InboxState, answer_in_words, choices_of
from sayso.cli.operator_name import operator_name
from sayso.cli.views.operator import InboxItem, format_span, load_open_questions
from sayso.cli.views.question_card import load_open_question
from sayso.core.errors import SaysoError
from sayso.core.text.counts import count_of
from sayso.core.words import visible
from sayso.gate.deliveries.dispatch import describe_question_ending
from sayso.gate.gate import Gate, act_under_current_policy
from sayso.gate.people.answerers import at_terminal
from sayso.gate.questions.answer import QuestionStanding, answer_question
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.questions.wait import load_question_now
from sayso.gate.words import approval_kept
from sayso.surfaces.terminal.card import all_fact_lines, answer_word
from sayso.surfaces.terminal.layout import Screen, count_cells, detect_screen, wrap_text

LIST_LINES = 6
LOOK_AGAIN = 1.0
RISK_STYLES = {"low": "green", "moderate": "yellow", "high": "bold red"}
FOLDED = "Read to the end first (space or PgDn): this is high risk."
NOT_AN_ANSWER = "That is not an answer to this question."
TYPING_KEYS = "Enter when you are done  Esc back"


class InboxApp(App[None]):
    """The inbox of one store. `session` shows the questions of that one alone."""

    CSS = """
    Screen { layout: vertical; background: ansi_default; color: ansi_default; }
    Static { background: ansi_default; color: ansi_default; }
    #head { height: 1; text-style: bold; }
    #rows { height: auto; max-height: 6; }
    #scroll { height: 1fr; border-top: solid ansi_default; scrollbar-size-vertical: 0; }
    #scroll, #line { background: ansi_default; color: ansi_default; }
    #said { height: auto; max-height: 2; }
    #line { display: none; height: 1; border: none; padding: 0; }
    #line.asked { display: block; }
    #keys { height: auto; max-height: 2; text-style: reverse; }
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    BINDINGS: ClassVar = []

    def __init__(self, gate: Gate, session: str | None = None) -> None:
        super().__init__(ansi_color=True)  # the colours of the terminal, whatever they are
        self._styles = {} if os.environ.get("NO_COLOR") else RISK_STYLES
        self._gate, self._session = gate, session
        self._state = InboxState()
        self._wanted = ""  # what the line at the bottom is for
        self._drawn: tuple[str | None, bool, int, str | None] | None = None
        self._explained = False  # the checks stand below the question
        self._answering = False

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        yield Static(id="rows")
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static(id="detail")
        yield Static(id="said")
        yield Input(id="line", compact=True)
        yield Static(id="keys")

    def on_mount(self) -> None:
        self.screen.set_focus(None)
        self.run_worker(self._follow, thread=True, exclusive=True)

    # --- what the store has ---

    def _follow(self) -> None:
        """Read the questions again whenever the store has changed, until the inbox is left."""
        worker, mark = get_current_worker(), 0
        while not worker.is_cancelled:
            try:
                found, changed = load_open_questions(self._gate, self._session)
            except SaysoError as error:
                self.call_from_thread(self._say, f"The questions cannot be read: {error}")
            else:
                self.call_from_thread(self._take, found, changed)
            with suppress(SaysoError):
                mark = self._gate.store.wait_for_change(mark, LOOK_AGAIN)

    def _take(self, found: list[InboxItem], changed: list[str]) -> None:
        ended = self._state.take(found)
        if ended is not None:
            self._state.end(ended, self._describe_end(ended))
            self._say(self._state.endings[ended])
        if changed:
            self._say(f"{len(changed)} questions were tampered with, and are not shown.")
        self._draw()

    def _describe_end(self, question: str) -> str:
        try:
            return describe_question_ending(load_question_now(self._gate, question), "inbox")
        except SaysoError as error:
            return str(error)

    # --- the screen ---

    @property
    def _look(self) -> Screen:
        return detect_screen(self.size.width, os.environ)

    def _draw(self) -> None:
        state = self._state
        many = len(state.items) - len(state.endings.keys() & state.items.keys())
        head = f"Sayso inbox: {many or 'no'} {'question waits' if many == 1 else 'questions wait'}"
        if state.filter:
            head += f"; filter: {visible(state.filter)}"
        self._put("head", Text(head))
        self._put("rows", self._row_text())
        self._put("keys", Text(self._keys_text()))
        approvals = None if state.question is None else state.question.approvals
        shown = (state.chosen, state.open, self.size.width, approvals)
        if shown != self._drawn:
            self._drawn, self._explained = shown, False
            self._draw_question()

    def _row_text(self) -> Text:
        rows, look, text = self._state.rows, self._look, Text(no_wrap=True)
        ids = [one.id for one in rows]
        at = ids.index(self._state.chosen) if self._state.chosen in ids else 0
        first = max(0, min(at - LIST_LINES // 2, len(rows) - LIST_LINES))
        for one in rows[first : first + LIST_LINES]:
            mark = ">" if one.id == self._state.chosen else " "
            ending = self._state.endings.get(one.id)
            risk = "over" if ending else one.risk
            left = "" if ending else format_span(one.left)
            text.append(f"{mark} ")
            text.append(f"{risk.upper():9}", self._styles.get(risk, ""))
            text.append(_one_line(f"{left:>8}  {one.agent}: {one.title}", look.width - 11, look) + "\n")
        if not rows:
            text.append("Nothing waits for you." if not self._state.items else "Nothing matches the filter.")
        text.rstrip()
        return text

    def _keys_text(self) -> str:
        if self._wanted:
            return TYPING_KEYS
        item, keys = self._state.question, []
        if item is not None and self._state.open:
            keys = [f"{one.key} {one.label}" for one in choices_of(item)]
            typed = "a type allow" if item.risk == "high" else "a type an answer"
            keys += [typed] if item.may_allow else []
            keys += ["g break the glass"] if item.glass else []
            keys += ["d deny", "D deny with a reason", "w why"]
        back = ["Esc back"] if self._explained or self._state.filter else []
        every = [*keys, *back, "j/k move", "space read on", "/ filter", "q quit"]
        return "\n".join(_fill_lines(every, self._look.width))

    def _draw_question(self) -> None:
        lines = self._question_lines()
        self._put("detail", Text("\n".join(lines), no_wrap=True))
        scroll = self.query_one("#scroll", VerticalScroll)
        scroll.scroll_home(animate=False, immediate=True)
        self.call_after_refresh(self._note_shown, len(lines))

    def _question_lines(self) -> list[str]:
        """Every fact of the question, nothing folded, and what each answer covers."""
        item, look = self._state.question, self._look
        if item is None:
            return []
        if not self._state.open:
            return [*wrap_text(self._state.endings.get(item.id, ""), look.width, look)]
        try:
            view = load_open_question(self._gate, item.id)
        except (UnknownQuestion, SaysoError) as error:
            return [*wrap_text(str(error), look.width, look)]
        lines = [f"May this run? {item.risk.capitalize()} risk."]
        lines += all_fact_lines(view.asked, look, time())
        lines += ["", "Answers:"]
        for name, covered in item.covers.items():
            heads = chain([f"  {answer_word(name):8} "], repeat(" " * 11))
            told = wrap_text(visible(covered, None), look.width - 11, look)
            lines += [f"{head}{line}" for head, line in zip(heads, told, strict=False)]
        return lines

    def _note_shown(self, lines: int) -> None:
        """The question is on the screen. What was typed before counts for nothing."""
        _forget_typed()
        self._state.show(monotonic(), lines)
        self._note_seen()

    def _note_seen(self) -> None:
        scroll = self.query_one("#scroll", VerticalScroll)
        top, height = int(scroll.scroll_y), scroll.scrollable_content_region.height
        self._state.see(top, top + height)
        left = self._state.length - top - height
        scroll.border_title = f"{count_of(left, 'more line')}: space reads on" if left > 0 else ""

    def _put(self, name: str, text: Text) -> None:
        self.query_one(f"#{name}", Static).update(text)

    def _say(self, text: str) -> None:
        lines = [*wrap_text(text, self._look.width, self._look)][:2]
        self._put("said", Text("\n".join(lines), no_wrap=True))

    def on_resize(self, _event: events.Resize) -> None:
        self._draw()

    # --- the keyboard ---

    async def on_key(self, event: events.Key) -> None:
        if self._wanted:
            line = self.query_one("#line", Input)
            if event.key == "escape":
                self._close_line()
            elif self.focused is not line and event.is_printable and event.character:
                line.insert_text_at_cursor(event.character)  # typed before the line was drawn
            return
        event.stop()
        if event.key in ("q", "ctrl+c", "ctrl+q"):
            self.exit()
        elif event.key in MOVES:
            self._state.move(MOVES[event.key])
            self._say("")
            self._draw()
        elif event.key in SCROLLS:
            self._scroll(SCROLLS[event.key])
        elif event.key == "slash":
            self._open_line("filter", "Filter (Esc shows all): ", self._state.filter)
        elif event.key == "escape":
            self._go_back()
        else:
            await self._answer_by_key(event)

    def _go_back(self) -> None:
        """Close what was opened last: the checks, then the filter. Esc never leaves, and never answers."""
        if not self._explained and self._state.filter:
            self._state.sift("")
        self._drawn = None
        self._say("")
        self._draw()

    async def _answer_by_key(self, event: events.Key) -> None:
        item = self._state.question
        if item is None or not self._state.open:
            return
        if event.character == "w":
            self._show_why(item)
        elif not self._state.counts(event.time):
            self._say("Not so fast: that key was pressed before you could read this question.")
        elif event.character == "d":
            await self._give(item, "deny", None)
        elif event.character == "D":
            self._open_line("reason", "Deny, because: ")
        elif event.character == "g" and item.glass and not self._state.whole:
            self._say(FOLDED)
        elif event.character == "g" and item.glass:
            self._open_line("glass", "Break the glass and allow alone, because (Esc leaves it): ")
        elif event.character == "a" and item.may_allow:
            asks = "Type allow to approve this: " if item.risk == "high" else "Your answer: "
            self._open_line("answer", asks)
        else:
            chosen = {one.key: one.answer for one in choices_of(item)}
            if event.character in chosen:
                await self._give(item, chosen[event.character], None)

    def _scroll(self, pages: float) -> None:
        scroll = self.query_one("#scroll", VerticalScroll)
        height = scroll.scrollable_content_region.height
        lines = pages if abs(pages) > 1 else pages * (height - 1)
        scroll.scroll_to(y=scroll.scroll_y + lines, animate=False, immediate=True)
        self.call_after_refresh(self._note_seen)

    def _show_why(self, item: InboxItem) -> None:
        try:
            why = load_open_question(self._gate, item.id).asked.why()
        except SaysoError as error:
            self._say(f"The checks cannot be shown: {error}")
            return
        lines = [*self._question_lines(), "", "Why this is asked:"]
        lines += [*wrap_text(why, self._look.width, self._look)]
        self._put("detail", Text("\n".join(lines), no_wrap=True))
        self._explained = True
        self._put("keys", Text(self._keys_text()))
        self.call_after_refresh(lambda: self._scroll(0.99))

    def _open_line(self, wanted: str, prompt: str, value: str = "") -> None:
        self._wanted = wanted
        self._say(prompt)
        self._put("keys", Text(self._keys_text()))
        line = self.query_one("#line", Input)
        line.value = value
        line.add_class("asked")
        line.focus()

    def _close_line(self) -> None:
        line = self.query_one("#line", Input)
        line.value = ""
        line.remove_class("asked")
        self.screen.set_focus(None)
        if self._wanted == "filter":
            self._state.sift("")
        self._wanted = ""
        self._say("")
        self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._wanted == "filter":
            self._state.sift(event.value)
            self._draw()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        wanted, typed, item = self._wanted, event.value, self._state.question
        if wanted == "filter":
            self._wanted = ""  # the filter stays
            self._close_line()
            return
        self._close_line()
        if item is None:
            return
        if wanted in ("reason", "glass"):
            glass = wanted == "glass"
            said = visible(typed.strip()) or None
            await self._give(item, "once" if glass else "deny", said, glass=glass)
            return
        answer = answer_in_words(item, typed)
        if answer is None:
            self._say(NOT_AN_ANSWER)
        else:
            await self._give(item, answer, None)

    # --- answers ---

    async def _give(self, item: InboxItem, answer: str, reason: str | None, *, glass: bool = False) -> None:
        if answer != "deny" and item.risk == "high" and not self._state.whole:
            self._say(FOLDED)
            return
        if self._answering:
            return
        self._answering = True
        seen = item.digest if self._state.whole else None
        try:
            stands = await asyncio.to_thread(self._send, item.id, answer, reason, seen, glass)
        except SaysoError as error:
            self._say(f"Nothing was answered: {error}")
            return
        finally:
            self._answering = False
        if stands.missing is not None:
            self._say(approval_kept(stands.missing))
            self._draw()
            return
        self._state.end(item.id, self._describe_end(item.id))
        mine = f"You answered: {answer_word(answer)}."
        self._say(f"{mine if stands.yours else self._state.endings[item.id]} {item.title}")
        if stands.yours:
            self._state.move_on()
        self._draw()

    def _send(
        self, question: str, answer: str, reason: str | None, seen: str | None, glass: bool
    ) -> QuestionStanding:
        by = operator_name()
        how: dict[str, Any] = {"reason": reason or ("" if glass else None), "seen": seen, "glass": glass}
        return act_under_current_policy(
            self._gate,
            lambda gate: answer_question(gate, question, answer, by=by, who=at_terminal(by), **how),
        )


MOVES = {"j": 1, "down": 1, "k": -1, "up": -1}
SCROLLS = {"space": 1.0, "pagedown": 1.0, "pageup": -1.0, "b": -1.0, "home": -1e9, "end": 1e9}


def _fill_lines(parts: list[str], width: int) -> list[str]:
    """Lines of whole parts: none is broken in the middle."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}  {part}" if lines[-1] else part
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _one_line(text: str, width: int, look: Screen) -> str:
    """As much of the text as one line holds, and a mark if that is not all."""
    lines = [*wrap_text(text.replace("\n", "\\n"), width - count_cells(look.ellipsis), look)]
    return lines[0] + (look.ellipsis if len(lines) > 1 else "")


def _forget_typed() -> None:
    """Forget keys that the terminal still holds."""
    with suppress(ImportError, OSError, ValueError):
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.__stdin__.fileno() if sys.__stdin__ else 0, termios.TCIFLUSH)
