"""Notices in a program with its own gate: told once on one of its surfaces, and VISIBLE only with one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sayso import Inbox, Sayso
from sayso.core.audit.notices import Notice
from sayso.core.errors import SaysoError
from sayso.core.model import Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.deliveries import telling
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.notices import QUEUE
from sayso.gate.deliveries.rests import LONGEST_PAUSE
from sayso.gate.open import gate_data_folder
from sayso.policy import load_text
from sayso.surfaces.remote.settings_file import add_surface
from tests.support.boards import Board
from tests.support.gates import KEY, no_settings
from tests.support.people import Person

__all__ = ["no_settings"]
PLACES = {"null": "", "named": "settings: {notices: person}"}


def open_graph(store: Path | None, *surfaces: Person | Inbox, more: str = "") -> Sayso:
    policy = load_text(f"extends: [graph]\n{more}")
    return Sayso.open(policy, store, surfaces=surfaces, key=None if store is None else KEY)


def decide(gate: Sayso, operation: str = "email.send") -> str:
    session = gate.session(agent="mailer").id
    request = make_request(make_call("do", {}), [Operation(operation)], session=session, confidence=0.95)
    decision = gate.authorize(request).decision
    return f"{decision.verdict.value} {decision.rule}"


@pytest.mark.parametrize("more", PLACES.values(), ids=PLACES)
def test_a_confident_call_runs_and_is_told_on_the_first_surface_once(tmp_path: Path, more: str) -> None:
    first, second = Person(), Person()
    second.name = "second"
    gate = open_graph(tmp_path / "own.db", first, second, more=more)
    assert decide(gate) == "allow confident"
    assert decide(gate, "self_modification.modify_soul_md") == "deny blocked"
    gate.close()
    assert [("email.send" in one, "modify_soul_md" in one) for one in first.notices] == [
        (True, False),
        (False, True),
    ]
    assert not second.notices


def test_another_program_tells_what_one_that_died_did_not(tmp_path: Path) -> None:
    died, next_one = Person(), Person()
    gate = open_graph(tmp_path / "own.db", died)
    assert gate.door.telling is not None
    gate.door.telling.stop(tell=False)
    gate.door.telling = None
    assert decide(gate) == "allow confident"
    gate.close()
    open_graph(tmp_path / "own.db", next_one).close()
    open_graph(tmp_path / "own.db", next_one).close()
    assert not died.notices
    assert len(next_one.notices) == 1


def test_a_surface_that_tells_nobody_is_no_place_for_notices(tmp_path: Path) -> None:
    with open_graph(tmp_path / "own.db", Inbox(), Person(here=False)) as gate:
        assert decide(gate) == "ask ask"


def test_a_name_that_is_no_surface_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SaysoError, match="'nowhere' in the policy is not a surface"):
        open_graph(tmp_path / "own.db", Person(), more="settings: {notices: nowhere}")


@pytest.mark.parametrize("named", [False, True])
def test_where_the_operator_has_surfaces_the_service_tells(no_settings: Path, named: bool) -> None:
    """On the operator's own store, by whichever name: the program's notices go where all the others do."""
    add_surface("ntfy", {"name": "phone", "topic": "t"})
    person = Person()
    own = gate_data_folder() / "sayso.db" if named else None
    gate = Sayso.open(load_text("extends: [graph]"), own, surfaces=[person])
    assert gate.gate.notices_to == "phone"
    assert decide(gate) == "allow confident"
    gate.close()
    assert not person.notices


@pytest.mark.parametrize("asks_here", [True, False])
def test_the_services_first_start_tells_what_programs_did_before(no_settings: Path, asks_here: bool) -> None:
    add_surface("ntfy", {"name": "phone", "topic": "t"})
    with open_graph(None, *([Person()] if asks_here else [])) as gate:
        assert decide(gate) == "allow confident"
    phone = Board("phone")
    with open_graph(None) as again:
        service = Dispatcher(again.gate, (phone,), notices_to=lambda: "phone")
        while service.send_notices():
            pass
    assert ["email.send" in one.text for one in phone.told.values()] == [True]


def test_a_surface_that_hangs_holds_up_neither_opening_nor_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "ENDS_WITHIN", 0.1)
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    class Stuck(Person):
        def tell(self, notice: Notice, key: str) -> None:
            begun.set()
            go_on.wait(20)
            ended.set()

    died = open_graph(tmp_path / "own.db", Person())
    assert died.door.telling is not None
    died.door.telling.stop(tell=False)
    assert decide(died) == "allow confident"
    died.door.telling = None
    died.close()
    gate = open_graph(tmp_path / "own.db", Stuck())
    assert begun.wait(20)
    gate.close()
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(20)


def test_a_notice_that_cannot_be_told_is_kept(tmp_path: Path) -> None:
    class Broken(Person):
        def tell(self, notice: Notice, key: str) -> None:
            raise OSError("gone")

    gate = open_graph(tmp_path / "own.db", Broken())
    assert decide(gate) == "allow confident"
    gate.close()
    with open_graph(tmp_path / "own.db", Person()) as again, again.gate.store.read() as tx:
        (row,) = tx.deliveries_due(QUEUE, by=tx.now + LONGEST_PAUSE, limit=10)
        assert "gone" in (row.error or "")
