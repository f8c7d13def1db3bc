"""A surface made of lists, which does all a surface must; and others broken on purpose, one fault each."""

from __future__ import annotations

import queue
import threading

from sayso.core.model import Risk
from sayso.core.words import visible
from sayso.gate.questions.surface import AskedQuestion, Reply

Words = queue.Queue[str]


class Scripted:
    """Shows questions by writing them to a list, and takes the words put in for them. A seat as well."""

    name = "scripted"
    patience = 20.0

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._open: dict[str, threading.Event] = {}
        self._words: dict[str, Words] = {}

    @property
    def surface(self) -> Scripted:
        return self

    def able(self) -> bool:
        return True

    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        self.show(asked)
        while not over.is_set():
            try:
                word = self.words(asked).get(timeout=0.01)
            except queue.Empty:
                continue
            if (reply := self.take(asked, word)) is not None:
                self.open(asked).clear()
                return reply
        self.open(asked).clear()
        return None

    def open(self, asked: AskedQuestion) -> threading.Event:
        """Set while it can be answered. Made by the surface or by the person, whoever comes first."""
        return self._open.setdefault(key(asked), threading.Event())

    def words(self, asked: AskedQuestion) -> Words:
        return self._words.setdefault(key(asked), queue.Queue())

    def tell(self, notice: str) -> None:
        self._shown.append(visible(notice))

    def show(self, asked: AskedQuestion) -> None:
        call = asked.question.request.call
        parts = [call.tool, call.command or "", call.arguments.decode("utf-8", "backslashreplace")]
        self._shown += [self.made_visible(part) for part in parts]
        self.open(asked).set()

    def made_visible(self, text: str) -> str:
        return "".join(map(visible, text))

    def take(self, asked: AskedQuestion, word: str) -> Reply | None:
        return Reply(word, "kim") if asked.question.offers_answer(word) else None

    def sees(self, asked: AskedQuestion) -> None:
        assert self.open(asked).wait(self.patience)

    def answers(self, asked: AskedQuestion, word: str) -> None:
        self.sees(asked)
        self.words(asked).put(word)

    def look(self) -> None:
        pass

    def shown(self) -> str:
        return "\n".join(self._shown)


def key(asked: AskedQuestion) -> str:
    return asked.question.request.digest


class Broken(Scripted):
    patience = 0.3


class AnswersThoughItIsOver(Broken):
    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        return super().ask(asked, over) or Reply("deny", "kim", reason="too late")


class NeverComesDown(Broken):
    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        return super().ask(asked, over if over.is_set() else threading.Event())


class TakesAnyWordForYes(Broken):
    def take(self, asked: AskedQuestion, word: str) -> Reply | None:
        return super().take(asked, word) or Reply("once", "kim")


class TakesWhatIsNotOffered(Broken):
    def take(self, asked: AskedQuestion, word: str) -> Reply | None:
        return Reply(word, "kim") if word in ("once", "task", "temporary", "always", "deny") else None


class DoesNotSayWho(Broken):
    def take(self, asked: AskedQuestion, word: str) -> Reply | None:
        return Reply(word, "") if asked.question.offers_answer(word) else None


class RaisesOnOddText(Broken):
    def show(self, asked: AskedQuestion) -> None:
        asked.question.request.call.arguments.decode("ascii")
        super().show(asked)


class RaisesOnOddNotices(Broken):
    def tell(self, notice: str) -> None:
        notice.encode("ascii")


class ShowsEscapes(Broken):
    def made_visible(self, text: str) -> str:
        return text.replace("\x1b", "")


class FoldsAndAllows(Broken):
    def made_visible(self, text: str) -> str:
        return visible(text)


class AsksOnlyTheFirst(Broken):
    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        busy = any(opened.is_set() for opened in self._open.values())
        return None if busy else super().ask(asked, over)


class MixesQuestionsUp(Broken):
    """One box for the words of all questions."""

    def __init__(self) -> None:
        super().__init__()
        self._box: Words = queue.Queue()

    def words(self, asked: AskedQuestion) -> Words:
        return self._box

    def take(self, asked: AskedQuestion, word: str) -> Reply | None:
        return Reply("once", "kim") if asked.question.risk < Risk.HIGH else super().take(asked, word)


BROKEN = {
    AnswersThoughItIsOver: "a_question_is_taken_down_when_it_is_over",
    NeverComesDown: "a_question_is_taken_down_when_it_is_over",
    TakesAnyWordForYes: "words_that_are_no_answer_allow_nothing",
    TakesWhatIsNotOffered: "an_answer_that_is_not_offered_never_comes_back",
    DoesNotSayWho: "every_offered_answer_comes_back_with_who_gave_it",
    RaisesOnOddText: "odd_text_can_be_shown_and_answered",
    RaisesOnOddNotices: "notices_of_odd_text_are_told",
    ShowsEscapes: "no_escape_of_an_agent_reaches_the_person",
    FoldsAndAllows: "what_was_not_shown_whole_is_not_allowed_at_high_risk",
    AsksOnlyTheFirst: "two_questions_at_once_get_each_its_own_answer",
    MixesQuestionsUp: "two_questions_at_once_get_each_its_own_answer",
}
"""Each broken surface with the check that is about its fault."""
