"""`sayso policy status | apply | lock | unlock`, and their twins on the service."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sayso.core.audit import events
from sayso.doors.python.calls.results import ConsentDenied
from sayso.doors.sayso import Sayso
from sayso.gate.open import open_to_look
from sayso.gate.policy_acts.file_flags import unprotect_file
from sayso.gate.settings import gate_config_folder
from tests.support.changing_file import version_text, write_in_place
from tests.support.commands import run_command
from tests.support.service_process import Home, Service, a_home, said


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    made = a_home(monkeypatch, tmp_path)
    write_in_place(made.policy, version_text((0, 0, 0)))
    return made


@pytest.fixture
def service(home: Home) -> Iterator[Service]:
    with home.serve() as running:
        yield running
    unprotect_file(home.policy)


def policy(home: Home, command: str, *more: str) -> tuple[int, str]:
    return said("policy", command, "--policy", str(home.policy), "--store", home.store, *more)


def unwrapped(text: str) -> str:
    """Return what was printed without line ends: where they are depends on how long the file's path is."""
    return " ".join(text.split())


def reads(service: Service, token: str) -> bool:
    """Return whether a call that reads is allowed."""
    connected = service.connect(token)
    try:

        @connected.requires_consent("mail.read")
        def read() -> bool:
            return True

        try:
            return read()
        except ConsentDenied:
            return False
    finally:
        connected.close()


def test_a_policy_whose_notices_go_nowhere_is_refused_before_it_is_in_force(home: Home) -> None:
    write_in_place(home.policy, f"{version_text((0, 0, 0))}\nsettings: {{notices: pager}}\n")
    code, told = said("serve", "--policy", str(home.policy), "--store", home.store, "--port", "0")
    assert code == 1
    assert "'pager' in the policy is not a surface" in told
    write_in_place(home.policy, version_text((0, 0, 0)))
    with home.serve() as running:
        assert reads(running, home.token("host"))


def test_on_a_store_that_nothing_decided_on_a_file_loosens_nothing(home: Home) -> None:
    assert said("store", "init", "--store", home.store)[0] == 0
    code, told = policy(home, "status")
    assert code == 0
    assert "Nothing is in force on this store yet." in unwrapped(told)
    assert "loosen" not in told


FORGED = 'operations: {mail.read: {reason: "x\\ntightened: all of it\\u202e\\e[2K"}}\n'


def test_words_of_a_file_write_no_line_of_their_own_into_what_applying_changes(home: Home) -> None:
    write_in_place(home.policy, f"{version_text((0, 0, 0))}\noperations: {{mail.read: {{reason: looks}}}}\n")
    assert said("store", "init", "--store", home.store)[0] == policy(home, "apply", "--yes")[0] == 0
    write_in_place(home.policy, f"{version_text((0, 0, 0))}\n{FORGED}")
    for command in ("status", "apply"):
        _, told = policy(home, command)
        assert r"looks -> x\ntightened: all of it\u202e\x1b[2K" in unwrapped(told)
        assert not [line for line in told.splitlines() if line.startswith("tightened")]
        assert "\u202e" not in told


def test_words_of_a_projects_file_write_no_line_of_their_own_into_its_faults(home: Home) -> None:
    write_in_place(home.policy, f"{version_text((0, 0, 0))}\ncategories: {{out: sends}}\n")
    project = home.folder / ".sayso.yaml"
    project.write_text('categories: {out: "x\\nNo findings.\\u202e"}\n')
    _, told = said("policy", "lint", str(project), "--policy", str(home.policy))
    assert r"sends -> x\nNo findings.\u202e" in unwrapped(told)


def test_a_loosened_file_is_applied_by_command_and_the_running_service_follows(
    home: Home, service: Service
) -> None:
    host = home.token("host")
    assert reads(service, host)
    write_in_place(home.policy, version_text((2, 0, 0)))
    assert not reads(service, host)
    write_in_place(home.policy, version_text((0, 0, 0)))
    assert not reads(service, host)
    code, told = policy(home, "status")
    assert code == 0
    assert "loosened: mail.read: deny -> allow" in told
    code, told = policy(home, "apply")  # nobody is there to say yes
    assert code == 1
    assert not reads(service, host)
    code, told = policy(home, "apply", "--yes")
    assert code == 0
    assert "It is in force." in unwrapped(told)
    assert reads(service, host)


