"""A run goes on where it stopped, in whichever process: no step that finished is entered again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso import Inbox, Sayso, Step
from sayso.core.ledger import LEASE
from sayso.gate.ledger.recovery import recover_calls, resolve_call
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.sqlite.store import SqliteStore
from tests.support.digest_program import POLICY, declare_digest
from tests.support.people import Person, answer_open, states
from tests.support.postgres_place import new_url
from tests.support.repository import ROOT


@pytest.fixture(autouse=True)
def our_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")


class Desk:
    """A store that several processes open, and what the steps in all of them wrote."""

    def __init__(self, store: str, folder: Path) -> None:
        self.store = store
        self.log = folder / "entered"
        self.log.touch()

    def entered(self) -> list[str]:
        return self.log.read_text().split()

    def elsewhere(self, second: str, session: str, call: str = "") -> list[str]:
        """Run or go on in another process: status, call and value."""
        start = "import sys; from tests.support.digest_program import main; main(*sys.argv[1:])"
        program = [sys.executable, "-c", start, self.store, str(self.log)]
        done = subprocess.run(
            [*program, second, session, call],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (0, 9), done.stderr
        return done.stdout.strip().split("\t")


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    on_file = request.param == "sqlite"
    store = str(tmp_path / "s.db") if on_file else new_url(request.getfixturevalue("postgres_server"))
    return Desk(store, tmp_path)


@pytest.fixture
def here(desk: Desk) -> Iterator[Sayso]:
    policy = desk.log.with_suffix(".yaml")
    policy.write_text(POLICY)
    with Sayso.open(policy, desk.store, surfaces=[Inbox()]) as gate:
        yield gate


def begun(gate: Sayso, session: str) -> str:
    """The run, allowed, and as far as it comes at once."""
    asked = gate.run("digest", {"sender": "bo"}, session=session, wait=0)
    answer_open(gate, "once")
    return gate.retry(asked.operation_id or "", session=session, wait=0).operation_id or ""


def test_no_finished_step_is_entered_again_after_a_late_answer(desk: Desk, here: Sayso) -> None:
    declare_digest(here, desk.log)
    session = here.session().id
    call = begun(here, session)
    assert (desk.entered(), states(here)["workflow:digest"]) == (["one", "two"], "waiting")
    answer_open(here, "once")
    assert desk.elsewhere("asks", session, call)[::2] == [
        "ok",
        "{'one': {'bo': ['a letter']}, 'two': 'bo', 'three': 'bo, 1 in all'}",
    ]
    assert desk.entered() == ["one", "two", "two", "share", "three"]


def test_no_finished_step_is_entered_again_after_a_failure(desk: Desk, here: Sayso) -> None:
    declare_digest(here, desk.log, "fails")
    session = here.session().id
    call = begun(here, session)
    assert states(here)["workflow:digest"] == "failed"
    assert desk.elsewhere("works", session, call)[:2] == ["timeout", call]  # it is asked for like a new run
    assert desk.entered() == ["one", "two"]
    answer_open(here, "once")
    assert desk.elsewhere("works", session, call)[:2] == ["ok", call]
    assert desk.entered() == ["one", "two", "two", "three"]
    assert desk.elsewhere("works", session, call)[0] == "ok"
    assert desk.entered() == ["one", "two", "two", "three"]


def test_a_step_whose_process_died_is_ambiguous_and_goes_on_only_if_the_operator_says_it_failed(
    tmp_path: Path,
) -> None:
    desk = Desk(str(tmp_path / "s.db"), tmp_path)
    ahead = LEASE + 10  # past the lease, and not so far that the clock is not trusted
    with (
        closing(SqliteStore(desk.store, clock=lambda: time.time() + ahead)) as store,
        Sayso(open_gate(load_text(POLICY), store), [Inbox()]) as gate,
    ):
        session = gate.session().id
        _, call, _ = desk.elsewhere("dies", session)
        answer_open(gate, "once")
        desk.elsewhere("dies", session, call)
        assert desk.entered() == ["one", "two"]
        recover_calls(gate.gate)
        assert states(gate)["workflow:digest"] == "ambiguous"
        assert desk.elsewhere("works", session, call)[0] == "error"
        resolve_call(gate.gate, call, "failed", by="ana")
        assert desk.elsewhere("works", session, call)[0] == "timeout"
        answer_open(gate, "once")
        assert desk.elsewhere("works", session, call)[0] == "ok"
        assert desk.entered() == ["one", "two", "two", "three"]


pytestmark = pytest.mark.each_store


def test_a_run_that_was_refused_at_a_gate_does_not_go_on(gate: Sayso, person: Person) -> None:
    entered: list[str] = []

    @gate.requires_consent("tasks.delete", risk="high")
    def delete() -> None:
        entered.append("delete")

    steps = [Step("one", lambda: entered.append("one"), operations=("tasks.create",)), Step("two", delete)]
    gate.workflow("day", steps)
    session = gate.session()
    person.says("always", "deny")
    stopped = session.run("day")
    assert (stopped.status, entered) == ("denied", ["one"])
    assert session.retry(stopped.operation_id or "", wait=0).status == "error"
    assert (entered, states(gate)["workflow:day"]) == (["one"], "failed")


def test_no_step_is_repeated_whose_result_could_not_be_kept(gate: Sayso, person: Person) -> None:
    entered: list[str] = []

    def one() -> object:
        entered.append("one")
        return object()

    def two(one: object) -> None:
        entered.append("two")
        raise ValueError("no")

    gate.workflow("day", [Step("one", one, operations=("tasks.create",)), Step("two", two)])
    session = gate.session()
    person.says("always")
    call = session.run("day").operation_id or ""
    again = session.retry(call, wait=0)
    assert (again.status, entered) == ("error", ["one", "two"])
    assert "what the step one returned could not be kept" in (again.reason or "")


def test_a_run_goes_on_more_often_than_one_step_may_be_begun(gate: Sayso, person: Person) -> None:
    entered: list[str] = []

    @gate.requires_consent("tasks.delete", risk="high")
    def delete(number: int) -> None:
        entered.append(f"delete {number}")

    def step(number: int) -> Step:
        return Step(f"step{number}", lambda: delete(number), operations=("tasks.create",))

    gate.workflow("day", [step(number) for number in range(5)])
    session = gate.session()
    person.says("once")
    last = session.run("day", wait=0.05)
    for _ in range(5):
        answer_open(gate, "once")
        last = session.retry(last.operation_id or "", wait=0)
    assert (last.status, entered) == ("ok", [f"delete {number}" for number in range(5)])


def test_no_run_goes_on_with_steps_that_are_others_now(gate: Sayso, person: Person) -> None:
    entered: list[str] = []

    def fails() -> None:
        raise ValueError("no")

    gate.workflow(
        "day", [Step("one", lambda: entered.append("one"), operations=("tasks.create",)), Step("two", fails)]
    )
    session = gate.session()
    person.says("always")
    call = session.run("day").operation_id or ""
    del gate.door.workflows["day"]
    gate.workflow("day", [Step("one", lambda: None, operations=("tasks.create",)), Step("three", fails)])
    assert session.retry(call, wait=0).status == "error"
    assert entered == ["one"]
