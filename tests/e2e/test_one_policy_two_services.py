"""Two services on one store, SQLite or PostgreSQL: one policy, one application, one message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from sayso.core.audit.events import ProposalChanged
from sayso.core.proposals.diffs import make_diff
from sayso.core.signed_messages import decode_secret, sign_message
from sayso.doors.python.calls.results import ConsentRequired
from sayso.gate.open import gate_data_folder, open_to_look
from sayso.gate.settings import gate_config_folder
from sayso.gate.trusted.settings_file import load_trusted_file, make_trusted_file
from tests.e2e.test_policy_file_commands import reads
from tests.support.changing_file import version_text, write_in_place
from tests.support.postgres_place import new_url
from tests.support.repository import ROOT
from tests.support.service_process import Home, Service, a_home, said

FREE, ASKS, BLOCKS = (version_text((tier, 1, 1)) for tier in (0, 1, 2))
KINDS = ["sqlite", "postgres"]


class Team:
    """Two services, each with a file of its own, and an operator at either."""

    def __init__(self, home: Home, first: str, second: str) -> None:
        self.home, self.files = home, (home.folder / "one.yaml", home.folder / "two.yaml")
        for file, text in zip(self.files, (first, second), strict=True):
            write_in_place(file, text)
        self.services: list[Service] = []

    def serve(self, *more: str) -> Service:
        number = len(self.services)
        named = more or ("--policy", str(self.files[number]))
        socket = self.home.folder / f"{number}.sock"
        arguments = ["--store", self.home.store, "--port", "0", "--socket", str(socket), *named]
        self.services.append(Service(arguments))
        return self.services[-1]

    def ask(self, service: Service, method: str, path: str, body: Any = None) -> httpx.Response:
        return httpx.request(
            method, f"{service.url}{path}", json=body, headers={"Authorization": f"Bearer {self.operator}"}
        )

    def start(self) -> tuple[Service, Service]:
        both = self.serve(), self.serve()
        self.operator, self.host = self.home.token("operator", "ana"), self.home.token("host")
        return both

    def read(self) -> list[bool]:
        """Return for each service whether a call that reads is allowed."""
        return [self.reads(one) for one in self.services]

    def reads(self, service: Service) -> bool:
        try:
            return reads(service, self.host)
        except ConsentRequired:
            return False


@pytest.fixture(params=KINDS)
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    made = a_home(monkeypatch, tmp_path)
    if request.param == "postgres":
        made.store = new_url(request.getfixturevalue("postgres_server"))
    return made


@pytest.fixture
def team(home: Home) -> Iterator[Team]:
    made = Team(home, FREE, FREE)
    yield made
    for one in made.services:
        one.__exit__()


def test_two_services_with_two_files_are_both_as_strict_as_the_stricter(team: Team) -> None:
    first, second = team.start()
    assert team.read() == [True, True]
    write_in_place(team.files[0], BLOCKS)
    assert team.reads(first) is False
    assert team.reads(second) is False  # though its own file is as it was
    write_in_place(team.files[0], FREE)
    assert team.read() == [False, False]
    for file in team.files:  # both services have it by now
        write_in_place(file, FREE)
    seen = team.ask(second, "GET", "/v1/policy/file").json()
    assert seen["state"] == "waits"
    assert any(one["operation"] == "mail.read" for one in seen["loosened"])
    body = {"content": seen["content"], "shown": seen["shown"]}
    assert team.ask(second, "POST", "/v1/policy/apply", body).json()["state"] == "in_force"
    assert team.read() == [True, True]


def test_an_old_file_of_another_service_keeps_holding_both(team: Team) -> None:
    write_in_place(team.files[0], BLOCKS)
    _, second = team.start()
    assert team.read() == [False, False]
    seen = team.ask(second, "GET", "/v1/policy/file").json()
    assert team.ask(second, "POST", "/v1/policy/apply", {k: seen[k] for k in ("content", "shown")}).is_success
    assert team.reads(team.services[0]) is False
    assert team.read() == [False, False]


def test_of_two_who_apply_at_once_one_does(team: Team) -> None:
    first, second = team.start()
    for file in team.files:
        write_in_place(file, BLOCKS)
    assert team.read() == [False, False]
    for file in team.files:
        write_in_place(file, FREE)
    assert team.read() == [False, False]
    seen = [team.ask(one, "GET", "/v1/policy/file").json() for one in (first, second)]
    assert seen[0]["shown"] == seen[1]["shown"]
    body = {"content": seen[0]["content"], "shown": seen[0]["shown"]}
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(team.ask, one, "POST", "/v1/policy/apply", body) for one in (first, second) * 4]
        codes = sorted(one.result().status_code for one in asked)
    assert codes == [200, *([409] * 7)]
    assert team.read() == [True, True]


def test_a_first_file_is_noticed_by_both_services(team: Team) -> None:
    first = team.serve("--approval", "balanced")
    second = team.serve("--approval", "balanced")
    team.operator, team.host = team.home.token("operator", "ana"), team.home.token("host")
    assert team.ask(second, "GET", "/v1/policy/file").status_code == 409
    gate_config_folder().mkdir(parents=True, exist_ok=True)
    own = gate_config_folder() / "policy.yaml"
    write_in_place(own, f"extends: [balanced]\n{FREE}")
    assert team.read() == [False, False]  # balanced does not know it, so it asks
    seen, other = (team.ask(one, "GET", "/v1/policy/file").json() for one in (first, second))
    assert seen == other
    assert seen["state"] == "waits"
    assert any(change["operation"] == "mail.read" for change in seen["loosened"])
    assert team.ask(first, "POST", "/v1/policy/apply", {k: seen[k] for k in ("content", "shown")}).is_success
    assert team.read() == [True, True]


def sign(name: str, body: bytes) -> dict[str, str]:
    secret = decode_secret(load_trusted_file(gate_data_folder() / "trusted.json").secrets[0].secret)
    stamp = int(time.time())
    return {
        "webhook-id": name,
        "webhook-timestamp": str(stamp),
        "webhook-signature": sign_message(secret, name, stamp, body),
    }


CHANGE = {
    "root": "memory",
    "diff": make_diff("lessons.md", "be brief\n", "be thorough\n"),
    "undo": "reverse",
    "reason": "people ask twice",
}


def test_a_message_counts_once_whichever_service_it_is_sent_to(team: Team) -> None:
    memory = team.home.folder / "memory"
    memory.mkdir()
    (memory / "lessons.md").write_text("be brief\n")
    gate_config_folder().mkdir(parents=True, exist_ok=True)
    roots = {"proposal_roots": {"memory": str(memory)}}
    (gate_config_folder() / "settings.json").write_text(json.dumps(roots))
    for file in team.files:
        write_in_place(file, "extends: [graph]\n")
    make_trusted_file(gate_data_folder() / "trusted.json")
    first, second = team.start()
    asked = {"operation": "self_modification.prune_stale_memory", "args": {"proposal": CHANGE}}
    body = json.dumps({"type": "sayso.request", "data": asked}).encode()
    headers = sign("msg_1", body)

    def send(service: Service) -> httpx.Response:
        return httpx.post(f"{service.url}/trusted/v1/messages", content=body, headers=headers, timeout=60)

    with ThreadPoolExecutor(8) as pool:
        answers = [one.result() for one in [pool.submit(send, one) for one in (first, second) * 4]]
    assert {one.status_code for one in answers} <= {200, 202, 409}, [one.text for one in answers]
    calls = {one.json()["operation_id"] for one in answers if one.status_code != 409}
    assert len(calls) == 1  # those that came before it was decided are told of the same call
    assert len(team.ask(first, "GET", "/v1/proposals").json()) == 1
    with second:
        second.kill()
    team.services.pop()
    assert send(team.serve()).status_code == 409
    assert len(team.ask(first, "GET", "/v1/proposals").json()) == 1


COOLS_AT_ONCE = (
    "  self_modification: {autonomous: [], requires_approval: [], blocked: [], cooling_period_hours: 0}\n"
)
DIES = """
import os, signal, sys
from sayso.gate.proposals import carry_out
replace = carry_out.replace_text
when = sys.argv.pop(1)
def die(*args, **more):
    if when == "after":
        replace(*args, **more)
    os.kill(os.getpid(), signal.SIGKILL)