def test_a_loosening_that_was_taken_back_waits_and_is_not_said_to_loosen(
    home: Home, service: Service
) -> None:
    host = home.token("host")
    for version in ((2, 0, 0), (1, 0, 0), (2, 0, 0)):
        write_in_place(home.policy, version_text(version))
        assert not reads(service, host)
    code, told = policy(home, "status")
    assert (code, "loosens what is in force" in unwrapped(told)) == (0, False)
    assert "Applying it loosens nothing" in unwrapped(told)
    assert policy(home, "apply", "--yes")[0] == 0
    assert "It is in force." in unwrapped(policy(home, "status")[1])


def test_an_agent_cannot_apply_and_the_operator_is_told_that_it_tried(home: Home, service: Service) -> None:
    agent, operator = home.token("agent", "mallory"), home.token("operator", "ana")
    write_in_place(home.policy, version_text((2, 0, 0)))
    assert not reads(service, home.token("host"))
    write_in_place(home.policy, version_text((0, 0, 0)))
    with httpx.Client(base_url=service.url) as client:
        seen = client.get("/v1/policy/file", headers={"Authorization": f"Bearer {operator}"}).json()
        assert seen["state"] == "waits"
        body = {"content": seen["content"], "shown": seen["shown"]}
        for token in (agent, home.token("host", "host")):
            refused = client.post("/v1/policy/apply", json=body, headers={"Authorization": f"Bearer {token}"})
            assert refused.status_code == 403
        assert not reads(service, home.token("host"))
        other = client.post(
            "/v1/policy/apply", json=body | {"content": "x"}, headers={"Authorization": f"Bearer {operator}"}
        )
        assert other.status_code == 409
        done = client.post("/v1/policy/apply", json=body, headers={"Authorization": f"Bearer {operator}"})
        assert done.json()["state"] == "in_force"
    assert reads(service, home.token("host"))
    assert sum("POST /v1/policy/apply was refused" in one for one in alerts(home)) == 2


def alerts(home: Home) -> list[str]:
    gate = open_to_look(home.store)
    try:
        with gate.store.read() as tx:
            rows = [row for stream in tx.streams() for row in tx.entries(stream, limit=1_000)]
        return [(row.body or b"").decode() for row in rows if row.event == events.PolicyAlerted.event]
    finally:
        gate.store.close()


def test_a_locked_file_says_so_and_what_was_changed_in_it_counts_after_unlocking(
    home: Home, service: Service
) -> None:
    host = home.token("host")
    code, told = policy(home, "lock")
    assert code == 0
    assert "It is immutable." in told or "does not permit immutable files" in told
    unprotect_file(home.policy)  # somebody may do that, and change the file
    write_in_place(home.policy, version_text((2, 0, 0)))
    assert reads(service, host)
    assert json.loads(policy(home, "status", "--json")[1])["state"] == "not_the_locked_one"
    code, told = policy(home, "apply", "--yes")
    assert code != 0
    assert "sayso policy unlock" in told
    assert policy(home, "unlock")[0] == 0
    assert not reads(service, host)
    assert any("is not the one that was locked" in one for one in alerts(home))


