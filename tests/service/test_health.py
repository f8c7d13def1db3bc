"""What the service says of its health is true, costs nothing, and tells strangers nothing of the inside."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import gate_data_folder, open_gate
from sayso.gate.upkeep.faults import try_to_write
from sayso.service.http.state import ServiceSettings
from sayso.store.contract import StoreError
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.service.conftest import KEY, POLICY_READ
from tests.support.failing_disks import FAILS, SAYSO_WITH_FAILING_SYNCS, fail_sync, no_room
from tests.support.service import READ, Service
from tests.support.service_process import PATIENCE, Home, said
from tests.support.service_process import Service as Served

LONG = {"tool": "read_file", "args": {"path": "a" * 30_000}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def gate(path: Path) -> Iterator[Gate]:
    with closing(SqliteStore(path)) as store:
        yield open_gate(POLICY_READ, store, key=KEY)


@pytest.fixture
def service(gate: Gate, runner: asyncio.Runner) -> Service:
    return Service(gate, runner, ServiceSettings(open_metrics=True))


def check_sick(service: Service, path: Path) -> httpx.Response:
    answer = service.get(None, "/healthz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "store"
    assert "the store" in answer.json()["detail"]
    assert str(path) not in answer.text
    assert path.name not in answer.text
    assert "sayso_store_writable 0" in service.get(None, "/metrics").text
    return answer


def test_no_answer_says_where_a_sick_store_is(
    service: Service, gate: Gate, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with no_room(path):
        answers = [service.post("agent", "/v1/calls", LONG)]
    gate.store.close()
    stranger = {"Authorization": "Bearer sayso_made_up"}
    answers += [service.get(who, "/v1/audit") for who in ("agent", "operator")]
    answers += [service.get(None, "/v1/audit", headers=stranger), service.post("agent", "/v1/calls", READ)]
    assert {answer.status_code for answer in answers} == {503}
    for answer in answers:
        assert path.name not in answer.text
        assert answer.json()["code"] == "store"
    assert str(path) in caplog.text


def check_well(service: Service) -> None:
    assert service.get(None, "/healthz").text == "ok"
    text = service.get(None, "/metrics").text
    assert "sayso_store_writable 1" in text
    assert "sayso_open_questions 0" in text


def test_a_store_closed_by_a_failed_sync_is_told_to_everybody(
    service: Service, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_well(service)
    with monkeypatch.context() as patch:
        patch.setattr(log_sync, "sync_file", fail_sync)
        assert service.post("agent", "/v1/calls", LONG).status_code == 503
    for _ in range(2):
        told = check_sick(service, path)
        assert "closed" in told.json()["detail"]
        assert "sayso serve --restart" in told.json()["hint"]
        assert "Input/output" not in told.text


def test_a_file_that_was_moved_away_can_be_put_back(service: Service, path: Path) -> None:
    moved = path.rename(path.with_suffix(".moved"))
    assert service.post("agent", "/v1/calls", READ).status_code == 503
    told = check_sick(service, path)
    assert "put the store's file back" in told.json()["hint"]
    moved.rename(path)
    assert service.post("agent", "/v1/calls", READ).status_code == 200
    check_well(service)


def test_a_full_disk_is_told_until_something_can_be_written(service: Service, gate: Gate, path: Path) -> None:
    with no_room(path):
        assert service.post("agent", "/v1/calls", LONG).status_code == 503
        told = check_sick(service, path)
        assert "cannot be written" in told.json()["detail"]
        assert "restart" not in told.text
    check_sick(service, path)
    try_to_write(gate)  # as the service does by itself
    check_well(service)


EVALUATED = {
    "subject": {"type": "agent", "id": "a"},
    "action": {"name": "files.read"},
    "resource": {"type": "file", "id": "a.txt"},
}


@pytest.mark.parametrize(
    ("path_of", "body", "permitted"),
    [
        ("/access/v1/evaluation", EVALUATED, '"decision":true'),
        ("/access/v1/evaluations", {"evaluations": [EVALUATED]}, '"decision":true'),
        ("/v1/check", READ, '"verdict":"allow"'),
    ],
)
def test_nothing_is_permitted_while_the_store_is_known_not_to_be_writable(
    service: Service, gate: Gate, path: Path, path_of: str, body: dict[str, object], permitted: str
) -> None:
    """What an enforcement point acts on rests on a store in which no revocation could be written."""
    assert permitted in service.post("agent", path_of, body).text
    with no_room(path):
        service.post("agent", "/v1/calls", LONG)
        answer = service.post("agent", path_of, body)
    assert (answer.status_code, answer.json()["code"]) == (503, "store")
    try_to_write(gate)
    assert permitted in service.post("agent", path_of, body).text


def test_what_may_be_written_again_is_known_by_the_next_call(service: Service, path: Path) -> None:
    with no_room(path):
        service.post("agent", "/v1/calls", LONG)
    check_sick(service, path)
    assert service.post("agent", "/v1/calls", READ).status_code == 200
    check_well(service)


def test_on_a_disk_that_is_still_full_nothing_is_made_up(service: Service, gate: Gate, path: Path) -> None:
    with no_room(path):
        service.post("agent", "/v1/calls", LONG)
        with pytest.raises(StoreError, match="disk"):
            try_to_write(gate)
        check_sick(service, path)


def test_neither_a_probe_nor_a_service_that_is_well_writes_anything(
    service: Service, gate: Gate, path: Path
) -> None:
    service.post("agent", "/v1/calls", READ)
    files = [path, Path(f"{path}-wal")]
    before = [(one.stat().st_size, one.stat().st_mtime_ns) for one in files]
    for _ in range(20):
        assert service.get(None, "/healthz").status_code == 200
    try_to_write(gate)
    assert [(one.stat().st_size, one.stat().st_mtime_ns) for one in files] == before


def status(home: Home, *more: str) -> tuple[int, str]:
    code, told = said("serve", "--store", home.store, "--socket", str(home.socket), "--status", *more)
    return code, " ".join(told.split())


def caller(home: Home, service: Served) -> Callable[[], int]:
    """An agent of this service: makes a call, and returns the status of the answer."""
    headers = {"Authorization": f"Bearer {home.token('agent')}"}
    body = {"tool": "tidy", "args": {"text": "a" * 30_000}, "operations": [{"operation": "tasks.read"}]}

    def call() -> int:
        sent = httpx.post(f"{service.url}/v1/calls", json=body, headers=headers, timeout=PATIENCE)
        return sent.status_code

    return call


def test_its_status_tells_of_a_failed_sync_and_is_1_until_it_is_restarted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = home.folder / "broken"
    monkeypatch.setenv(FAILS, str(broken))
    with home.serve(program=SAYSO_WITH_FAILING_SYNCS) as service:
        call = caller(home, service)
        assert call() == 200
        code, told = status(home)
        assert (code, "health ok" in told) == (0, True)
        broken.touch()
        assert call() == 503
        code, told = status(home)
        assert code == 1
        assert "health the store was closed" in told
        assert "sayso serve --restart" in told
        code, told = status(home, "--json")
        (found,) = json.loads(told)
        assert (code, "the store was closed" in found["trouble"]) == (1, True)
        broken.unlink()
        with home.serve("--restart") as again:
            assert status(home)[0] == 0
            assert caller(home, again)() == 200
    assert "Input/output error" in "".join(service.log)  # for whoever looks after it


def test_its_status_tells_of_a_full_disk_and_it_recovers_by_itself(home: Home) -> None:
    with home.serve() as service:
        call = caller(home, service)
        assert call() == 200
        with no_room(Path(home.store), service.process.pid):
            assert call() == 503
            code, told = status(home)
            assert (code, "health the store cannot be written" in told) == (1, True)
        until = time.monotonic() + PATIENCE
        while status(home)[0] and time.monotonic() < until:
            """It tries again every few seconds."""
        assert status(home)[0] == 0


def test_its_status_tells_of_a_service_that_does_not_answer(home: Home) -> None:
    with home.serve() as service:
        home.socket.unlink()
        code, told = status(home)
        assert (code, "health it does not answer" in told) == (1, True)
        assert service.process.poll() is None


def test_the_doctor_agrees(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.store = str(gate_data_folder() / "sayso.db")  # the one it looks for
    broken = home.folder / "broken"
    monkeypatch.setenv(FAILS, str(broken))
    with home.serve(program=SAYSO_WITH_FAILING_SYNCS) as service:
        call = caller(home, service)
        assert (call(), "ok   service: runs at" in said("doctor")[1]) == (200, True)
        broken.touch()
        assert call() == 503
        code, told = said("doctor")
        assert code == 1
        assert "BAD  service: runs at" in told
        assert "the store was closed" in " ".join(told.split())
