"""Ten thousand open questions: a page of the list and one answer, against the same with a hundred.

Twenty are open in each session, as many as one may have. On both sides the questions of equally many sessions
are answered, and after each answer the session asks again (not timed), so that equally many stay open.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from itertools import count, cycle

from bench.durable import a_gate, on_disk
from bench.measure import Race, Row, Side, Timing, Watch, race
from sayso.core.model import Operation, Request
from sayso.core.policy import Settings
from sayso.gate.deciding.authorize import authorize_in
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.read import questions_in
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import Writer

FEW, MANY = 100, 10_000
MOST_OPEN, MOST_AN_HOUR = Settings().open_questions, Settings().questions_per_hour
PAGE = 100
ANSWERING = FEW // MOST_OPEN
"""In how many sessions questions are answered, on both sides."""
ROUNDS_OF_LISTS = 200
ROUNDS_OF_ANSWERS = ANSWERING * (MOST_AN_HOUR - MOST_OPEN)
"""As many as may still be asked within the hour."""
TIMES_FEW = 2.0


class Crowd:
    """A gate with this many open questions."""

    def __init__(self, gate: Gate, size: int, watch: Watch) -> None:
        self.gate = gate
        self.size = size
        self._numbers = count()
        self._waiting: deque[tuple[str, str]] = deque()
        sessions = size // MOST_OPEN
        for n in range(sessions):
            session = open_session(gate, agent="agent", owner="bench")
            with gate.store.write(durable=False) as tx:
                asked = [(session, self._ask(tx, session)) for _ in range(MOST_OPEN)]
            if n < ANSWERING:
                self._waiting.extend(asked)
            watch(f"{size:,} questions (asking them first)", n + 1, sessions)

    def pages(self) -> list[str]:
        """What each page of the list comes after."""
        afters, after = [""], ""
        with self.gate.store.read() as tx:
            while page := tx.questions(after=after, limit=PAGE):
                after = page[-1].id
                afters.append(after)
        return afters[:-1]

    def listing(self) -> Side:
        """Each time another page of the list, read and decoded."""
        afters = cycle(self.pages())
        return Side(lambda _: self._list(next(afters)), (None,))

    def answer(self, give: Callable[[str], object] | None = None) -> float:
        """Answer the question that waits longest; nanoseconds. Then its session asks another one."""
        session, question = self._waiting.popleft()
        giving = give or self._answer
        began = time.perf_counter_ns()
        giving(question)
        took = time.perf_counter_ns() - began
        with self.gate.store.write() as tx:
            self._waiting.append((session, self._ask(tx, session)))
        return float(took)

    def check(self) -> None:
        """As many are open as we say; otherwise we would measure something else."""
        with self.gate.store.read() as tx:
            found = len(tx.questions(limit=2 * self.size))
        if found != self.size:
            raise AssertionError(f"{found} questions are open, not {self.size}")

    def _answer(self, question: str) -> None:
        stands = answer_question(self.gate, question, "once", by="operator")
        if not stands.yours or not stands.grants:
            raise AssertionError(f"the answer did not stand: {stands.state}")

    def _list(self, after: str) -> None:
        with self.gate.store.read() as tx:
            page = list(questions_in(self.gate, tx, tx.questions(after=after, limit=PAGE)))
        if len(page) != PAGE:
            raise AssertionError(f"a page of {len(page)} questions")

    def _ask(self, tx: Writer, session: str) -> str:
        question = authorize_in(self.gate, tx, _request(session, next(self._numbers))).question
        if question is None:
            raise AssertionError("nothing was asked")
        return question.id


def many_questions_against_few(watch: Watch) -> list[Row]:
    """The list and the answer, each on its own."""
    with on_disk() as folder:
        for name in ("few", "many"):
            (folder / name).mkdir()
        with a_gate(folder / "few") as small, a_gate(folder / "many") as large:
            few, many = Crowd(small, FEW, watch), Crowd(large, MANY, watch)
            lists = race("a page of questions", many.listing(), few.listing(), ROUNDS_OF_LISTS, watch)
            answers = in_turns(many.answer, few.answer, watch)
            few.check()
            many.check()
    return [
        row(f"list {PAGE} of {MANY:,} questions", lists),
        row(f"answer 1 of {MANY:,} questions", answers),
    ]


def in_turns(left: Callable[[], float], right: Callable[[], float], watch: Watch) -> Race:
    lefts, rights = [], []
    for done in range(1, ROUNDS_OF_ANSWERS + 1):
        lefts.append(left())
        rights.append(right())
        watch("an answer", done, ROUNDS_OF_ANSWERS)
    return Race(Timing(tuple(lefts)), Timing(tuple(rights)))


def _request(session: str, number: int) -> Request:
    call = make_call("label", {"number": number, "text": "to be read"})
    return make_request(call, [Operation("domain0000.label")], agent="agent", session=session)


def row(what: str, result: Race) -> Row:
    ratio = result.left.median / result.right.median
    return Row(
        what=what,
        against=f"the same with {FEW}",
        ours=result.left.median / 1e3,
        theirs=result.right.median / 1e3,
        unit=" µs",
        ratio=ratio,
        aim=f"≤ {TIMES_FEW:g}×",
        met=ratio <= TIMES_FEW,
        spread=(result.left.spread, result.right.spread),
    )