carry_out.replace_text = die
from sayso.__main__ import main
main()
"""


def own_policy(text: str) -> Path:
    gate_config_folder().mkdir(parents=True, exist_ok=True)
    write_in_place(gate_config_folder() / "policy.yaml", text)
    return gate_config_folder() / "policy.yaml"


def crash_applying(home: Home, when: str, new: str) -> str:
    """Propose and approve a change of the policy, and let the process that applies it be killed."""
    draft = home.folder / "draft.yaml"
    draft.write_text(new)
    where = ("--store", home.store)
    code, told = said("propose", "new", "--new", str(draft), "--reason", "reading is free", *where, "--json")
    assert code == 0, told
    proposal: str = json.loads(told[told.index("{") :])["id"]
    assert said("propose", "approve", proposal, *where)[0] == 0
    killed = subprocess.run(
        [sys.executable, "-c", DIES, when, "propose", "apply", proposal, *where],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    return proposal


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_apply_that_is_killed_leaves_nothing_half_done(team: Team, when: str) -> None:
    old, new = f"extends: [balanced]\n{ASKS}{COOLS_AT_ONCE}", f"extends: [balanced]\n{FREE}{COOLS_AT_ONCE}"
    file = own_policy(old)
    with team.serve("--policy", str(file)) as service:
        service.stop()
    team.services.clear()
    proposal = crash_applying(team.home, when, new)
    assert file.read_text() == (new if when == "after" else old)
    if when == "before":
        assert said("propose", "withdraw", proposal, "--store", team.home.store)[0] == 0
    team.serve("--policy", str(file))
    second = team.serve("--policy", str(file))
    team.operator, team.host = team.home.token("operator", "ana"), team.home.token("host")
    found = team.ask(second, "GET", f"/v1/proposals/{proposal}").json()["proposal"]
    assert found["state"] == ("applied" if when == "after" else "withdrawn")
    assert team.read() == [when == "after"] * 2
    state = team.ask(second, "GET", "/v1/policy/file").json()["state"]
    assert state == "in_force"


def steps_in_trail(home: Home) -> list[str]:
    gate = open_to_look(home.store)
    with closing(gate.store), gate.store.read() as tx:
        rows = [row for stream in tx.streams() for row in tx.entries(stream, limit=1_000)]
    found = [json.loads(row.body or b"{}") for row in rows if row.event == ProposalChanged.event]
    return sorted(one["details"]["state"] for one in found)


def test_of_two_who_apply_a_proposal_at_once_one_does(team: Team) -> None:
    old, new = f"extends: [balanced]\n{ASKS}{COOLS_AT_ONCE}", f"extends: [balanced]\n{FREE}{COOLS_AT_ONCE}"
    file = own_policy(old)
    both = team.serve("--policy", str(file)), team.serve("--policy", str(file))
    team.operator, team.host = team.home.token("operator", "ana"), team.home.token("host")
    body = {"root": "policy", "diff": make_diff(file.name, old, new), "undo": "reverse", "reason": "free"}
    proposal = team.ask(both[0], "POST", "/v1/proposals", body).json()["id"]
    path = f"/v1/proposals/{proposal}"
    digest = team.ask(both[1], "GET", path).json()["digest"]
    assert team.ask(both[1], "POST", f"{path}/approve", {"digest": digest}).is_success
    assert team.read() == [False, False]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(team.ask, one, "POST", f"{path}/apply") for one in both * 4]
        codes = sorted(one.result().status_code for one in asked)
    # At most one: a service may have applied it by itself just before, as it does what has cooled.
    assert codes.count(200) <= 1, codes
    assert set(codes) <= {200, 409, 422, 503}, codes
    assert team.read() == [True, True]
    assert file.read_text() == new
    assert steps_in_trail(team.home) == ["applied", "applying", "approved", "proposed"]
    undone = [team.ask(one, "POST", f"{path}/undo", {"digest": digest}).status_code for one in both]
    assert undone[0] == 200
    assert undone[1] in (409, 422)
    assert team.read() == [False, False]
    assert file.read_text() == old
