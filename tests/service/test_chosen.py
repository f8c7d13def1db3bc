"""The limits of the service are chosen by flags, else by the settings file; a wrong one is refused."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sayso.core.errors import SaysoError
from sayso.service.http.state import ServiceSettings
from sayso.service.settings import LIMITS, load_service_settings
from tests.support.service_process import Home, said


def write(home: Home, settings: Any) -> None:
    folder = home.folder / "XDG_CONFIG_HOME" / "sayso"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings))


def test_a_flag_wins_over_the_file_and_the_file_over_what_is_built_in(home: Home) -> None:
    assert load_service_settings({}) == ServiceSettings()
    write(home, {"service": {"rate": 7, "held": 8}, "approval_mode": "balanced"})
    chosen = load_service_settings({"rate": 9.0, "burst": None})
    assert (chosen.rate, chosen.held, chosen.burst) == (9.0, 8, ServiceSettings().burst)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0},
        {"rate": -1},
        {"rate": True},
        {"burst": "9"},
        {"burst": 1.5},
        {"waits": None},
        {"held": float("1e300")},
        {"open_metrics": 1},
        {"origins": ["https://elsewhere"]},
        {"rates": 1},
        [],
    ],
    ids=str,
)
def test_a_wrong_limit_in_the_file_is_refused_and_not_ignored(home: Home, wrong: Any) -> None:
    write(home, {"service": wrong})
    with pytest.raises(SaysoError):
        load_service_settings({})


def test_serve_documents_every_limit_and_refuses_a_wrong_one(home: Home) -> None:
    code, told = said("serve", "--help")
    assert code == 0
    for name in LIMITS:
        assert f"--{name.replace('_', '-')}" in told
    assert said("serve", "--rate", "0")[0] == 2


def test_a_limit_given_as_a_flag_holds(home: Home) -> None:
    with home.serve("--rate", "1", "--burst", "1") as service:
        headers = {"Authorization": f"Bearer {home.token('agent')}"}
        came = [httpx.get(f"{service.url}/v1/calls", headers=headers).status_code for _ in range(20)]
    assert came[0] == 200
    assert 429 in came
