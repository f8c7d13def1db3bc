"""`sayso serve` and `sayso people providers` with an oidc.json: whole, half, open, or without the extra."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from sayso.cli.commands.changing.people import people
from sayso.cli.main import app
from sayso.gate.settings import gate_config_folder
from sayso.service.providers.settings_file import providers_path
from tests.support.providers import CLIENT, SECRET, LoopbackProvider
from tests.support.service_process import Home, a_home, command

pytestmark = pytest.mark.slow
WITHOUT = "import sys; sys.modules['jwt'] = None; from sayso.cli.main import run_command; run_command()"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    return a_home(monkeypatch, tmp_path)


@pytest.fixture
def provider() -> Iterator[LoopbackProvider]:
    made = LoopbackProvider()
    yield made
    made.stop()


def write(provider: LoopbackProvider, mode: int = 0o600, **other: Any) -> None:
    whole = {"name": "corp", "issuer": provider.url, "client_id": CLIENT, "client_secret": SECRET, **other}
    file = providers_path()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(json.dumps([{name: value for name, value in whole.items() if value is not None}]))
    file.chmod(mode)


@pytest.mark.parametrize(
    ("mode", "other", "told"),
    [
        (0o600, {"client_secret": None}, "corp has no client_secret"),
        (0o600, {"issuer": "http://login.example"}, "corp: the issuer is not an address"),
        (0o640, {}, "others can read"),
    ],
    ids=["half", "not encrypted", "open"],
)
def test_a_service_with_half_a_provider_does_not_start(
    home: Home, provider: LoopbackProvider, mode: int, other: dict[str, Any], told: str
) -> None:
    write(provider, mode, **other)
    with command("serve", "--store", home.store, "--policy", str(home.policy), "--port", "0") as process:
        _, error = process.communicate(timeout=60)
    assert process.returncode != 0
    assert told in error
    assert SECRET not in error
    assert "Traceback" not in error


@pytest.mark.cold
def test_without_the_extra_it_is_named(home: Home, provider: LoopbackProvider) -> None:
    write(provider)
    where = ["--store", home.store, "--policy", str(home.policy), "--port", "0", "--socket", str(home.socket)]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "serve", *where],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert 'pip install "./sayso[oidc]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_a_service_offers_the_provider_and_people_providers_shows_it(
    home: Home, provider: LoopbackProvider
) -> None:
    write(provider, label="Example Corp")
    with home.serve() as service:
        page = f"http://localhost:{service.port}"
        assert httpx.get(f"{page}/sign-in-providers").json() == [{"name": "corp", "label": "Example Corp"}]
        begun = httpx.post(f"{page}/sign-in/corp/begin", headers={"Origin": page}).json()
        assert begun["url"].startswith(f"{provider.url}/authorization_endpoint?response_type=code")
        shown = CliRunner().invoke(people, ["providers"])
        assert shown.exit_code == 0, shown.output
        assert f"{page}/sign-in/corp" in shown.output
        assert "it can sign people in" in shown.output
        assert SECRET not in shown.output
    assert any("the policy names no people" in line for line in service.log)
    provider.stop()
    shown = CliRunner().invoke(people, ["providers", "--json"])
    assert shown.exit_code == 1
    assert json.loads(shown.output)[0]["good"] is False


@pytest.mark.parametrize(
    ("mode", "ids", "told", "good"),
    [
        (0o600, "oidc:corp/248289761001", "corp: it can sign people in: ana", True),
        (0o600, "page:ana", "corp: nobody in the policy has an id of it", False),
        (0o640, "page:ana", "oidc.json: others can read", False),
    ],
    ids=["whole", "nobody", "open"],
)
def test_doctor_says_whether_people_can_sign_in(
    home: Home, provider: LoopbackProvider, mode: int, ids: str, told: str, good: bool
) -> None:
    write(provider, mode)
    own = gate_config_folder() / "policy.yaml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(f'extends: [balanced]\npeople:\n  ana: {{ids: ["{ids}"]}}\n')
    done = CliRunner().invoke(app, ["doctor"])
    assert f"{'ok ' if good else 'BAD'}  {told}" in done.output, done.output
    assert SECRET not in done.output
    [found] = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)["sign_in"]
    assert found["good"] is good
