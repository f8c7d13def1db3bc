"""What has to come of a program: a small model, written to be obvious, that shares no code with the gate.

It keeps the frames around each point of the program as a plain list, outermost first, and looks through all
of them and all grants every time.
"""

from __future__ import annotations

from collections.abc import Generator

from tests.property.nesting_state import (
    FLOORS,
    Consent,
    Frame,
    Grant,
    Item,
    Job,
    Ledger,
    Question,
    Where,
    declared,
    item_of,
)
from tests.property.nestings import (
    HIGH,
    LOW,
    MAIN,
    MODERATE,
    OTHER,
    OWN,
    WORLDS,
    Block,
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
    Stage,
    Start,
    waiting,
)

CARRIES = ("approved_call", "user_initiated", "operation_grant", "workflow_grant")
STRICTNESS = {"allow": 0, "ask": 1, "denied_call": 2, "blocked": 3}
Steps = Generator[None, None, None]


class Model:
    """Plays a program on paper. `decisions` and `events` are what the real gate has to come to."""

    def __init__(self, program: Program) -> None:
        self.program, self.world = program, WORLDS[program.world]
        self.sessions = {name: Ledger() for name in (MAIN, OTHER, OWN)}
        self.decisions: list[tuple[str, ...]] = []
        self.events: list[tuple[str, ...]] = []
        self.runs = 0
        self.asked = 0
        self.used: list[Grant] = []
        """The grants that the last decision used."""
        self._root(program.body, Where((), MAIN))

    # --- walking through the program ---

    def _root(self, body: Body, where: Where) -> None:
        for _ in self._walk(body, where):
            raise AssertionError("only tasks pause")

    def _walk(self, body: Body, where: Where) -> Steps:
        tasks: Block[Steps] = Block()
        inside = where.at(blocks=(*where.blocks, tasks))
        for node in body:
            yield from self._do(node, inside)
        while tasks:  # each in turn, until all are done
            tasks[:] = [task for task in tasks if next(task, True) is None]
        tasks.over = True

    def _do(self, node: Node, where: Where) -> Steps:
        match node:
            case Call():
                yield from self._call(node, where)
            case SafeCaller(operation, risk, body):
                yield from self._inside(Frame(where.session, lowers=(operation, risk)), body, where)
            case Click(body):
                click = Consent(clearings=self.sessions[where.session].clearings)
                yield from self._inside(Frame(where.session, click=True, consent=click), body, where)
            case Elsewhere(body):
                yield from self._walk(body, where.at(session=OTHER))
            case Start():
                yield from self._start(node, where)
            case Spawn(body, _, True):
                self._root(body, Where((), OWN))
            case Spawn(body, outlives, _):
                task = self._walk(body, where.at(in_task=True))
                waiting(where.blocks, outlives).append(task)
                next(task, None)
            case Pause():
                if where.in_task:
                    yield
            case _:
                self._operator(node, self.sessions[where.session])

    def _inside(self, frame: Frame, body: Body, where: Where) -> Steps:
        yield from self._walk(body, where.at(frames=(*where.frames, frame)))
        frame.open = False

    def _operator(self, node: Node, ledger: Ledger) -> None:
        match node:
            case Give(operation, risk, uses):
                self._give(ledger, operation, risk, uses)
            case Revoke(None):
                ledger.clear()
            case Revoke(operation):
                ledger.revoke(lambda g: g.kind == "operation" and g.value == operation)
            case Cascade(number):
                ledger.revoke(lambda g: g.kind in ("run", "workflow") and g.workflow == number)
            case _:
                raise AssertionError(f"{node} is nothing an operator does")

    def _give(self, ledger: Ledger, operation: str, risk: int | None, uses: int | None) -> None:
        fact = self.world.facts[operation]
        least = FLOORS[fact.listed] if fact.risk is None else fact.risk
        given = least if risk is None else risk
        too_risky = given == HIGH and uses != 1 and not self.world.standing
        if self.world.paranoid or fact.listed == "blocked" or fact.always_ask or given < least or too_risky:
            self.events.append(("refused", operation))
            return
        ledger.grants.append(Grant("operation", operation, given, uses=uses))

    # --- one gated call ---

    def _call(self, node: Call, where: Where) -> Steps:
        item, ledger = item_of(self.world, node.tool), self.sessions[where.session]
        job = where.job()
        if job is not None and job.stopped:
            return
        name, digest = node.tool.name, f"{node.tool.name} {node.slot}"
        answers = [node.answer or "deny"] * 9 if job is not None else [node.answer] if node.answer else []
        while True:
            verdict, rule, at = self._decide(item, digest, ledger, where)
            self.decisions.append((where.session, name, verdict, rule))
            if verdict == "allow":
                self.events.append(("ran", digest))
                passed_on = self._lowered(at, where)
                carries = {item.operation: passed_on.risk} if rule in CARRIES else {}
                consent = Consent(self.used, ledger.clearings)
                outer = Frame(where.session, granted=carries, weight=passed_on.weight, consent=consent)
                yield from self._inside(outer, node.body, where)
                return
            if verdict == "ask" and not ledger.asks(digest, rule, at):
                always = self._grant_of(at, node)
                helps = self._decide(item, digest, ledger.with_also(always), where)[0] == "allow"
                self.asked += 1
                ledger.questions[digest] = Question((at,), always if helps else None, rule)
            said = None
            if verdict == "ask" and answers:
                said = self._answered(answers.pop(0), digest, ledger)
                if job is not None and not job.goes_on(ledger):  # decided again after the wait
                    self.decisions.append((where.session, job.name, "deny", "going_on"))
                    job.stopped = True
                    return
            if job is not None and said in (None, "deny"):
                job.stopped = True
            if said is None or (job is not None and said == "deny"):
                return

    def _decide(  # noqa: C901 - it is the table, and a table is read from top to bottom
        self, item: Item, digest: str, ledger: Ledger, where: Where
    ) -> tuple[str, str, Item]:
        """Verdict and rule, and the item at the risk and weight it was decided at."""
        fact, lowered = self.world.facts[item.operation], self._lowered(item, where)
        self.used = []
        if fact.listed == "blocked":
            return "deny", "blocked", item
        if (grant := ledger.approval(digest, lowered)) is not None:
            self._use(ledger, grant)
            return "allow", "approved_call", item
        if digest in ledger.denied:
            return "deny", "denied_call", item
        if fact.always_ask:
            return "ask", "always_ask", item
        if any(frame.click and frame.consent.lasts(ledger) for frame in where.open()):
            return "allow", "user_initiated", item
        if self.world.paranoid:
            return "ask", "paranoid", item
        for frame in where.carrying():
            if not frame.consent.lasts(ledger):
                continue
            if frame.granted.get(item.operation, -1) >= item.risk:
                return "allow", "nested", item
            if frame.granted and item.weight <= min(frame.weight, MODERATE):
                return "allow", "nested", item
        if self._lowers_to(item, where) == LOW:
            return "allow", "reduced_risk", item
        item = lowered
        if (grant := ledger.operation_grant(item, digest, standing=self.world.standing)) is not None:
            self._use(ledger, grant)
            return "allow", "operation_grant", item
        if (grant := ledger.run_grant(item, where.run())) is not None:
            self._use(ledger, grant)
            return "allow", "workflow_grant", item
        if fact.listed == "autonomous" and item.risk < HIGH:
            return "allow", "autonomous", item
        if self.world.safe == "auto" and item.risk == LOW and fact.listed != "requires_approval":
            return "allow", "safe", item
        return "ask", "risky" if item.risk == HIGH else "ask", item

    def _use(self, ledger: Ledger, grant: Grant) -> None:
        self.used.append(grant)
        ledger.use(grant)

    def _grant_of(self, item: Item, node: Call) -> Grant:
        """What "always" would give."""
        only = f"{node.tool.name} {node.slot}" if self.world.exact else None
        return Grant("operation", item.operation, item.risk, only=only)

    def _answered(self, said: str, digest: str, ledger: Ledger) -> str:
        """The answer that is given; "always" only where it is offered."""
        question = ledger.questions.pop(digest)
        said = "once" if said == "always" and question.always is None else said
        self.events.append(("answered", said))
        if said == "deny":
            ledger.denied.add(digest)
            return said
        risk = max(item.risk for item in question.items)
        names = tuple(item.operation for item in question.items)
        wider = question.always if said == "always" else None
        ledger.grants.append(Grant("call", digest, risk, uses=1, operations=names, wider=wider))
        if wider is not None:
            ledger.grants.append(wider)
        return said

    # --- risks ---

    def _lowers_to(self, item: Item, where: Where) -> int | None:
        lowering = [f.lowers[1] for f in where.open() if f.lowers and f.lowers[0] == item.operation]
        return lowering[-1] if lowering else None

    def _lowered(self, item: Item, where: Where) -> Item:
        to = self._lowers_to(item, where)
        return item if to is None else Item(item.operation, min(item.risk, to), min(item.weight, to))

    # --- workflows ---

    def _start(self, node: Start, where: Where) -> Steps:
        ledger, name = self.sessions[where.session], f"workflow:w{node.workflow}"
        items = [declared(self.program, operation) for operation in self.program.declared(node.workflow)]
        while True:
            verdict, rule, asked = self._decide_start(node.workflow, items, ledger, where)
            self.decisions.append((where.session, name, verdict, rule))
            if verdict == "allow":
                break
            if verdict == "deny":
                return
            always = self._class_grant(node.workflow, items, asked)
            helps = self._decide_start(node.workflow, items, ledger.with_also(always), where)[0] == "allow"
            self.asked += 1
            ledger.questions.setdefault(name, Question(tuple(asked), always if helps else None))
            if self._answered(node.answer or "deny", name, ledger) == "deny":
                return
        carried = [item for item in items if item.weight < HIGH]
        self.runs += 1
        weight = max((item.weight for item in carried), default=LOW)
        names = tuple(item.operation for item in carried)
        run = (self.runs, node.workflow)
        grant = Grant("run", str(self.runs), weight, operations=names, workflow=node.workflow)
        ledger.grants.append(grant)
        job = Job(name, Consent([*self.used, grant], ledger.clearings))
        yield from self._steps(self.program.workflows[node.workflow], run, job, where)
        ledger.revoke(lambda one: one is grant)

    def _class_grant(self, workflow: int, items: list[Item], asked: list[Item]) -> Grant:
        weight = min(MODERATE, max(item.weight for item in asked))
        names = tuple(item.operation for item in items)
        return Grant("workflow", str(workflow), weight, operations=names, workflow=workflow)

    def _steps(self, stages: tuple[Stage, ...], run: tuple[int, int], job: Job, where: Where) -> Steps:
        for stage in stages:
            step = Frame(where.session, run=run, individual=stage.individual, job=job)
            yield from self._inside(step, stage.body, where)
            if job.stopped:
                return

    def _decide_start(
        self, workflow: int, items: list[Item], ledger: Ledger, where: Where
    ) -> tuple[str, str, list[Item]]:
        """The strictest of its operations decides; of equals the riskiest, of those the first."""
        said = [(*self._decide_item(workflow, item, ledger, where), item) for item in items]
        ranked = [(STRICTNESS[one[1] if one[0] == "deny" else one[0]], one[2].risk) for one in said]
        verdict, rule, _ = said[ranked.index(max(ranked))]
        if verdict == "allow":
            self.used = self._starting(workflow, items, ledger, where)
            for grant in self.used:
                ledger.use(grant)
        return verdict, rule, [item for one, _, item in said if one == "ask"]

    def _starting(self, workflow: int, items: list[Item], ledger: Ledger, where: Where) -> list[Grant]:
        """The grants that let these items start: the approval, or the trust in the workflow."""
        used: list[Grant | None] = []
        for item in items:
            _, rule = self._decide_item(workflow, item, ledger, where)
            approval = ledger.approval(f"workflow:w{workflow}", self._lowered(item, where))
            if rule == "approved_call":
                used.append(approval)
            if rule == "workflow_start":
                used.append(self._trust(workflow, item, ledger))
        return list({id(one): one for one in used if one is not None}.values())

    def _trust(self, workflow: int, item: Item, ledger: Ledger) -> Grant | None:
        for grant in ledger.grants:
            trusted = grant.kind == "workflow" and grant.workflow == workflow
            if trusted and item.weight <= (HIGH if grant.risk == MODERATE else LOW):
                return grant
        return None

    def _decide_item(self, workflow: int, item: Item, ledger: Ledger, where: Where) -> tuple[str, str]:
        fact, digest = self.world.facts[item.operation], f"workflow:w{workflow}"
        if fact.listed == "blocked":
            return "deny", "blocked"
        if ledger.approval(digest, self._lowered(item, where)) is not None:
            return "allow", "approved_call"
        if digest in ledger.denied:
            return "deny", "denied_call"
        if fact.always_ask:
            return "ask", "always_ask"
        if any(frame.click and frame.consent.lasts(ledger) for frame in where.open()):
            return "allow", "user_initiated"
        if self._trust(workflow, item, ledger) is not None:
            return "allow", "workflow_start"
        return ("allow" if item.weight == LOW else "ask"), "workflow_start"
