"""`sayso link` names the service that runs, and none that does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx
import msgspec
import pytest

from sayso.gate.open import gate_data_folder
from sayso.gate.running_services import FOLDER, AnnouncedService, announce_service, list_running_services
from tests.support.service_process import Home, command


def link(*words: str) -> tuple[str, str]:
    with command("link", *words) as process:
        out, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    return out, errors


def test_the_link_names_the_port_of_the_service_on_this_store_and_signs_in_there(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with home.serve() as service:
        out, errors = link("--store", home.store)
        assert out.startswith(f"http://localhost:{service.port}/sign-in#")
        assert "no service runs" not in errors
        assert len(out) > 60
        assert out.count("\n") == 1, "it can be copied, however narrow the terminal is"
        assert httpx.get(f"{service.url}/sign-in").status_code == 200
        told = json.loads(link("--store", home.store, "--url", "https://sayso.example.org", "--json")[0])
        assert told["url"].startswith("https://sayso.example.org/sign-in#")
    out, errors = link("--store", home.store)
    assert out.startswith("http://localhost:7333/sign-in#")
    assert "no service runs" in errors


def test_a_link_to_a_port_where_nobody_listens_says_so(home: Home) -> None:
    with home.serve() as service:
        _, errors = link("--store", home.store, "--url", service.url)
        assert "nobody answers" not in errors
        gone = service.url
    out, errors = link("--store", home.store, "--url", gone)
    assert out.startswith(f"{gone}/sign-in#")
    assert f"nobody answers at {gone}" in " ".join(errors.split())


def test_a_service_of_another_store_is_not_named_for_this_one(home: Home, tmp_path: Path) -> None:
    with home.serve():
        pass  # makes the store
    (tmp_path / "other").mkdir()
    other = Home(tmp_path / "other")
    with other.serve() as service:
        out, _ = link("--store", home.store)
        assert f":{service.port}/" not in out


def test_what_is_left_of_a_service_that_died_is_not_taken_for_one(home: Home) -> None:
    place = gate_data_folder() / FOLDER
    place.mkdir()
    file = place / "1.json"
    file.write_bytes(msgspec.json.encode(AnnouncedService("http://localhost:1", "name", "/nowhere")))
    assert list_running_services(gate_data_folder()) == []
    assert not file.exists()


def test_a_service_is_announced_as_long_as_it_runs_and_only_to_its_user(home: Home) -> None:
    served = AnnouncedService("http://localhost:1", "name", "/nowhere")
    with announce_service(served, gate_data_folder()):
        assert list_running_services(gate_data_folder()) == [served]
        (file,) = (gate_data_folder() / FOLDER).iterdir()
        assert file.stat().st_mode & 0o077 == 0
        assert file.stat().st_uid == os.getuid()
    assert list_running_services(gate_data_folder()) == []


def test_a_page_that_is_named_gets_the_link_of_its_own_service_beside_another(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    demo = Home(tmp_path / "other")
    with home.serve() as own, demo.serve() as other:
        out, errors = link("--url", f"http://127.0.0.1:{other.port}")
        assert out.startswith(f"http://localhost:{other.port}/sign-in#")
        assert str(other.port) in errors
        code = out.strip().partition("#")[2]
        taken = [
            httpx.post(f"{one.url}/sign-in", json={"code": code}, headers={"Origin": one.url}).status_code
            for one in (own, other)
        ]
        assert taken == [400, 200]
