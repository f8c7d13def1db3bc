"""The conversation about one question, from the card to an answer. What is not an answer is asked again."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sayso.core import words
from sayso.core.digest import encode_canonical
from sayso.core.errors import NotCanonical, SaysoError
from sayso.core.model import Risk
from sayso.core.words import visible
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.surfaces.facts import decode_arguments
from sayso.surfaces.terminal.card import (
    Card,
    allowing_offers,
    answer_word,
    render_approval,
    render_card,
    render_page,
    render_remark,
)
from sayso.surfaces.terminal.device import Device
from sayso.surfaces.terminal.edit import (
    EditorFailed,
    edit_by_lines,
    edit_in_editor,
    find_editor,
    read_draft,
    write_draft,
)
from sayso.surfaces.terminal.layout import Screen

ANSWER_PROMPT = "Your answer [deny]: "
WHICH_PROMPT = "Allow how? [deny]: "
CONFIRM_PROMPT = "Type allow to run it like this [back]: "
APPROVE_PROMPT = "Type allow to approve this [leave it open]: "

DENY_WORDS = ("d", "deny", "n", "no")
SPELLINGS = {"o": "once", "t": "task", "m": "temporary", "15": "temporary", "15 min": "temporary"}


class TerminalPrompt:
    """One question on one terminal. `read` shows a prompt and gives the line that was typed."""

    def __init__(
        self,
        asked: AskedQuestion,
        by: str,
        device: Device,
        look: Screen,
        now: float,
        read: Callable[[str], str],
        look_up: Callable[[], None],
    ) -> None:
        self._asked, self._question, self._by = asked, asked.question, by
        self._device, self._look, self._now = device, look, now
        self._read, self._look_up = read, look_up
        self._folded, self._draft = True, ""

    def show(self, waiting: int) -> None:
        self._device.write("\n")
        self._put(render_card(self._asked, self._look, self._now, whole=False, waiting=waiting))

    def show_whole(self, answer: str) -> None:
        """All of the question, with what this answer would grant."""
        self._device.write("\n" + render_approval(self._asked, self._look, self._now, answer))

    def confirm(self) -> bool:
        """Return whether the person types the whole word."""
        return self._read(APPROVE_PROMPT).strip().lower() == "allow"

    def answer(self) -> Reply:
        while True:
            reply = self._reply_to(self._read(ANSWER_PROMPT).strip())
            if reply is not None:
                return reply

    def _reply_to(self, line: str) -> Reply | None:
        """Read this line; None if it is not an answer yet."""
        first, _, rest = line.partition(" ")
        word = line.lower()
        if not line or first.lower().rstrip(",:") in DENY_WORDS:
            return Reply("deny", self._by, reason=visible(rest.strip()) or None)
        if word in ("w", "why"):
            self._why()
            return None
        if word == "all":
            self._put(render_card(self._asked, self._look, self._now, whole=True, waiting=0))
            return None
        if word in ("e", "edit") and self._asked.editable is not None:
            return self._edit()
        if self._question.risk >= Risk.HIGH:
            return self._allow(word, line)
        return self._reply_if_offered(word, line)

    def _reply_if_offered(self, word: str, line: str) -> Reply | None:
        answer = SPELLINGS.get(word, word)
        if any(offer.answer == answer for offer in allowing_offers(self._question)):
            return Reply(answer, self._by, seen=self._digest_seen)
        return self._again(f"{line[:40]} is not an answer to this question. {self._choices()}")

    def _allow(self, word: str, line: str) -> Reply | None:
        """High risk: the whole word, the whole call seen, and if there are several ways, which."""
        allowed = allowing_offers(self._question)
        if word != "allow" or not allowed:
            return self._again(f"{line[:40]} is not an answer to this question. {self._choices()}")
        if not self._may_allow():
            return None
        if len(allowed) == 1:
            return Reply(allowed[0].answer, self._by, seen=self._digest_seen)
        self._say(f"Allow how: {', '.join(answer_word(offer.answer) for offer in allowed)}?")
        which = self._read(WHICH_PROMPT).strip()
        if not which or which.lower() in DENY_WORDS:
            return Reply("deny", self._by)
        return self._reply_if_offered(which.lower(), which)

    @property
    def _digest_seen(self) -> str | None:
        """The digest of the call, once nothing of it is folded on this terminal."""
        return None if self._folded else self._question.request.digest

    def _may_allow(self, risk: Risk = Risk.LOW) -> bool:
        """Return whether this may be allowed: a folded call or edit above moderate risk may not."""
        if self._folded and max(self._question.risk, risk) > Risk.MODERATE:
            self._say(
                "Part of this call is folded, and its risk is high. Type all to see the whole call first."
            )
            return False
        return True

    def _choices(self) -> str:
        allowed = allowing_offers(self._question)
        yeses = [answer_word(offer.answer) for offer in allowed]
        if self._question.risk >= Risk.HIGH and allowed:
            yeses = ["allow"]
        editing, unfolding = ["edit"] * (self._asked.editable is not None), ["all"] * self._folded
        more = ["deny", *editing, "why", *unfolding]
        return f"Answer {', '.join(yeses + more[:-1])} or {more[-1]}."

    def _why(self) -> None:
        try:
            trace = self._asked.why()
        except Exception as error:  # noqa: BLE001  the reason is a help; without it the question still stands
            self._say(f"The checks cannot be shown: {error}")
            return
        self._device.write(render_page("Why this is asked", trace, self._look))

    def _edit(self) -> Reply | None:
        """The changed call, once it is valid, shown again and confirmed by the whole word."""
        before = decode_arguments(self._question.request.call) or {}
        if not self._may_allow():
            return None
        try:
            self._draft = self._make_draft(before)
            values = read_draft(self._draft)
        except (EditorFailed, NotCanonical) as error:
            return self._again(f"Not edited: {error}. Type edit to try again.")
        if encode_canonical(values) == encode_canonical(before):
            return self._again(f"Nothing was changed. {self._choices()}")
        return self._confirm_edit(values)

    def _confirm_edit(self, values: dict[str, Any]) -> Reply | None:
        """The edited call with its risk, allowed by the whole word. What the policy denies stays denied."""
        try:
            decided = None if self._asked.decide_edit is None else self._asked.decide_edit(values)
        except SaysoError as error:
            return self._again(f"Not edited: {error}. Type edit to try again.")
        if decided is not None and decided.denied:
            return self._again(f"Not edited: {words.edit_denied(decided.reason)}. Type edit to try again.")
        if decided is not None and not self._may_allow(decided.risk):
            return None
        self._device.write(render_page("The call would run with", write_draft(values), self._look))
        if decided is not None:
            self._say(words.edit_decided(self._question.risk.word, decided.risk.word, decided.reason))
        if self._read(CONFIRM_PROMPT).strip().lower() != "allow":
            return self._again(f"Not allowed yet. {self._choices()}")
        seen_edited = None if decided is None else decided.digest
        return Reply("edit", self._by, edited=values, seen=self._digest_seen, seen_edited=seen_edited)

    def _make_draft(self, before: dict[str, Any]) -> str:
        editor = find_editor(os.environ)
        if not editor:
            return edit_by_lines(before, self._read, self._say)
        try:
            return edit_in_editor(self._device, editor, self._draft or write_draft(before), self._look_up)
        finally:
            self._device.listen(echo=True)

    def _put(self, shown: Card) -> None:
        self._folded = shown.folded
        self._device.write(shown.text)

    def _again(self, why: str) -> Reply | None:
        """No answer yet, and why."""
        self._say(why)
        return None

    def _say(self, text: str) -> None:
        self._device.write(render_remark(text, self._look))
