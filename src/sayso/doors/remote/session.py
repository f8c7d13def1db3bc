"""A session over a connection. Who may do what is the service's to say: hearing and plans are a host's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.lifecycle import Report
from sayso.core.session.plan_text import PlanText
from sayso.doors.python.host_call import Called
from sayso.doors.python.session import AnySession
from sayso.doors.python.values.inputs import check_params
from sayso.doors.remote.decode import decode_grants, decode_heard, decode_plan_text, decode_report
from sayso.doors.remote.door import RemoteDoor
from sayso.doors.remote.line import ServiceRequest
from sayso.gate.sessions.operator_grants import ListedGrant


class ConnectedSession(AnySession):
    """One session of one agent, kept by the service."""

    def __init__(self, door: RemoteDoor, name: str, **how: Any) -> None:
        super().__init__(door, name, **how)
        self._door = door

    def hear(self, text: str) -> Heard:
        """Take a user's message. Whether it counts as assured is the service's to say."""
        return decode_heard(self._ask("POST", "messages", {"text": text}))

    def plan(self, plan: str | Mapping[str, Any], *, shown: bool = True) -> PlanText:
        return decode_plan_text(self._ask("POST", "plans", {"plan": plan, "shown": shown}))

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        command: str | None = None,
        confidence: float = 0.0,
        call_id: str | None = None,
    ) -> Called:
        body = {
            "tool": tool,
            "args": check_params(args),
            "command": command,
            "confidence": confidence,
            "call_id": call_id,
        }
        return Called(self._door, self._door.propose(self.id, body))

    def begin_task(self, name: str) -> Report:
        return decode_report(self._ask("POST", "tasks", {"name": name}))

    def end_task(self) -> Report:
        return decode_report(self._ask("DELETE", "tasks"))

    def switch(self) -> Report:
        return decode_report(self._ask("POST", "switch"))

    def offer_handoff(self) -> str | None:
        return _text(self._ask("GET", "handoff/offer"))

    def handoff(self) -> None:
        self._ask("POST", "handoff/save")

    def show_handoff(self) -> str | None:
        return _text(self._ask("GET", "handoff"))

    def take_handoff(self) -> tuple[str, ...]:
        return tuple(self._ask("POST", "handoff/take")["commands"])

    def consents(self) -> list[ListedGrant]:
        query = {"session": self.id} if self.id else {}
        return decode_grants(self._door.line.ask_for_all("/v1/grants", query))

    def _ask(self, method: str, what: str, body: Any = None) -> Any:
        return self._door.line.ask(
            ServiceRequest(method, f"/v1/sessions/{self.id}/{what}", body, again=False)
        )


def _text(said: Mapping[str, Any]) -> str | None:
    return None if said["ask"] is None else str(said["ask"])
