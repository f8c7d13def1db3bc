"""Doors with a line in between: a program connected to a service, plain HTTP, and an MCP client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import msgspec
import uvicorn
from mcp import Client

from sayso import ConsentDenied, ConsentRequired, Sayso
from sayso.core.errors import SaysoError
from sayso.core.policy import Policy
from sayso.doors.mcp.serve import make_server
from sayso.doors.remote.connected import Connected, connect
from sayso.doors.remote.session import ConnectedSession
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import Role, issue_token
from sayso.policy import load_preset
from sayso.service.app import make_app
from sayso.service.http.state import ServiceSettings, ServiceState
from sayso.service.serve import Address, open_sockets
from sayso.store.memory.store import MemoryStore
from tests.support.door_rows import Expected, Made, Row
from tests.support.doors_in_process import (
    KEY,
    REFUSED,
    STATUSES,
    Disagreement,
    DoorUnderTest,
    Functions,
    World,
    as_told,
    compare,
    own_gate,
    told,
    worst_of,
)

VERDICTS = {"allowed": "allow", "pending": "ask", "denied": "deny", "blocked": "deny"}


class Served:
    """One service on a free port, for all rows: each puts its own policy in force, in sessions of its own."""

    def __init__(self, running: ServiceState, url: str) -> None:
        self.running, self.url = running, url
        self._store = running.gate.store
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=30)
        self.tokens = {role: self.token(role) for role in ("host", "operator")}

    def token(self, role: Role) -> str:
        return issue_token(self.running.gate, role, role, by="test", assured=role == "host")[0]

    def put_in_force(self, policy: Policy) -> None:
        gate = open_gate(policy, self._store, key=KEY)
        self.running.gate = msgspec.structs.replace(gate, surfaces=("phone",))

    def ask(self, token: str, method: str, path: str, body: Any = None) -> Any:
        """What comes back; refused requests are errors."""
        headers = {"Authorization": f"Bearer {token}"}
        response = self.http.request(method, path, json=body, headers=headers)
        if response.status_code >= 400:
            assert response.status_code < 500, response.text
            raise SaysoError(response.text)
        return response.json()

    def answer(self, session: str, answer: str) -> None:
        """A person answers the one question of this session."""
        operator = self.tokens["operator"]
        (question,) = self.ask(operator, "GET", f"/v1/questions?session={session}")
        path = f"/v1/questions/{question['id']}/answer"
        assert self.ask(operator, "POST", path, {"answer": answer})["yours"]


@contextmanager
def serving() -> Iterator[Served]:
    """The service in a thread of this process, until the tests are over."""
    gate = open_gate(load_preset("balanced"), MemoryStore(), key=KEY)
    with ExitStack() as held:
        sockets = open_sockets(Address(port=0), held)
        address = Address(port=sockets[0].getsockname()[1])
        app = make_app(gate, hosts=address.names, settings=ServiceSettings(rate=1e9, burst=1_000_000))
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": list(sockets)})
        thread.start()
        served = Served(app.state.running, f"http://127.0.0.1:{address.port}")
        try:
            yield served
        finally:
            served.http.close()
            server.should_exit = True
            thread.join()


class OverConnection(DoorUnderTest):
    """Python code with `Sayso.connect()`: the shared part of running by name, calling, and hosts."""

    kind = "connection"

    def __init__(self, world: World, served: Served) -> None:
        self.world, self.served = world, served

    def decide(self, row: Row) -> Expected:
        try:
            self.served.put_in_force(row.in_force())
            with connect(self.served.url, self.served.tokens["host"]) as gate:
                functions = Functions(gate, [*row.before, row])
                session = gate.session(workspace=str(self.world.workspace))
                for step in row.before:
                    self._before(gate, session, functions, step)
                functions.ran.clear()
                return self._decided(gate, session, functions, row)
        except SaysoError:
            return REFUSED

    def _before(self, gate: Connected, session: ConnectedSession, functions: Functions, step: Made) -> None:
        if step.hear is not None:
            session.hear(step.hear)
            return
        self._made(gate, session, functions, step)
        if step.answer is not None:
            self.served.answer(session.id, step.answer)

    def _decided(
        self, gate: Connected, session: ConnectedSession, functions: Functions, row: Row
    ) -> Expected:
        checked = None
        if row.declared is not None:
            checked = as_told(gate.check(row.tool, row.args, session=session))
        made = self._made(gate, session, functions, row)
        compare(checked, made, functions.ran)
        return made

    def _made(self, gate: Connected, session: ConnectedSession, functions: Functions, made: Made) -> Expected:
        raise NotImplementedError

    def _in_ledger(self, call: str) -> Expected:
        return _of_call(self.served.ask(self.served.tokens["host"], "GET", f"/v1/calls/{call}"))


def _of_call(answer: Mapping[str, Any]) -> Expected:
    return Expected(answer["verdict"], answer["rule"], worst_of(answer["operations"]) or answer["risk"])


class ConnectedRun(OverConnection):
    """`run`, by name, over a connection."""

    needs = "declared bare"

    def _made(self, gate: Connected, session: ConnectedSession, functions: Functions, made: Made) -> Expected:
        result = session.run(made.tool, made.args, wait=0)
        if result.operation_id is None:
            return REFUSED
        decided = self._in_ledger(result.operation_id)
        if result.status not in STATUSES[decided.verdict]:
            raise Disagreement(f"{decided}, and the run is {result.status}")
        return decided


class ConnectedCall(OverConnection):
    """A decorated function of a connected program, called as any function is."""

    needs = "declared"

    def _made(self, gate: Connected, session: ConnectedSession, functions: Functions, made: Made) -> Expected:
        checked = as_told(gate.check(made.tool, made.args, session=session))
        with session.active():
            try:
                functions.by_tool[made.tool](**made.args)
            except ConsentRequired as error:
                return self._in_ledger(error.operation_id)
            except ConsentDenied as error:
                return msgspec.structs.replace(checked, verdict="deny", rule=error.rule)
        return msgspec.structs.replace(checked, verdict="allow")


class ConnectedHost(OverConnection):
    """A connected host that runs its agent's calls itself."""

    needs, carries_confidence = "tool", True

    def _made(self, gate: Connected, session: ConnectedSession, functions: Functions, made: Made) -> Expected:
        called = session.call(made.tool, made.args, confidence=made.confidence or 0.0)
        return self._in_ledger(called.operation_id)


