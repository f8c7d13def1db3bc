"""A pending call survives the end of its program: a key opens its session again, and a retry finds it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.core.errors import SaysoError
from sayso.gate.open import open_gate
from sayso.gate.rows.mark import file as watermark_file
from sayso.gate.rows.mark.versions import FORGOTTEN_AFTER
from sayso.gate.rows.tampering import Tampered
from sayso.gate.sealed_values import is_value
from sayso.gate.sessions.reopen import OtherSession
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_file
from sayso.surfaces.inbox import Inbox
from tests.support.gates import KEY, Clock, embedded
from tests.support.people import Person, answer_open, events, questions, sends
from tests.support.repository import ROOT

pytestmark = pytest.mark.each_store


def opened(policy: Path, store: Path) -> Sayso:
    return Sayso.open(policy, store, surfaces=[Inbox()])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


PROGRAM = """
import os, sys
from sayso import Sayso
from sayso.surfaces.inbox import Inbox
from tests.support.people import sends
policy, store, *how = sys.argv[1:]
gate = Sayso.open(policy, store, surfaces=[Inbox()])
sends(gate)
session = gate.session(key=how[0]) if how else None
print(gate.run("send", {"to": "ana"}, session=session, wait=0).operation_id, flush=True)
os._exit(9)
"""


def crashed(policy: Path, store: Path, monkeypatch: pytest.MonkeyPatch, *how: str) -> str:
    """The call of a program that asked for something and died."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
    words = [sys.executable, "-c", PROGRAM, str(policy), str(store), *how]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 9, done.stderr
    return done.stdout.strip()


