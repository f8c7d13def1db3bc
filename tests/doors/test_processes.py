"""Whoever answers, in whichever process: the answer lands in the session that asked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.surfaces.inbox import Inbox
from tests.support.people import questions, sends, states
from tests.support.repository import ROOT

OPERATOR = """
import sys
from sayso import Sayso
from sayso.surfaces.inbox import Inbox
from tests.support.people import questions
policy, store, answer = sys.argv[1:]
with Sayso.open(policy, store, surfaces=[Inbox()]) as gate:
    print("looking", flush=True)
    mark = 0
    while not (found := questions(gate, "open")):
        mark = gate.gate.store.wait_for_change(mark, 60)
    print(gate.answer(found[0].id, answer, by="ana").state)
"""

AGENT = """
import sys
from sayso import Sayso
from sayso.surfaces.inbox import Inbox
from tests.support.people import sends
policy, store, session, call = sys.argv[1:]
with Sayso.open(policy, store, surfaces=[Inbox()]) as gate:
    sends(gate)
    print(gate.retry(call, session=session, wait=0).value)
"""


OTHER = """
    @gate.capability()
    @gate.requires_consent("mail.send", risk="moderate")
    def send(to: str) -> str:
        print("another function ran")
"""


def tell(script: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@contextmanager
def operator(policy: Path, store: Path, answer: str) -> Iterator[None]:
    words = [sys.executable, "-c", OPERATOR, str(policy), str(store), answer]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "looking\n"
        yield
        assert process.stdout.read() == "answered\n"


@pytest.fixture(autouse=True)
def our_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")


@pytest.fixture
def shared(policy: Path, tmp_path: Path) -> Iterator[Sayso]:
    with Sayso.open(policy, tmp_path / "s.db", surfaces=[Inbox()]) as gate:
        sends(gate)
        yield gate


def test_a_run_that_waits_is_answered_by_another_process(shared: Sayso, policy: Path, tmp_path: Path) -> None:
    with operator(policy, tmp_path / "s.db", "once"):
        assert shared.run("send", {"to": "ana"}).value == "sent to ana, 1"


def test_an_approval_after_the_callers_timeout_lands_in_the_session_that_asked(
    shared: Sayso, policy: Path, tmp_path: Path
) -> None:
    session, other = shared.session(), shared.session()
    result = session.run("send", {"to": "ana"}, wait=0)
    assert result.status == "timeout"
    with operator(policy, tmp_path / "s.db", "always"):
        pass
    assert {one.value for one in shared.list_consents(session) if one.kind == "operation"} == {"mail.send"}
    assert shared.list_consents(other) == []
    assert other.run("send", {"to": "ana"}, wait=0).status == "timeout"
    assert session.retry(result.operation_id or "").value == "sent to ana, 1"


def test_a_call_can_be_retried_by_another_process_and_runs_in_one(
    shared: Sayso, policy: Path, tmp_path: Path
) -> None:
    session = shared.session()
    result = session.run("send", {"to": "ana"}, wait=0)
    shared.answer(questions(shared, "open")[0].id, "once", by="ana")
    words = (str(policy), str(tmp_path / "s.db"), session.id, result.operation_id or "")
    assert tell(AGENT, *words) == "sent to ana, 1\n"
    assert session.retry(result.operation_id or "").value == "sent to ana, 1"
    assert states(shared) == {"send": "succeeded"}


def test_a_retry_runs_only_the_function_that_was_approved(
    shared: Sayso, policy: Path, tmp_path: Path
) -> None:
    session = shared.session()
    result = session.run("send", {"to": "ana"}, wait=0)
    shared.answer(questions(shared, "open")[0].id, "once", by="ana")
    words = (str(policy), str(tmp_path / "s.db"), session.id, result.operation_id or "")
    assert tell(AGENT.replace("sends(gate)", OTHER), *words) == "None\n"
    assert session.retry(result.operation_id or "").value == "sent to ana, 1"
