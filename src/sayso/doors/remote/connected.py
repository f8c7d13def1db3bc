"""`Sayso.connect()`: the same interface on a service. It decides and keeps the ledger; functions run here.

Over a connection nobody is believed that the user started something, that a caller is safe, or that one call
is part of another: those scopes are the gate's own process's alone, and asking for them is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sayso.core.conversation.hearing import Heard
from sayso.core.ledger import NotNow
from sayso.core.model import Risk
from sayso.doors.python.host_call import Called
from sayso.doors.python.program import Program
from sayso.doors.python.values.inputs import check_workspace
from sayso.doors.remote.decode import decode_attempt, decode_grants
from sayso.doors.remote.discovery import find_service
from sayso.doors.remote.door import NotConnected, RemoteDoor
from sayso.doors.remote.line import ServiceLine, ServiceRequest
from sayso.doors.remote.session import ConnectedSession
from sayso.gate.decoding import convert_to
from sayso.gate.ledger.recovery import ask_tool_outcome
from sayso.gate.ledger.workflows import RunProgress
from sayso.gate.people.tokens import secret_prefix
from sayso.gate.questions.answer import QuestionStanding
from sayso.gate.sessions.operator_grants import ListedGrant
from sayso.gate.sessions.reopen import SessionWish

ServiceAddresses = str | Path | Sequence[str | Path] | None
TOKEN = "SAYSO_TOKEN"  # noqa: S105  the name of the variable, not a token


class Connected(Program[ConnectedSession]):
    """One service, and what Python code does with it.

    Where the service's policy has an entry for a tool of a function's name, a call is also what that entry
    reads in it. A declared risk or weight can raise and never lower: only the policy says that something is
    low. What a capability declares in `operations` is looked at first, so that a run that would be denied is
    not begun; each is asked when it is reached.
    """

    def __init__(self, door: RemoteDoor) -> None:
        self.door: RemoteDoor = door

    def reduces_risk_for(self, operation: str, risk: str | Risk) -> NoReturn:
        _refuse("a safe caller")

    def user_initiated(self, operation: str) -> NoReturn:
        _refuse("a user-initiated scope")

    def propose(self, tool: str, args: Mapping[str, Any] | None = None, **how: Any) -> Called:
        """A call that an agent's own program makes, in the agent's session."""
        return self._session(None).call(tool, args, **how)

    # --- sessions ---

    def session(
        self,
        name: str | None = None,
        *,
        key: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        workspace: str | None = None,
        parent: str | None = None,
    ) -> ConnectedSession:
        """A session of this token's that is open, by its id; without one, a new one with a clean slate.

        With a `key`, the session of this key and token is opened again, also after a restart. One that ended
        stays ended: then it is a new one, and `after` names the old one.
        """
        if name is None and key is not None:
            asked = SessionWish(agent, user, check_workspace(workspace) or None, parent)
            found = self.door.open_by_key(key, asked)
            return ConnectedSession(self.door, found.session, reopened=found.reopened, after=found.after)
        if name is None:
            return self.session_by_id(
                self.door.open_session(agent or "", user or "", workspace or "", parent)
            )
        self._ask(ServiceRequest("GET", f"/v1/sessions/{name}"))
        return self.session_by_id(name)

    def session_by_id(self, session: str) -> ConnectedSession:
        return ConnectedSession(self.door, session)

    def open_session(
        self, agent: str, *, user: str = "", workspace: str = "", parent: str | None = None
    ) -> str:
        return self.session(agent=agent, user=user, workspace=workspace, parent=parent).id

    def end_session(self, session: str) -> None:
        self.door.end_session(session)

    def hear(self, session: str, text: str) -> Heard:
        return self.session_by_id(session).hear(text)

    # --- runs ---

    def runs(self, session: ConnectedSession | str | None = None) -> list[RunProgress]:
        """Workflow runs under way, or that nobody ended, with how far each step has come."""
        query = {} if session is None else {"session": self._session(session).id}
        return convert_to(self._ask(ServiceRequest("GET", "/v1/runs", query=query)), list[RunProgress])

    def recover(self) -> dict[str, str]:
        """Ask the tools that can tell what became of their calls that nobody ended; what they said."""
        tools = self.door.reconcilers()
        left = [one for one in self._ask(ServiceRequest("GET", "/v1/calls")) if one["status"] == "ambiguous"]
        resolved: dict[str, str] = {}
        for attempt in map(decode_attempt, left):
            request = attempt.record.request
            tool = tools.get(request.call.tool)
            state = None if tool is None else ask_tool_outcome(tool, request)
            if state is not None and self._resolve(attempt.call, state):
                resolved[attempt.call] = state
        return resolved

    # --- for an operator's token ---

    def questions(self, session: str | None = None) -> list[dict[str, Any]]:
        """The open questions this token may see, as the service tells them."""
        query = {} if session is None else {"session": session}
        return self.door.line.ask_for_all("/v1/questions", query)

    def answer(
        self,
        question: str,
        given: str | Mapping[str, str],
        *,
        reason: str | None = None,
        seen: str | None = None,
    ) -> QuestionStanding:
        """Answer a question: with one answer, or one for each item by its number. The token says who does.

        `seen` is the digest of the call, if the person was shown all of it. Above moderate risk a yes needs
        it.
        """
        what = {"answer": given} if isinstance(given, str) else {"items": given}
        return self._send_answer(question, {**what, "reason": reason, "digest": seen})

    def edit(
        self,
        question: str,
        arguments: Mapping[str, Any],
        *,
        reason: str | None = None,
        seen: str | None = None,
        seen_edited: str | None = None,
    ) -> QuestionStanding:
        """Allow the call with other arguments. It is decided again with them: a deny stays a deny.

        `seen_edited` is the digest of the edited call, if the person was shown it (`POST …/edited` tells it).
        An edit that raises the risk above moderate needs it.
        """
        what = {"answer": "edit", "edited": arguments, "edited_digest": seen_edited}
        return self._send_answer(question, {**what, "reason": reason, "digest": seen})

    def grants(self, session: str | None = None) -> list[ListedGrant]:
        query = {} if session is None else {"session": session}
        return decode_grants(self.door.line.ask_for_all("/v1/grants", query))

    def revoke(self, grant: str, *, session: ConnectedSession | str | None = None) -> None:
        """End a grant by its id; or, in a session, all consent for what is named and the calls under way.

        The next decision of any process does not use it.
        """
        if session is None:
            self._ask(ServiceRequest("DELETE", f"/v1/grants/{grant}"))
        else:
            path = f"/v1/sessions/{self._session(session).id}/revoke"
            self._ask(ServiceRequest("POST", path, {"name": grant}))

    def cascade_revoke(self, workflow: str, *, session: ConnectedSession | str) -> int:
        """Withdraw trust in a workflow: its class grant and every run grant in flight; how many ended."""
        path = f"/v1/sessions/{self._session(session).id}/workflows/{workflow}/revoke"
        return int(self._ask(ServiceRequest("POST", path))["ended"])

    def close(self) -> None:
        """End what was only open for this program, and let the line go."""
        self.door.close()

    def _send_answer(self, question: str, body: Mapping[str, Any]) -> QuestionStanding:
        said = self._ask(ServiceRequest("POST", f"/v1/questions/{question}/answer", body, again=False))
        fields = ("question", "state", "answer", "by", "at", "yours")
        return QuestionStanding(**{name: said[name] for name in fields})

    def _resolve(self, call: str, state: str) -> bool:
        try:
            self._ask(ServiceRequest("POST", f"/v1/calls/{call}/resolve", {"state": state}, again=False))
        except NotNow:  # somebody else has said it meanwhile, and that stands
            return False
        return True

    def _ask(self, sent: ServiceRequest) -> Any:
        return self.door.line.ask(sent)


def connect(where: ServiceAddresses = None, token: str | None = None, *, start: bool = True) -> Connected:
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
    line = ServiceLine([find_service(one, start=start) for one in named], token)
    return Connected(RemoteDoor(line, agent=token.startswith(secret_prefix("agent"))))


def _refuse(what: str) -> NoReturn:
    raise NotConnected(
        f"{what} cannot be claimed over a connection", hint="that takes an embedded gate: Sayso.open()"
    )