def test_a_call_of_a_program_that_died_is_found_by_its_id_alone(
    policy: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = crashed(policy, store, monkeypatch)
    with opened(policy, store) as gate:
        sent = sends(gate)
        assert gate.retry(call, wait=0).status == "timeout"
        answer_open(gate)
        assert gate.retry(call).value == "sent to ana, 1"
        assert gate.retry(call).value == "sent to ana, 1"
        assert sent == ["ana"]


def test_a_key_opens_the_session_of_a_program_that_died(
    policy: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = crashed(policy, store, monkeypatch, "nightly")
    with opened(policy, store) as gate:
        sends(gate)
        session = gate.session(key="nightly")
        assert (session.reopened, session.after) == (True, None)
        answer_open(gate, "always")
        assert session.retry(call).value == "sent to ana, 1"
    with opened(policy, store) as again:
        sends(again)
        assert again.session(key="nightly").run("send", {"to": "ana"}).ok, "its grants live on with it"


def test_a_session_that_ended_stays_ended_and_the_new_one_begins_clean(gate: Sayso, person: Person) -> None:
    sends(gate)
    first = gate.session(key="nightly")
    assert (first.reopened, first.after) == (False, None)
    person.says("always")
    assert first.run("send", {"to": "ana"}).ok
    first.end()
    second = gate.session(key="nightly")
    assert second.id != first.id
    assert (second.reopened, second.after) == (False, first.id)
    assert second.consents() == []
    assert gate.session(key="nightly").id == second.id
    assert first.run("send", {"to": "ana"}).status == "error"


def test_a_stop_lives_on_in_the_session_that_a_key_opens_again(gate: Sayso, person: Person) -> None:
    sends(gate)
    session = gate.session(key="nightly")
    person.says("always")
    assert session.run("send", {"to": "ana"}).ok
    session.hear("stop")
    assert gate.session(key="nightly").run("send", {"to": "ana"}, wait=0).status == "timeout"


def test_another_owner_has_another_session_under_the_same_key(gate: Sayso) -> None:
    ana, ben = gate.session(key="nightly", owner="ana"), gate.session(key="nightly", owner="ben")
    assert ana.id != ben.id
    assert gate.session(key="nightly", owner="ana").id == ana.id


@pytest.mark.parametrize(
    "other", [{"agent": "other"}, {"user": "ben"}, {"workspace": "/srv"}, {"parent": "s_none"}]
)
def test_a_key_does_not_open_a_session_that_differs_from_what_was_said(
    gate: Sayso, other: dict[str, str]
) -> None:
    session = gate.session(key="nightly", agent="gardener", user="ana", workspace="/home")
    assert gate.session(key="nightly").id == session.id
    assert gate.session(key="nightly", agent="gardener", user="ana", workspace="/home").id == session.id
    with pytest.raises(OtherSession, match=next(iter(other))):
        gate.session(key="nightly", **other)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b", "a\nb"])
def test_what_is_no_key_opens_nothing(gate: Sayso, key: str) -> None:
    with pytest.raises(SaysoError, match="key"):
        gate.session(key=key)
    assert "SESSION_OPENED" not in events(gate)


def test_many_that_open_a_key_at_once_get_one_session(gate: Sayso) -> None:
    ready = threading.Barrier(6)

    def open_it(_: int) -> str:
        ready.wait(60)
        return gate.session(key="nightly").id

    with ThreadPoolExecutor(6) as threads:
        assert len(set(threads.map(open_it, range(6)))) == 1


def test_a_session_that_ended_long_ago_does_not_keep_its_key_from_a_new_one(
    clock: Clock, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark_file, "SPARE", 5)
    with embedded("sqlite", tmp_path, clock) as store:
        gate = Sayso(open_gate(load_file(policy), store, key=KEY, marks=tmp_path), [])
        first = gate.session(key="nightly")
        first.end()
        clock.now += 2 * FORGOTTEN_AFTER
        session = gate.session()
        for _ in range(60):
            session.hear("hello")
        assert gate.gate.sealer.mark.floor > 0, "the mark has dropped what is old"
        found = gate.session(key="nightly")
        assert (found.reopened, found.after) == (False, first.id)


def test_a_key_put_back_or_taken_away_by_hand_opens_nothing(gate: Sayso) -> None:
    first = gate.session(key="nightly")
    with gate.gate.store.write() as tx:
        (name,) = (name for name in _metas(tx) if name.startswith("session-key/") and is_value(name))
        before = tx.meta(name)
        assert before is not None
    first.end()
    assert gate.session(key="nightly").id != first.id
    with gate.gate.store.write() as tx:
        tx.set_meta(name, before)
    with pytest.raises(Tampered):
        gate.session(key="nightly")


def _metas(tx: object) -> Iterator[str]:
    from sayso.store.contract import MetaRow

    return (row.name for row in tx.every(MetaRow))  # type: ignore[attr-defined]


# --- whose calls a retry finds ---


def test_a_retry_without_a_session_finds_that_of_the_call(gate: Sayso) -> None:
    sends(gate)
    session = gate.session()
    late = session.run("send", {"to": "ana"}, wait=0)
    answer_open(gate)
    result = gate.retry(late.operation_id or "")
    assert result.value == "sent to ana, 1"


def test_a_retry_never_finds_the_call_of_a_tokens_session(gate: Sayso) -> None:
    sends(gate)
    other = open_session(gate.gate, agent="a", owner="t_0123456789abcdef")
    late = gate.run("send", {"to": "ana"}, session=other, wait=0)
    answer_open(gate)
    found = gate.retry(late.operation_id or "")
    assert found.status == "error"
    assert (found.reason or "").startswith(f"there is no call {late.operation_id}")


@pytest.mark.parametrize("owner", ["someone", "PYTHON", "python ", "", "ana:1:x"])
def test_a_retry_without_a_session_never_finds_the_call_of_another_owner(gate: Sayso, owner: str) -> None:
    sent = sends(gate)
    late = gate.session(owner=owner).run("send", {"to": "ana"}, wait=0)
    keyed = gate.session(key="O", owner=owner).run("send", {"to": "ben"}, wait=0)
    for row in questions(gate, "open"):
        gate.answer(row.id, "once", by="ana", seen=row.digest)
    for one in (late, keyed):
        found = gate.retry(one.operation_id or "", wait=0)
        assert found.status == "error"
        assert "session=" in (found.reason or ""), "it says how to go on with it"
    assert sent == []
    assert gate.retry(late.operation_id or "", session=questions(gate)[0].session).ok


def test_a_retry_never_finds_the_call_of_a_process_that_still_runs(
    policy: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
    program = PROGRAM.replace("os._exit(9)", "sys.stdin.read()")
    words = [sys.executable, "-c", program, str(policy), str(store)]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        call = other.stdout.readline().strip()
        with opened(policy, store) as gate:
            sent = sends(gate)
            answer_open(gate)
            assert gate.retry(call, wait=0).status == "error"
            assert sent == []
            other.kill()
            other.wait()
            assert gate.retry(call, wait=0).ok


def test_inside_a_session_a_retry_finds_its_owners_calls_alone(gate: Sayso) -> None:
    sent = sends(gate)
    ana, ben, more = gate.session(owner="ana"), gate.session(owner="ben"), gate.session(owner="ana")
    late = ana.run("send", {"to": "ana"}, wait=0)
    answer_open(gate)
    with ben.active():
        assert gate.retry(late.operation_id or "").status == "error"
    assert sent == []
    with more.active():
        assert gate.retry(late.operation_id or "").ok
    assert sent == ["ana"]


def test_a_session_that_is_named_is_the_only_one_looked_in(gate: Sayso) -> None:
    sends(gate)
    one, other = gate.session(), gate.session()
    late = one.run("send", {"to": "ana"}, wait=0)
    answer_open(gate)
    assert gate.retry(late.operation_id or "", session=other).status == "error"
    assert other.retry(late.operation_id or "").status == "error"
    assert questions(gate)
    assert one.retry(late.operation_id or "").ok
