"""What has decayed asks, and every door says so alike: decisions, the page's API, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from sayso.doors.python.calls.results import ConsentRequired
from tests.e2e.test_one_policy_two_services import home, own_policy
from tests.support.commands import run_command
from tests.support.service_process import Home, Service

__all__ = ["home"]

NOW = datetime.now(UTC)
REVIEWED: dict[str, tuple[str, bool]] = {
    "fresh": (f"last_reviewed: {NOW.date()}", False),
    "day29": (f"last_reviewed: {(NOW - timedelta(days=29)).date()}", False),
    "day30": (f"last_reviewed: {(NOW - timedelta(days=30)).date()}", True),
    "ahead": (f"last_reviewed: {(NOW + timedelta(days=2)).date()}", True),
    "garbled": ("last_reviewed: last spring", True),
    "absent": ("last_reviewed: null", False),
    "seen": ("", False),
}
"""Each domain's date, and whether it has decayed."""


def policy_text() -> str:
    def line(name: str, date: str) -> str:
        dated = f", {date}" if date else ""
        return f"  {name}: {{autonomous: [look], requires_approval: [], blocked: []{dated}}}\n"

    return "domains:\n" + "".join(line(name, date) for name, (date, _) in REVIEWED.items())


@pytest.fixture
def service(home: Home) -> Iterator[Service]:
    own_policy(policy_text())
    with Service(["--store", home.store, "--port", "0", "--socket", str(home.socket)]) as running:
        yield running


def decide(service: Service, host: str) -> dict[str, bool]:
    """Return for each domain whether its permission asks."""
    found = {}
    with closing(service.connect(host)) as connected:
        for name in REVIEWED:
            act = connected.requires_consent(f"{name}.look")(lambda: None)
            try:
                act()
                found[name] = False
            except ConsentRequired:
                found[name] = True
    return found


def test_decisions_the_page_and_the_commands_say_the_same(home: Home, service: Service) -> None:
    expected = {name: decayed for name, (_, decayed) in REVIEWED.items()}
    operator, host = home.token("operator", "ana"), home.token("host")
    headers = {"Authorization": f"Bearer {operator}"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return run_command([*words, "--store", home.store], dict(os.environ))

    def check_all() -> None:
        assert decide(service, host) == expected
        shown = httpx.get(f"{service.url}/v1/policy", headers=headers).json()["domains"]
        assert {one["name"]: one["decayed"] for one in shown} == expected
        reviews = httpx.get(f"{service.url}/v1/policy/reviews", headers=headers).json()
        assert {one["domain"]: one["decay"]["decayed"] for one in reviews} == expected
        listed = json.loads(run("policy", "review", "--json").stdout)
        assert {one["domain"]: one["decay"]["decayed"] for one in listed} == expected
        checked = {name: run("check", name, "look").returncode for name in REVIEWED}
        assert checked == {name: 3 if decayed else 0 for name, decayed in expected.items()}

    check_all()
    reviews = httpx.get(f"{service.url}/v1/policy/reviews", headers=headers).json()
    digest = next(one["digest"] for one in reviews if one["domain"] == "day30")
    kept = httpx.post(f"{service.url}/v1/policy/reviews/day30", json={"digest": digest}, headers=headers)
    assert kept.is_success, kept.text
    expected["day30"] = False
    check_all()
    again = httpx.post(f"{service.url}/v1/policy/reviews/day30", json={"digest": digest}, headers=headers)
    assert again.status_code == 409  # what was shown was reviewed since
