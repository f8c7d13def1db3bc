"""Consent taken back by name, over the service and at the command line: no run goes on with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso.doors.remote.connected import Connected
from sayso.doors.remote.line import ServiceRefusal
from sayso.gate.sessions.operator_grants import UnknownGrant
from tests.service.programs import asked, say
from tests.support.service_process import PATIENCE, Home, Service, command

Revoke = Callable[[Home, Connected, str, str], None]


class Program:
    """A function that needs consent, with a gate inside it that nobody declared."""

    def __init__(self, gate: Connected) -> None:
        self.gate = gate
        self.entered: list[str] = []

        @gate.requires_consent("git.push")
        def publish() -> str:
            self.entered.append("publish")
            return "published"

        @gate.capability(restartable=True)
        @gate.requires_consent("tasks.create", risk="moderate")
        def make() -> str:
            self.entered.append("make")
            return publish()

    def parked(self, operator: Connected) -> str:
        """A run that was allowed, entered, and waits at the gate inside it, which was allowed since."""
        first = self.gate.run("make", wait=0)
        say(operator, asked(operator)[0], "once")
        waiting = self.gate.retry(first.operation_id or "", wait=0)
        assert (waiting.status, self.entered) == ("timeout", ["make"])
        say(operator, asked(operator)[0], "once")
        return first.operation_id or ""


def by_message(home: Home, operator: Connected, session: str, name: str) -> None:
    operator.session_by_id(session).hear(f"Revoke consent for: {name}")


def by_program(home: Home, operator: Connected, session: str, name: str) -> None:
    operator.revoke(name, session=session)


def at_the_command_line(home: Home, operator: Connected, session: str, name: str) -> None:
    ran = command("revoke", name, "--session", session, "--store", home.store)
    said, error = ran.communicate(timeout=PATIENCE)
    assert ran.returncode == 0, error
    assert "under way" in said


@pytest.mark.parametrize(
    "revoke", [by_message, by_program, at_the_command_line], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("name", ["tasks.create", "make"])
def test_no_run_of_a_connected_program_goes_on_after_it_was_named_in_a_revocation(
    home: Home, served: Service, name: str, revoke: Revoke
) -> None:
    host = home.token("host", assured=True)
    with served.connect(host) as gate, served.connect(home.token("operator")) as operator:
        program = Program(gate)
        call = program.parked(operator)
        session = gate.door.own_session()
        revoke(home, gate if revoke is by_message else operator, session, name)
        for _ in range(2):
            assert gate.retry(call, wait=0).status == "denied"
        assert program.entered == ["make"]


def test_a_name_that_means_nothing_is_refused_and_the_run_goes_on(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        program = Program(gate)
        call = program.parked(operator)
        session = gate.door.own_session()
        with pytest.raises(UnknownGrant, match="no consent for"):
            operator.revoke("calendar.read", session=session)
        with pytest.raises(ServiceRefusal):
            gate.revoke("tasks.create", session=session)  # a host is no operator
        ran = command("revoke", "calendar.read", "--session", session, "--store", home.store)
        assert ran.communicate(timeout=PATIENCE)[1].startswith("sayso: ")
        assert ran.returncode == 1
        assert gate.retry(call, wait=0).status == "ok"