def test_status_lint_and_check_tell_of_the_projects_own_file(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    Sayso.open(home.policy, home.store, surfaces=()).close()
    own = project / ".sayso.yaml"

    def told(*words: str) -> tuple[int, str]:
        ran = run_command([*words, "--policy", str(home.policy)], dict(os.environ))
        return ran.returncode, "".join((ran.stdout + ran.stderr).split())  # lines are folded anywhere

    def check() -> int:
        return told("check", "--tool", "mail.read", "--args", "{}", "--store", home.store)[0]

    assert check() == 3
    own.write_text("mode: paranoid\noperations: {mail.send: {risk: low}}\n")
    assert f"{own}ismergedoveryourpolicyhere" in told("policy", "status", "--store", home.store)[1]
    code, said_of = told("policy", "lint", str(own))
    assert code == 0
    assert "doesnotcount" in said_of
    own.write_text("mode: [")
    assert f"{own}isrefused,soeverycall" in told("policy", "status", "--store", home.store)[1]
    assert told("policy", "lint", str(own))[0] == 1
    own.write_text("settings: {unlisted: block}")
    assert check() == 4


OWN = "extends: [balanced]\ndomains: {mail: {autonomous: [read, list], requires_approval: [], blocked: []}}\n"


def own_policy(text: str) -> None:
    """Write the policy where Sayso looks for it."""
    folder = gate_config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    write_in_place(folder / "policy.yaml", text)


def begin(home: Home) -> None:
    """A gate that decides under your own file."""
    Sayso.open(None, home.store, surfaces=()).close()


def test_a_review_in_the_terminal_tightens_with_a_proposal(home: Home) -> None:
    own_policy(OWN)
    begin(home)
    code, told = said("policy", "review", "--tighten", "mail.list", "--keep", "mail", "--store", home.store)
    assert code == 0, told
    assert "Kept: mail." in told
    assert "Proposed that mail.list asks: sayso propose approve p_" in told
    code, told = said("propose", "list", "--store", home.store)
    assert "At a review: mail.list asks from now on." in told
    code, told = said("inbox", "--store", home.store)
    assert "1 proposal waits for your decision" in told


def test_the_inbox_and_check_know_of_a_file_that_waits(home: Home) -> None:
    own_policy(OWN.replace("autonomous: [read, list]", "autonomous: [list]"))
    begin(home)
    assert said("check", "mail", "read", "--store", home.store)[0] == 3
    own_policy(OWN)
    code, told = said("check", "mail", "read", "--store", home.store)
    assert (code, "your policy file is not in force as it is" in told) == (3, True)
    assert "your policy file waits to be applied" in said("inbox", "--store", home.store)[1]
    assert said("policy", "apply", "--yes", "--store", home.store)[0] == 0
    assert said("check", "mail", "read", "--store", home.store)[0] == 0
    assert "your policy file" not in said("inbox", "--store", home.store)[1]


def test_check_is_held_to_what_is_in_force_once_the_file_is_gone(home: Home) -> None:
    own_policy(
        OWN.replace("blocked: []", "blocked: [send]") + "operations: {files.read: {always_ask: true}}\n"
    )
    begin(home)
    (gate_config_folder() / "policy.yaml").unlink()
    assert said("check", "mail", "send", "--store", home.store)[0] == 4
    assert said("check", "files", "read", "--store", home.store)[0] == 3
    assert said("check", "files", "read", "--preset", "balanced")[0] == 0


@pytest.mark.parametrize(("preset", "waits"), [("trusting", True), ("paranoid", False)])
def test_init_on_a_store_in_use_says_whether_its_policy_waits(home: Home, preset: str, waits: bool) -> None:
    with Sayso.open(policy="balanced", surfaces=()) as gate:
        gate.session(agent="agent")
    code, text = said("init", "--no-agents", "--preset", preset)
    assert code == 0
    assert ("`sayso policy apply` puts it in force" in " ".join(text.split())) is waits


def test_a_file_that_is_locked_can_be_locked_again(home: Home, service: Service) -> None:
    first, again = policy(home, "lock", "--json"), policy(home, "lock", "--json")
    assert (again[0], json.loads(again[1])["how"]) == (0, json.loads(first[1])["how"])


def test_each_problem_of_a_refused_file_is_on_a_line_of_its_own(
    home: Home, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # however long the path of the file is
    write_in_place(home.policy, "domains:\n  mail: {autonomous: [read]}\n")
    code, told = policy(home, "status")
    assert code == 0
    assert sum(line.startswith(f"{home.policy}:2:") for line in told.splitlines()) == 2