class Http(DoorUnderTest):
    """`POST /v1/check` and `POST /v1/calls`, with a host's token."""

    kind, needs, carries_confidence = "connection", "tool declared", True

    def __init__(self, world: World, served: Served) -> None:
        self.world, self.served = world, served

    def decide(self, row: Row) -> Expected:
        try:
            self.served.put_in_force(row.in_force())
            token, session = self._opened()
            for step in row.before:
                self._before(token, session, step)
            body = self._body(session, row)
            checked = told(self.served.ask(token, "POST", "/v1/check", body))
            answer = self.served.ask(token, "POST", "/v1/calls", body)
        except SaysoError:
            return REFUSED
        made = _of_call(answer)
        compare(checked, made, ())
        if VERDICTS[answer["status"]] != made.verdict:
            raise Disagreement(f"{made}, and the call is {answer['status']}")
        return made

    def _opened(self) -> tuple[str, str | None]:
        """A token, and the session its calls name."""
        token, body = self.served.tokens["host"], {"agent": "a", "workspace": str(self.world.workspace)}
        return token, self.served.ask(token, "POST", "/v1/sessions", body)["id"]

    def _before(self, token: str, session: str | None, step: Made) -> None:
        if step.hear is not None:
            self.served.ask(token, "POST", f"/v1/sessions/{session}/messages", {"text": step.hear})
            return
        answer = self.served.ask(token, "POST", "/v1/calls", self._body(session, step))
        if step.answer is not None:
            self.served.answer(answer["session"], step.answer)

    def _body(self, session: str | None, made: Made) -> dict[str, Any]:
        body: dict[str, Any] = {"tool": made.tool, "args": made.args, "session": session}
        if made.declared is not None:
            body["operations"] = [{"operation": made.declared.operation, "risk": made.declared.risk}]
        return body | ({} if made.confidence is None else {"confidence": made.confidence})


