"""Acts on a gate, and what of them can be seen from outside in the same words on every store."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.ledger import State
from sayso.core.model import Operation, Request
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.lease import enter_call, park_call, release_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import reconcile_calls, recover_calls, resolve_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.operator_grants import give_grant, list_grants, revoke_all, revoke_grant
from sayso.gate.sessions.sessions import close_session, open_session
from tests.support.answers import answer_question

Act = tuple[str, int, int]
"""What to do, and two numbers that choose among what there is to do it with."""

MESSAGES = (
    "fix the parser", "yes", "no", "stop", "run `git push`", "please run `git status`", "that's wrong",
    "Grant standing consent for: git push", "Revoke consent for: git push", "Clear consent state",
    "actually, let's work on the docs instead", "/commit",
)  # fmt: skip
CALLS = (
    ("edit", "files.edit", "a.py", None),
    ("edit", "files.edit", "b.py", None),
    ("shell", "git.push", None, "git push"),
    ("shell", "git.status", None, "git status"),
    ("delete", "files.delete", "a.py", None),
    ("edit", "files.modify_secrets", ".env", None),
)
A_LOT = 12
LATELY = 3
"""Acts choose among as many of the newest, so that they meet often."""
ANSWERS = ("once", "once", "deny", "task", "temporary", "always", "nonsense")
ENDS: tuple[State, ...] = ("succeeded", "failed", "ambiguous", "allowed")
GIVEN: tuple[dict[str, Any], ...] = (
    {"operation": "files.edit"},
    {"operation": "files.edit", "uses": 1},
    {"command": "git push", "minutes": 1.0},
    {"operation": "git.status", "minutes": 24 * 60.0},
    {"operation": "files.edit", "minutes": 0.0},
)


class Side:
    """One gate on which acts are done, with what they have made so far."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._sessions: list[str] = []
        self._questions: list[str] = []
        self._grants: list[str] = []
        self._calls: list[str] = []
        self._fences: dict[str, int] = {}
        with gate.store.read() as tx:
            newest = tx.head("main")
        self._read = 0 if newest is None else newest.seq

    def do(self, act: Act) -> tuple[object, ...]:
        """What came of it, and all that can be seen afterwards."""
        name, one, two = act
        acts: dict[str, Callable[[int, int], object]] = {
            "open": self._open, "hear": self._hear, "task": self._task, "authorize": self._authorize,
            "answer": self._answer, "give": self._give, "revoke": self._revoke,
            "revoke all": self._revoke_all, "start": self._start, "retry": self._retry, "end": self._end,
            "resolve": self._resolve, "recover": self._recover, "end session": self._end_session,
            "ask a lot": self._ask_a_lot, "hold": self._hold, "enter": self._enter,
            "release": self._release, "park": self._park, "unpark": self._unpark,
            "reconcile": self._reconcile,
        }  # fmt: skip
        try:
            came: object = acts[name](one, two)
        except SaysoError as error:
            came = (type(error).__name__, error.message)
        return tuple(self._plain(part) for part in (came, self._rows(), self._listed(), self._events()))

    def _open(self, one: int, two: int) -> object:
        parent = self._sessions[one % len(self._sessions)] if self._sessions and two % 2 else None
        self._sessions.append(open_session(self._gate, agent="tester", owner="host", parent=parent))
        return len(self._sessions)

    def _hear(self, one: int, two: int) -> object:
        heard = record_message(self._gate, self._session(one), MESSAGES[two % len(MESSAGES)])
        return (heard.kind, heard.announced, heard.cleared)

    def _task(self, one: int, two: int) -> object:
        return record_task_start(self._gate, self._session(one), f"task {two % 3}").cleared

    def _authorize(self, one: int, two: int) -> object:
        done = authorize(self._gate, self._request(one, two))
        self._note(done.question.id if done.question else None)
        decision = done.decision
        offers = [offer.answer for offer in decision.offers]
        return (decision.verdict.value, decision.rule, decision.reason, decision.announce, offers)

    def _ask_a_lot(self, one: int, two: int) -> object:
        """Many calls at a time, so that the limits on questions are met."""
        session, rules = self._session(one), []
        for number in range(A_LOT):
            target = f"{number + two}.py"
            request = make_request(
                make_call("edit", {}, target=target), [Operation("files.delete")], session=session
            )
            done = authorize(self._gate, request)
            self._note(done.question.id if done.question else None)
            rules.append((done.decision.verdict.value, done.decision.rule))
        return rules

    def _answer(self, one: int, two: int) -> object:
        stands = answer_question(
            self._gate, _pick(self._questions, one), ANSWERS[two % len(ANSWERS)], by=f"person {one % 2}"
        )
        self._grants += [grant for grant in stands.grants if grant not in self._grants]
        return (stands.question, stands.state, stands.answer, stands.by, stands.yours, stands.grants)

    def _give(self, one: int, two: int) -> object:
        grant = give_grant(self._gate, self._session(one), by="operator", **GIVEN[two % len(GIVEN)])
        self._grants.append(grant.id)
        return grant.id

    def _revoke(self, one: int, two: int) -> object:
        ended = revoke_grant(self._gate, _pick(self._grants, one), by="operator")
        return (ended.id, ended.words, ended.already)

    def _revoke_all(self, one: int, two: int) -> object:
        return [one.id for one in revoke_all(self._gate, self._session(one), by="operator")]

    def _start(self, one: int, two: int) -> object:
        host_id = f"host {two % 5}" if two % 3 == 0 else None
        effect = f"{self._sessions[0]} effect" if two % 7 == 0 and self._sessions else None
        request = self._request(one, two)
        return self._tried(start_call(self._gate, request, holder="one", host_id=host_id, effect_key=effect))

    def _retry(self, one: int, two: int) -> object:
        return self._tried(retry_call(self._gate, _pick(self._calls, one), holder="two"))

    def _hold(self, one: int, two: int) -> object:
        """Start without entering: what was asked for before, or a new call."""
        if self._calls and two % 2:
            attempt = retry_call(self._gate, _pick(self._calls, one), holder="two", entered=False)
        else:
            attempt = start_call(self._gate, self._request(one, two), holder="one", entered=False)
        return self._tried(attempt)

    def _enter(self, one: int, two: int) -> object:
        enter_call(self._gate, *self._some_start(one, two))
        return "entered"

    def _release(self, one: int, two: int) -> object:
        release_call(self._gate, *self._some_start(one, two))
        return "released"

    def _park(self, one: int, two: int) -> object:
        park_call(self._gate, *self._some_start(one, two), _pick(self._questions, two))
        return "parked"

    def _unpark(self, one: int, two: int) -> object:
        return self._tried(unpark_call(self._gate, _pick(self._calls, one), holder="two"))

    def _reconcile(self, one: int, two: int) -> object:
        said = reconcile_calls(self._gate, {"edit": lambda request: ENDS[two % len(ENDS)]})
        return sorted((self._calls.index(call), state) for call, state in said.items() if call in self._calls)

    def _some_start(self, one: int, two: int) -> tuple[str, int]:
        """A call and the number of a start of it; at times one that never was."""
        running = [call for call in self._calls if call in self._fences]
        call = _pick(running if two % 7 else self._calls, one)
        return call, self._fences.get(call, 0) + (two % 5 == 4)

    def _end(self, one: int, two: int) -> object:
        call, fence = self._some_start(one, two)
        end_call(self._gate, call, fence, ENDS[two % len(ENDS)], b'"result"')
        return "ended"

    def _resolve(self, one: int, two: int) -> object:
        resolve_call(self._gate, _pick(self._calls, one), ENDS[two % len(ENDS)], by="operator")
        return "resolved"

    def _recover(self, one: int, two: int) -> object:
        return [call for call in recover_calls(self._gate) if call in self._calls]

    def _end_session(self, one: int, two: int) -> object:
        close_session(self._gate, self._session(one))
        return "ended"

    def _tried(self, attempt: Attempt) -> object:
        if attempt.call not in self._calls:
            self._calls.append(attempt.call)
        if attempt.runs:
            self._fences[attempt.call] = attempt.fence
        self._note(attempt.question)
        kept = attempt.record
        return (attempt.call, attempt.state, attempt.runs, attempt.result, kept.verdict.value, kept.rule)

    def _note(self, question: str | None) -> None:
        if question is not None and question not in self._questions:
            self._questions.append(question)

    def _session(self, number: int) -> str:
        return _pick(self._sessions, number)

    def _request(self, one: int, two: int) -> Request:
        tool, operation, target, command = CALLS[two % len(CALLS)]
        call = make_call(tool, {"path": target or ""}, target=target, command=command)
        return make_request(call, [Operation(operation)], session=self._session(one))

    def _rows(self) -> object:
        """How every question and call stands."""
        with self._gate.store.read() as tx:
            questions = [tx.question(name) for name in self._questions]
            calls = [tx.call(name) for name in self._calls]
        asked = [(row.id, row.state, row.answer, row.by) for row in questions if row is not None]
        return asked, [(row.id, row.state, row.fence, row.result) for row in calls if row is not None]

    def _listed(self) -> object:
        """What is granted now in each session, or why that cannot be said."""
        found: list[object] = []
        for session in self._sessions:
            try:
                grants = list_grants(self._gate, session)
            except SaysoError as error:
                found.append(type(error).__name__)
                continue
            found += [(g.id, g.kind, g.words, g.risk, g.used, g.uses, g.ends_with) for g in grants]
        return found

    def _events(self) -> object:
        """The entries that were added, without what is another in every session."""
        with self._gate.store.read() as tx:
            rows = tx.entries("main", after=self._read)
        self._read += len(rows)
        found = []
        for row in rows:
            details = msgspec.json.decode(row.body or b"{}").get("details", {})
            found.append((row.event, row.session, {k: v for k, v in details.items() if k != "digest"}))
        return found

    def _plain(self, seen: object) -> str:
        """The same with the names that are made up anew each time replaced by their numbers."""
        text = repr(seen)
        for kind, names in (("session", self._sessions), ("call", self._calls)):
            for number, name in enumerate(names, 1):
                text = text.replace(name, f"{kind} {number}")
        return re.sub(r"\bop_[0-9a-f]{24}\b", "a call refused before it began", text)


class NothingThere(SaysoError):
    """An act that needs something nobody has made yet."""

    code = "nothing_there"


def _pick(names: list[str], number: int) -> str:
    if not names:
        raise NothingThere("there is none yet")
    return names[-1 - number % min(len(names), LATELY)]
