"""Processes that work on one store side by side, told line by line what to do.

Run as a program it opens the store of a job, says that it is ready, does for each line what its trade is, and
says what came of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import recover_calls
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.people.answerers import Answerer
from sayso.gate.questions.expiry import expire_questions
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import revoke_all
from tests.crash.jobs import Clock, Job, gate_on, opened
from tests.crash.lives import edit
from tests.support.answers import answer_question
from tests.support.repository import ROOT
from tests.support.teams import acting_under, team_policy

APPROVERS = (
    "page:ana", "account:ana", "surface:phone/1", "page:bo", "account:bo", "surface:phone/2",
    "page:cy", "account:cy",
)  # fmt: skip
"""The ids of three people: what each process answers with."""


class Worker:
    """The asking side."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def working(job: Job, *trades: str) -> Iterator[list[Worker]]:
    """A process for each of these trades, all of them ready."""
    pipe, place = subprocess.PIPE, msgspec.json.encode(job).decode()
    with ExitStack() as all_of_them:
        workers = []
        for number, trade in enumerate(trades):
            command = [sys.executable, "-m", "tests.crash.workers", place, trade, str(number)]
            process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
            workers.append(Worker(all_of_them.enter_context(process)))
        assert [one.said() for one in workers] == ["ready"] * len(trades)
        yield workers


def resume(gate: Gate, job: Job, me: str, session: str, call: str) -> str:
    """Run this call, if it is for us to run. Half retry it by its id, half make the identical one anew."""
    again = int(me) % 2
    attempt = retry_call(gate, call, holder=me) if again else start_call(gate, edit(session), holder=me)
    if attempt.runs:
        with job.file("runs").open("a", encoding="utf-8") as runs:
            os.write(runs.fileno(), f"{session}\n".encode())
        end_call(gate, attempt.call, attempt.fence, "succeeded")
    return "done"


def stop(gate: Gate, job: Job, me: str, session: str, times: str) -> str:
    for number in range(int(times)):
        if number % 2:
            revoke_all(gate, session, by="operator")
        else:
            record_message(gate, session, "stop")
    return "done"


def decide(gate: Gate, job: Job, me: str, session: str, times: str) -> str:
    for _ in range(int(times)):
        authorize(gate, edit(session))
    return "done"


def tidy(gate: Gate, job: Job, me: str, session: str, times: str) -> str:
    for number in range(int(times)):
        if number % 2:
            expire_questions(gate)
        else:
            recover_calls(gate)
    return "done"


def approve(gate: Gate, job: Job, me: str, session: str, question: str) -> str:
    """Approve this question, where three of finance have to, as one of those who are the eight processes."""
    team = acting_under(gate, team_policy(needed=3))
    stands = answer_question(team, question, "once", by=me, who=Answerer(APPROVERS[int(me)]))
    return f"{stands.state} {stands.yours}"


TRADES: dict[str, Callable[[Gate, Job, str, str, str], str]] = {
    "resume": resume,
    "stop": stop,
    "decide": decide,
    "tidy": tidy,
    "approve": approve,
}


def work(job: Job, trade: str, me: str) -> None:
    gate = gate_on(opened(job.address, Clock()), job)
    _say("ready")
    for line in sys.stdin:
        session, what = line.split()
        try:
            _say(TRADES[trade](gate, job, me, session, what))
        except SaysoError as error:
            _say(f"{type(error).__name__}: {error.message}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    work(msgspec.json.decode(sys.argv[1], type=Job), sys.argv[2], sys.argv[3])
