"""Programs of nested calls, run for real: through `Sayso`, on a store, in sync code or in coroutines.

There is one player for both. It is written as coroutines; in sync code nothing in them ever suspends, because
whatever would be awaited has been done already when it is.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from sayso import Sayso
from sayso.core.audit.entry import read_body
from sayso.core.decision import Question
from sayso.core.model import Risk
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired
from sayso.doors.python.workflow import Step, Workflow
from sayso.gate.audit.read import load_newest_entries
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.allowance import GrantRefused
from sayso.gate.sessions.operator_grants import give_grant, list_grants, revoke_all, revoke_grant
from sayso.store.contract import Store
from tests.property.nesting_tasks import Worker, caught, finish
from tests.property.nestings import (
    MAIN,
    OTHER,
    OWN,
    WORDS,
    WORLDS,
    Block,
    Blocks,
    Body,
    Call,
    Cascade,
    Click,
    Elsewhere,
    Give,
    Node,
    Pause,
    Program,
    Revoke,
    SafeCaller,
    Spawn,
    Start,
    Tool,
    waiting,
)
from tests.support.saying import SayingPerson

KEY = make_key("nestings")
PATIENCE = 60.0
MANY = 100_000


Here = tuple[Worker | None, Blocks[Worker]]
here: contextvars.ContextVar[Here] = contextvars.ContextVar("here")
"""The task this is in, and the blocks around it."""


class Player:
    """Plays one program. `events` is what happened, `decisions()` what the audit trail says was decided."""

    def __init__(self, program: Program, store: Store, *, is_async: bool) -> None:
        self.program, self.is_async = program, is_async
        self.events: list[tuple[str, ...]] = []
        self.planned: str | None = None
        self.entering: Body = ()
        self.sayso = Sayso.open(
            WORLDS[program.world].policy(), store, surfaces=[SayingPerson(self._say)], key=KEY
        )
        self.sessions = {name: self.sayso.session(agent=name) for name in (MAIN, OTHER)}
        self.tools = {tool: self._decorated(tool) for tool in program.tools()}
        self.workflows = [self._workflow(number) for number in range(len(program.workflows))]

    def play(self) -> None:
        if self.is_async:
            asyncio.run(self._main())
        else:
            finish(self._main())

    def decisions(self) -> list[tuple[str, ...]]:
        bodies = [
            read_body(row.body) for row in load_newest_entries(self.sayso.gate, MANY) if row.body is not None
        ]
        names = {session.id: name for name, session in self.sessions.items()}
        keys = ("tool", "verdict", "rule")
        return [
            (names.get(body.session or "", OWN), *(str(body.details[key]) for key in keys))
            for body in bodies
            if "verdict" in body.details
        ]

    # --- the surface: whoever is asked says what the program plans ---

    def _say(self, asked: AskedQuestion) -> Reply:
        seen = asked.question.request.digest
        return Reply(self._answer(asked.question, self.planned or "deny"), by="ana", seen=seen)

    def _answer(self, question: Question, wished: str) -> str:
        said = wished if question.offers_answer(wished) else "once"
        self.events.append(("answered", said))
        return said

    # --- the program ---

    async def _main(self) -> None:
        with self.sessions[MAIN].active():
            await self._root(self.program.body)

    async def _root(self, body: Body) -> None:
        here.set((None, ()))
        await self._body(body)

    async def _body(self, body: Body) -> None:
        tasks: Block[Worker] = Block()
        worker, blocks = here.get()
        here.set((worker, (*blocks, tasks)))
        for node in body:
            await self._do(node)
        while tasks:  # each in turn, until all are done
            for task in tasks:
                if not task.done:
                    await self._resume(task)
            tasks[:] = [task for task in tasks if not task.done]
        tasks.over = True
        here.set((worker, blocks))

    async def _do(self, node: Node) -> None:
        match node:
            case Call():
                await self._call(node)
            case SafeCaller(operation, risk, body):
                caller = self._function(lambda: self._body(body))
                await self._maybe(self.sayso.reduces_risk_for(operation, WORDS[risk])(caller)())
            case Click(body):
                with self.sayso.user_initiated("desk.click"):
                    await self._body(body)
            case Elsewhere(body):
                with self.sessions[OTHER].active():
                    await self._body(body)
            case Start(workflow, answer):
                self.planned = answer
                run = self.workflows[workflow]
                await self._maybe((run.arun if self.is_async else run.run)(wait=PATIENCE))
            case Spawn(body, _, True):
                await self._thread(body)
            case Spawn(body, outlives, _):
                worker = self._worker(body)
                waiting(here.get()[1], outlives).append(worker)
                await self._resume(worker)
            case Pause():
                await self._pause()
            case _:
                self._operator(node)

    async def _call(self, node: Call) -> None:
        tool, answers = self.tools[node.tool], [node.answer] if node.answer else []
        while True:
            self.planned, self.entering = node.answer, node.body
            try:
                await self._maybe(tool(node.slot))
            except ConsentDenied:
                return
            except ConsentRequired as error:
                if not answers or error.question is None:
                    return
                question = self.sayso.door.question(error.question)
                given, seen = self._answer(question, answers.pop()), question.request.digest
                self.sayso.answer(question.id, given, by="ana", seen=seen)
            else:
                return

    def _operator(self, node: Node) -> None:
        gate, session = self.sayso.gate, self.sayso.door.session_here()
        match node:
            case Give(operation, risk, uses):
                try:
                    at = None if risk is None else Risk.parse(WORDS[risk])
                    give_grant(gate, session, by="ana", operation=operation, risk=at, uses=uses)
                except GrantRefused:
                    self.events.append(("refused", operation))
            case Revoke(None):
                revoke_all(gate, session, by="ana")
            case Revoke(operation):
                for grant in list_grants(gate, session):
                    if (grant.kind, grant.value) == ("operation", operation):
                        revoke_grant(gate, grant.id, by="ana")
            case Cascade(workflow):
                self.sayso.cascade_revoke(f"w{workflow}", session=session, by="ana")
            case _:
                raise AssertionError(f"{node} is nothing an operator does")

    # --- functions ---

    def _decorated(self, tool: Tool) -> Callable[[int], Any]:
        def entered(slot: int) -> Coroutine[Any, Any, None]:
            self.events.append(("ran", f"{tool.name} {slot}"))
            return self._body(self.entering)

        async def later(slot: int) -> None:
            await entered(slot)

        def now(slot: int) -> None:
            finish(entered(slot))

        function: Callable[[int], Any] = later if self.is_async else now
        function.__name__ = tool.name
        weight = None if tool.weight is None else WORDS[tool.weight]
        return self.sayso.requires_consent(tool.operation, risk=WORDS[tool.risk], weight=weight)(function)

    def _workflow(self, number: int) -> Workflow:
        steps = [
            Step(
                f"s{place}",
                self._function(lambda body=stage.body: self._body(body)),  # type: ignore[misc]
                operations=stage.operations,
                after=(f"s{place - 1}",) if place else (),
                requires_individual_consent=stage.individual,
            )
            for place, stage in enumerate(self.program.workflows[number])
        ]
        return self.sayso.workflow(f"w{number}", steps)

    def _function(self, work: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], Any]:
        async def later() -> None:
            await work()

        def now() -> None:
            finish(work())

        return later if self.is_async else now

    async def _maybe(self, made: Any) -> Any:
        return await made if self.is_async else made

    # --- tasks and threads ---

    async def _thread(self, body: Body) -> None:
        """A thread that inherits nothing."""
        if self.is_async:
            await asyncio.get_running_loop().run_in_executor(None, asyncio.run, self._root(body))
            return
        failed: list[BaseException] = []
        thread = threading.Thread(target=caught, args=(lambda: finish(self._root(body)), failed))
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    def _worker(self, body: Body) -> Worker:
        worker = Worker(asyncio.Event if self.is_async else threading.Event)
        work = self._working(worker, body)
        if self.is_async:
            worker.kept = asyncio.create_task(work)
        else:
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(finish, work), daemon=True).start()
        return worker

    async def _working(self, worker: Worker, body: Body) -> None:
        here.set((worker, here.get()[1]))
        await self._maybe(worker.go.wait())
        try:
            await self._body(body)
        except BaseException as error:  # noqa: BLE001 - whoever resumed it is told
            worker.error = error
        worker.done = True
        worker.rests.set()

    async def _pause(self) -> None:
        worker = here.get()[0]
        if worker is not None:
            worker.go.clear()
            worker.rests.set()
            await self._maybe(worker.go.wait())

    async def _resume(self, worker: Worker) -> None:
        worker.rests.clear()
        worker.go.set()
        await self._maybe(worker.rests.wait())
        if worker.error is not None:
            raise worker.error
