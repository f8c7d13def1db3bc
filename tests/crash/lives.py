"""The scripts that processes live through: what a host and an operator do with a gate, one act a step."""

from __future__ import annotations

import msgspec

from sayso.core.model import Operation, Request
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.lease import enter_call, keep_alive, park_call, release_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import reconcile_calls, recover_calls, resolve_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.operator_grants import give_grant, revoke_all, revoke_grant
from sayso.gate.sessions.sessions import close_session, open_session
from tests.crash.jobs import Clock, Job, Point, Reference, Seen, effects, gate_on, look, opened, take_effect
from tests.crash.mortal import Fate, MortalStore
from tests.crash.recovery import let_leases_lapse, recover
from tests.support.answers import answer_question
from tests.support.asking import push
from tests.support.gates import list_session_rows


def edit(session: str, number: int = 1) -> Request:
    call = make_call("edit", {"path": f"{number}.py"}, target=f"{number}.py")
    return make_request(call, [Operation("files.edit")], session=session)


def live(job: Job) -> None:
    """Do as this job says, in the process it was given to."""
    if job.what == "recover":
        job.file("recovered").write_bytes(msgspec.json.encode(recover(job)))
    elif job.what == "revoke":
        _revoke_everything(job)
    else:
        Life(job).lead()


def _revoke_everything(job: Job) -> None:
    store = opened(job.address, Clock())
    gate = gate_on(store, job)
    for session in list_session_rows(gate):
        revoke_all(gate, session.id, by="operator")
    store.close()


class Life:
    """One process on its way through a script."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._points: list[Point] = []
        self._clock = Clock()
        self._plain = opened(job.address, self._clock)
        self._seen: list[Seen] = [look(self._plain)]
        self._fate = Fate(job.at, None if job.at else self._pass)
        self._store = MortalStore(self._plain, self._fate, None if job.at else self._look)

    def lead(self) -> None:
        self._begin("open the gate")
        gate = gate_on(self._store, self._job)
        scripts = {
            "asking": self._asking,
            "consent": self._consent,
            "holding": self._holding,
            "looking after": self._looking_after,
        }
        scripts[self._job.script](gate)
        self._plain.close()
        reference = Reference(tuple(self._points), tuple(self._seen))
        self._job.file("reference").write_bytes(msgspec.json.encode(reference))

    def _asking(self, gate: Gate) -> None:
        """Two calls are asked for; one is approved and runs, one is denied."""
        session = self._opened(gate)
        first, second = (self._asked(gate, edit(session, number), number) for number in (1, 2))
        self._answered(gate, first, "once")
        self._answered(gate, second, "deny")
        self._begin("retry")
        running = retry_call(gate, first.call, holder="first life")
        self._run(gate, running, 1)
        self._begin("retry what was denied")
        assert not retry_call(gate, second.call, holder="first life").runs

    def _consent(self, gate: Gate) -> None:
        """Consent is given in all ways there are, used, and taken back."""
        session = self._opened(gate)
        self._begin("hear standing consent")
        record_message(gate, session, "Grant standing consent for: git push")
        self._begin("push")
        self._run(gate, start_call(gate, push(session), holder="first life", host_id="1"), 1)
        self._begin("revoke in the conversation")
        record_message(gate, session, "Revoke consent for: git push")
        self._begin("give a grant for one use")
        give_grant(gate, session, by="operator", operation="files.edit", uses=1)
        self._begin("edit")
        self._run(gate, start_call(gate, edit(session, 2), holder="first life", host_id="2"), 2)
        self._begin("give a command")
        grant = give_grant(gate, session, by="operator", command="git push")
        self._begin("authorize")
        assert authorize(gate, push(session)).decision.verdict.value == "allow"
        self._begin("revoke")
        revoke_grant(gate, grant.id, by="operator")
        self._begin("stop")
        record_message(gate, session, "stop")

    def _holding(self, gate: Gate) -> None:
        """A call is given back, started again, entered, parked, resumed; a tool tells the end of another."""
        session = self._opened(gate)
        first, second = (self._asked(gate, edit(session, number), number) for number in (1, 2))
        self._answered(gate, first, "once")
        self._begin("hold")
        held = retry_call(gate, first.call, holder="first life", entered=False)
        self._begin("release")
        release_call(gate, held.call, held.fence)
        self._begin("hold again")
        held = retry_call(gate, first.call, holder="first life", entered=False)
        self._begin("enter")
        enter_call(gate, held.call, held.fence)
        self._begin("park")
        assert second.question is not None
        park_call(gate, held.call, held.fence, second.question)
        self._answered(gate, second, "once")
        self._begin("unpark")
        self._run(gate, unpark_call(gate, held.call, holder="first life"), 1)
        self._begin("retry")
        running = retry_call(gate, second.call, holder="first life")
        self._effect(2)
        let_leases_lapse(self._plain, self._clock)
        self._begin("recover")
        assert recover_calls(gate) == [running.call]
        self._begin("reconcile")
        assert reconcile_calls(gate, {"edit": lambda request: "succeeded"}) == {running.call: "succeeded"}

    def _looking_after(self, gate: Gate) -> None:
        """A task, a holder that goes silent, the operator's word on it, checkpoints, the end."""
        session = self._opened(gate)
        self._begin("task")
        record_task_start(gate, session, "feature")
        attempt = self._asked(gate, edit(session), 1)
        self._answered(gate, attempt, "task")
        self._begin("checkpoint")
        sign_audit(gate)
        self._begin("retry")
        running = retry_call(gate, attempt.call, holder="first life")
        self._effect(1)
        self._begin("keep alive")
        keep_alive(gate, running.call, running.fence)
        let_leases_lapse(self._plain, self._clock)
        self._begin("recover")
        assert recover_calls(gate) == [running.call]
        self._begin("resolve")
        resolve_call(gate, running.call, "succeeded", by="operator")
        self._begin("revoke all")
        revoke_all(gate, session, by="operator")
        self._begin("ask again")
        authorize(gate, edit(session, 2))
        self._begin("end the session")
        close_session(gate, session)
        self._begin("checkpoint again")
        sign_audit(gate)

    def _opened(self, gate: Gate) -> str:
        self._begin("open a session")
        return open_session(gate, agent="tester", owner="host")

    def _asked(self, gate: Gate, request: Request, number: int) -> Attempt:
        self._begin(f"ask for call {number}")
        attempt = start_call(gate, request, holder="first life", host_id=str(number))
        assert attempt.state == "pending"
        return attempt

    def _answered(self, gate: Gate, attempt: Attempt, answer: str) -> None:
        self._begin(f"answer {answer}")
        assert attempt.question is not None
        assert answer_question(gate, attempt.question, answer, by="ana").yours

    def _run(self, gate: Gate, attempt: Attempt, number: int) -> None:
        assert attempt.runs, (attempt.state, attempt.record.rule)
        self._effect(number)
        self._begin(f"end call {number}")
        end_call(gate, attempt.call, attempt.fence, "succeeded", b'"first life"')

    def _effect(self, number: int) -> None:
        self._begin(f"call {number}")
        self._fate.point("before the effect")
        take_effect(self._job, number)
        self._fate.point("after the effect")

    def _begin(self, step: str) -> None:
        self._fate.step = step

    def _pass(self, name: str, commits: int) -> None:
        self._points.append(Point(name, commits, effects(self._job)))

    def _look(self) -> None:
        self._seen.append(look(self._plain))