class HttpAgent(Http):
    """The same with an agent's token: its session has no workspace, and a declaration only adds."""

    kind, hears = "agent", False

    def cannot(self, row: Row) -> str | None:
        if starts_at_workspace(row):
            return "has no folder"
        return super().cannot(row)

    def _opened(self) -> tuple[str, str | None]:
        return self.served.token("agent"), None


class HttpAgentAnyhow(HttpAgent):
    """The same for calls whose paths start at a workspace, which its session does not have.

    It sends them as they stand, or, with `absolute`, as the paths they lead to.
    """

    def __init__(self, world: World, served: Served, *, absolute: bool) -> None:
        super().__init__(world, served)
        self.absolute = absolute

    def cannot(self, row: Row) -> str | None:
        return DoorUnderTest.cannot(self, row) if starts_at_workspace(row) else "has no such path"

    def _body(self, session: str | None, made: Made) -> dict[str, Any]:
        body = super()._body(session, made)
        if self.absolute:
            body["args"] = {name: self._whole(value) for name, value in made.args.items()}
        return body

    def _whole(self, value: object) -> object:
        if isinstance(value, list):
            return [self._whole(one) for one in value]
        return str(self.world.workspace / str(value)) if _is_relative(value) else value


def starts_at_workspace(row: Row) -> bool:
    """Whether a path of the row's call starts at the workspace."""
    values = (one for value in row.args.values() for one in (value if isinstance(value, list) else [value]))
    return any(map(_is_relative, values))


def _is_relative(value: object) -> bool:
    """Whether it is the path of a row that starts at the workspace: these have a dot and no slash."""
    paths = (".txt", ".env", "id_ed25519")
    return isinstance(value, str) and value.endswith(paths) and value[0] not in "~/" and " " not in value


class Mcp(DoorUnderTest):
    """The tools `check` and `run` of an MCP server, with the SDK's own client."""

    kind, needs = "embedded", "declared bare"

    def __init__(self, world: World) -> None:
        self.world = world

    def decide(self, row: Row) -> Expected:
        with own_gate(row.in_force()) as gate:
            try:
                functions = Functions(gate, [*row.before, row])
            except SaysoError:
                return REFUSED
            return asyncio.run(self._decided(gate, functions, row))

    async def _decided(self, gate: Sayso, functions: Functions, row: Row) -> Expected:
        async with Client(make_server(gate)) as client:
            for step in row.before:
                await self._before(client, gate, step)
            functions.ran.clear()
            checked = await _tool(client, "check", name=row.tool, params=row.args)
            if checked.get("status") == "error":
                return REFUSED
            decided = Expected(checked["verdict"], checked["rule"], worst_of(checked["operations"]))
            result = await _tool(client, "run", name=row.tool, params=row.args, wait=0)
            if result["status"] not in STATUSES[decided.verdict]:
                raise Disagreement(f"{decided}, and the run is {result}")
            compare(None, decided, functions.ran)
            return decided

    async def _before(self, client: Client, gate: Sayso, step: Made) -> None:
        if step.hear is None:
            await _tool(client, "run", name=step.tool, params=step.args, wait=0)
        else:  # any call opens the client's session
            await _tool(client, "list_consents")
        with gate.gate.store.read() as tx:
            (session,) = {row.id for row in tx.sessions()}
            questions = list(tx.questions(session))
        if step.hear is not None:
            gate.hear(session, step.hear)
        elif step.answer is not None:
            gate.answer(questions[0].id, step.answer, by="test")


async def _tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    content: dict[str, Any] = result.structured_content or {}
    return content
