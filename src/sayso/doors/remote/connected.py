"""`Sayso.connect()`: the same interface on a service. It decides and keeps the ledger; functions run here.

Over a connection nobody is believed that the user started something, that a caller is safe, or that one call
is part of another: those scopes are the gate's own process's alone, and asking for them is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, ParamSpec, Self, TypeVar

from sayso.core.decision import Decision, Item, Offer, Ruling
from sayso.core.hear import Heard
from sayso.core.model import Risk, Verdict
from sayso.doors.python import consent
from sayso.doors.python.results import Result
from sayso.doors.python.run import PATIENCE
from sayso.doors.remote.calling import check_host, operations
from sayso.doors.remote.door import AGENT, NotConnected, Remote
from sayso.doors.remote.finding import place_of
from sayso.doors.remote.line import Line, Sent
from sayso.doors.remote.session import ConnectedCall, ConnectedSession, listed
from sayso.gate.answer import Stands
from sayso.gate.grants import Listed

P = ParamSpec("P")
R = TypeVar("R")
Where = str | Path | Sequence[str | Path] | None
TOKEN = "SAYSO_TOKEN"  # noqa: S105  the name of the variable, not a token
OF_AGENTS = "sayso_agent_"


class Connected:
    """One service, and what Python code does with it."""

    def __init__(self, door: Remote) -> None:
        self.door = door

    # --- what needs consent ---

    def requires_consent(
        self,
        operation: str,
        *,
        risk: str | Risk | None = None,
        weight: str | Risk | None = None,
        reason: str | None = None,
        wait: float | None = None,
        live: Collection[str] = (),
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function runs only with consent for this operation, whoever calls it.

        If the service's policy has an entry for a tool of this name, the call is also what that entry reads
        in it. A declared risk can raise and never lower: only the policy says that something is low.
        """
        check_host(self.door)
        return consent.requires_consent(
            self.door, operation, risk=risk, weight=weight, reason=reason, wait=wait, live=live
        )

    def capability(
        self,
        name: str | None = None,
        *,
        operations: Iterable[str] | str = (),
        restartable: bool = False,
        health: Callable[[], object] | None = None,
        effect_key: Callable[..., str] | None = None,
        state: Callable[..., str] | None = None,
        reconcile: Callable[..., str | None] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function can be run by name, as a tool of that name: what it does is for the policy to say.

        What it declares in `operations` is looked at first, so that a run that would be denied is not begun;
        each is asked when it is reached. A run is never begun again by itself, `restartable` or not.
        """
        check_host(self.door)
        for what, told in (("effect_key", effect_key), ("state", state), ("reconcile", reconcile)):
            if told is not None:
                _refuse(f"{what} of a capability")
        declared = {
            "declared": consent.operations_of(operations),
            "restartable": restartable,
            "health": health,
        }

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            return consent.capability(self.door, function, name=name, **declared)

        return decorate

    def reduces_risk_for(self, operation: str, risk: str | Risk) -> NoReturn:
        _refuse("a safe caller")

    def list_risk_reducers(self) -> dict[str, dict[str, str]]:
        """There are none over a connection."""
        return {}

    def user_initiated(self, operation: str) -> NoReturn:
        _refuse("a user-initiated scope")

    def workflow(self, name: str, steps: Sequence[object], **declared: object) -> NoReturn:
        _refuse("a workflow")

    def replay(self, operation_id: str, **how: object) -> NoReturn:
        _refuse("a replay")

    # --- running ---

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: ConnectedSession | str | None = None,
        wait: float = PATIENCE,
        key: str | None = None,
    ) -> Result:
        """Run a capability: have it decided, ask, wait, and run it once, here."""
        return self._session(session).run(name, params, wait=wait, key=key)

    async def arun(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: ConnectedSession | str | None = None,
        wait: float = PATIENCE,
        key: str | None = None,
    ) -> Result:
        return await self._session(session).arun(name, params, wait=wait, key=key)

    def retry(
        self, operation_id: str, *, session: ConnectedSession | str | None = None, wait: float = PATIENCE
    ) -> Result:
        """Go on with a call that timed out, without its parameters."""
        return self._session(session).retry(operation_id, wait=wait)

    async def aretry(
        self, operation_id: str, *, session: ConnectedSession | str | None = None, wait: float = PATIENCE
    ) -> Result:
        return await self._session(session).aretry(operation_id, wait=wait)

    def check(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: ConnectedSession | str | None = None,
    ) -> Decision:
        """What would be decided if this were run now. Nothing is asked or used up."""
        capability = self.door.capabilities.find(name)
        plain = capability.shape.given(params or {})
        named = operations(self.door, capability)
        return _decision(self.door.check(capability, plain, self._session(session).id, named))

    def proposed(self, tool: str, args: Mapping[str, Any] | None = None, **how: Any) -> ConnectedCall:
        """A call that an agent's own program makes, in the agent's session."""
        return self._session(None).call(tool, args, **how)

    # --- sessions ---

    def session(
        self,
        name: str | None = None,
        *,
        agent: str = AGENT,
        user: str = "",
        workspace: str = "",
        parent: str | None = None,
    ) -> ConnectedSession:
        """A session of this token's that is open, by its id; without one, a new one with a clean slate."""
        if name is None:
            return ConnectedSession(self.door, self.door.open_session(agent, user, workspace, parent))
        self.door.line.ask(Sent("GET", f"/v1/sessions/{name}"))
        return ConnectedSession(self.door, name)

    def open_session(
        self, agent: str, *, user: str = "", workspace: str = "", parent: str | None = None
    ) -> str:
        return self.session(agent=agent, user=user, workspace=workspace, parent=parent).id

    def end_session(self, session: str) -> None:
        self.door.end_session(session)

    def hear(self, session: str, text: str) -> Heard:
        return ConnectedSession(self.door, session).hear(text)

    def list_consents(self, session: ConnectedSession | str) -> list[Listed]:
        """What is granted in this session now: the way to see that a grant landed."""
        return self._session(session).consents()

    # --- for an operator's token ---

    def questions(self, session: str | None = None) -> list[dict[str, Any]]:
        """The open questions this token may see, as the service tells them."""
        query = {} if session is None else {"session": session}
        found: list[dict[str, Any]] = self.door.line.ask(Sent("GET", "/v1/questions", query=query))
        return found

    def answer(self, question: str, given: str | Mapping[str, str], *, reason: str | None = None) -> Stands:
        """Answer a question: with one answer, or one for each item by its number. The token says who does."""
        what = {"answer": given} if isinstance(given, str) else {"items": given}
        said = self.door.line.ask(
            Sent("POST", f"/v1/questions/{question}/answer", {**what, "reason": reason}, again=False)
        )
        fields = ("question", "state", "answer", "by", "at", "yours")
        return Stands(**{name: said[name] for name in fields})

    def grants(self, session: str | None = None) -> list[Listed]:
        query = {} if session is None else {"session": session}
        return listed(self.door.line.ask(Sent("GET", "/v1/grants", query=query)))

    def revoke(self, grant: str) -> None:
        """End a grant. The next decision of any process does not use it."""
        self.door.line.ask(Sent("DELETE", f"/v1/grants/{grant}"))

    def close(self) -> None:
        """End what was only open for this program, and let the line go."""
        self.door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _session(self, session: ConnectedSession | str | None) -> ConnectedSession:
        if isinstance(session, ConnectedSession):
            return session
        return ConnectedSession(self.door, self.door.session_here() if session is None else session)


def connect(where: Where = None, token: str | None = None, *, start: bool = True) -> Connected:
    """The service at a URL or socket; without one, this user's own, which is started if it does not run.

    Several addresses are services on one store: while one is away, the next is asked.
    """
    token = token or os.environ.get(TOKEN)
    if not token:
        raise NotConnected(
            "a token is needed to speak to the service",
            hint=f"`sayso token new host NAME` makes one; give it to connect(), or in {TOKEN}",
        )
    named = [where] if where is None or isinstance(where, (str, Path)) else list(where)
    line = Line([place_of(one, start=start) for one in named], token)
    return Connected(Remote(line, agent=token.startswith(OF_AGENTS)))


def _refuse(what: str) -> NoReturn:
    raise NotConnected(
        f"{what} cannot be claimed over a connection", hint="that takes an embedded gate: Sayso.open()"
    )


def _decision(told: Mapping[str, Any]) -> Decision:
    """The decision as an object again, as far as the service tells it."""
    return Decision(
        Verdict(told["verdict"]),
        told["rule"],
        told["reason"],
        told["announce"],
        tuple(_item(one) for one in told["operations"]),
        tuple(told["grants"]),
        (),
        tuple(Offer(answer, "") for answer in told["offers"]),
    )


def _item(told: Mapping[str, Any]) -> Item:
    risk, weight = Risk.of(told["risk"]), Risk.of(told["weight"])
    ruling = Ruling(Verdict(told["verdict"]), told["rule"], told["reason"])
    return Item(told["operation"], told["category"], told["category"], risk, risk, weight, ruling)
