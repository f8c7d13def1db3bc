"""`sayso check` as a script would call it: real processes, exact lines, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def sayso(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
    return subprocess.run(
        [sys.executable, "-m", "sayso", *words],
        capture_output=True,
        check=False,
        text=True,
        timeout=180,
        env=clean | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")} | environment,
    )


GRAPH = [
    ("imessage send_vip 0.9", "VISIBLE -- proceed and notify", 0),
    ("email send 0.84", "FORCED -- ask the operator first", 3),
    ("email send 0.85", "VISIBLE -- proceed and notify", 0),
    ("email send", "FORCED -- ask the operator first", 3),
    ("email read", "SILENT -- proceed", 0),
    ("self_modification modify_soul_md 0.99", "BLOCKED -- do not proceed; operator alerted", 4),
    ("self_modification prune_stale_memory 0.99", "BLOCKED -- do not proceed; operator alerted", 4),
    ("no_such_domain anything 1.0", "FORCED -- ask the operator first", 3),
    ("home_automation unlock_doors 1", "BLOCKED -- do not proceed; operator alerted", 4),
]


@pytest.mark.parametrize(("words", "line", "code"), GRAPH)
def test_the_graph_answers_as_its_reference_documents_it(
    words: str, line: str, code: int, tmp_path: Path
) -> None:
    ran = sayso("check", "--preset", "graph", *words.split(), home=tmp_path)
    assert (ran.stdout, ran.returncode) == (f"{line}\n", code), ran.stderr


def test_a_trusted_channel_operation_is_blocked_with_that_reason(tmp_path: Path) -> None:
    ran = sayso(
        "check",
        "--json",
        "--preset",
        "graph",
        "self_modification",
        "prune_stale_memory",
        "0.99",
        home=tmp_path,
    )
    told = json.loads(ran.stdout)
    assert (told["outcome"], told["rule"]) == ("BLOCKED", "trusted_channel")
    assert "trusted channel" in told["reason"]


def test_json_tells_the_whole_decision(tmp_path: Path) -> None:
    told = json.loads(
        sayso("check", "--json", "--preset", "graph", "email", "send", "0.9", home=tmp_path).stdout
    )
    assert told["verdict"] == "allow"
    assert told["outcome"] == "VISIBLE"
    assert told["rule"] == "confident"
    assert {"reason", "source", "announce", "offers", "grants", "risk", "operations"} <= set(told)


@pytest.mark.parametrize("confidence", ["nan", "1.5", "high", "inf", "", "0x1", " 0.9", "0_9", "٠.٩", "1e9"])
def test_a_confidence_that_is_no_number_from_0_to_1_is_a_usage_error(confidence: str, tmp_path: Path) -> None:
    ran = sayso("check", "--preset", "graph", "email", "read", confidence, home=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "confidence" in ran.stderr
    assert "0 to 1" in ran.stderr


@pytest.mark.parametrize(
    "words", ["Email read", "email Read", "email READ", "email re\u200bad", "email ｒｅａｄ"]
)
def test_a_name_that_only_looks_like_a_listed_one_is_refused(words: str, tmp_path: Path) -> None:
    ran = sayso("check", "--preset", "graph", *words.split(" "), home=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Traceback" not in ran.stderr


def test_explain_shows_every_check_up_to_the_one_that_spoke(tmp_path: Path) -> None:
    ran = sayso("explain", "--preset", "graph", "email", "send", "0.5", "--json", home=tmp_path)
    (trace,) = json.loads(ran.stdout)["trace"]
    assert [check["rule"] for check in trace["checks"]][-3:] == ["plan", "confident", "ask"]
    assert len(trace["checks"]) == 23
    assert [check["spoke"] for check in trace["checks"]] == [False] * 22 + [True]
    assert all(check["why"] for check in trace["checks"])
    assert ran.returncode == 3


def test_explain_is_readable_at_80_columns(tmp_path: Path) -> None:
    ran = sayso("explain", "--preset", "graph", "email", "send", "0.5", home=tmp_path, COLUMNS="80")
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert "ASK" in ran.stdout
    assert "the confidence is below the threshold" in " ".join(ran.stdout.split())


def test_the_mode_comes_from_the_flag_then_the_environment_then_the_settings_file(tmp_path: Path) -> None:
    settings = tmp_path / "config" / "sayso" / "settings.json"
    settings.parent.mkdir(parents=True)
    command = ("check", "--preset", "graph", "email", "read")
    assert sayso(*command, home=tmp_path).returncode == 0
    settings.write_text('{"approval_mode": "paranoid"}')
    assert sayso(*command, home=tmp_path).returncode == 3
    assert sayso(*command, home=tmp_path, SAYSO_APPROVAL_MODE="balanced").returncode == 0
    flag = sayso(*command, "--approval", "paranoid", home=tmp_path, SAYSO_APPROVAL_MODE="balanced")
    assert flag.returncode == 3


@pytest.mark.parametrize("where", ["flag", "environment", "settings"])
def test_a_wrong_mode_anywhere_is_an_error_that_names_the_valid_ones(where: str, tmp_path: Path) -> None:
    command = ["check", "--preset", "graph", "email", "read"]
    environment = {}
    if where == "flag":
        command += ["--approval", "yolo"]
    elif where == "environment":
        environment = {"SAYSO_APPROVAL_MODE": "yolo"}
    else:
        settings = tmp_path / "config" / "sayso" / "settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text('{"approval_mode": "yolo"}')
    ran = sayso(*command, home=tmp_path, **environment)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "paranoid, balanced or trusting" in ran.stderr


def test_a_broken_settings_file_allows_nothing(tmp_path: Path) -> None:
    settings = tmp_path / "config" / "sayso" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{")
    ran = sayso("check", "--preset", "graph", "email", "read", home=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "settings.json" in ran.stderr


def test_your_own_policy_is_used_once_init_has_written_it_and_is_never_overwritten(tmp_path: Path) -> None:
    first = sayso("init", "--preset", "graph", home=tmp_path)
    assert first.returncode == 0, first.stderr
    assert sayso("check", "email", "read", home=tmp_path).stdout == "SILENT -- proceed\n"
    again = sayso("init", home=tmp_path)
    assert again.returncode == 1
    assert "there already" in again.stderr


@pytest.mark.parametrize(
    "words", [["check"], ["check", "email"], ["nonsense"], ["check", "a", "b", "0.5", "more"]]
)
def test_wrong_usage_exits_with_2(words: list[str], tmp_path: Path) -> None:
    assert sayso(*words, home=tmp_path).returncode == 2


def test_a_preset_and_a_file_at_once_are_refused(tmp_path: Path) -> None:
    ran = sayso("check", "--preset", "graph", "--policy", "x.yaml", "email", "read", home=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")


def test_an_unknown_preset_is_wrong_usage_and_the_known_ones_are_named(tmp_path: Path) -> None:
    ran = sayso("check", "--preset", "nope", "email", "read", home=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "balanced" in ran.stderr


@pytest.mark.parametrize("target", ["nowhere.yaml", "policy.yaml"], ids=["dangling", "looping"])
def test_a_policy_of_your_own_that_is_a_broken_link_allows_nothing(target: str, tmp_path: Path) -> None:
    own = tmp_path / "config" / "sayso" / "policy.yaml"
    own.parent.mkdir(parents=True)
    own.symlink_to(target)
    ran = sayso("check", "files", "read", home=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "policy.yaml" in ran.stderr


def test_a_settings_file_that_names_the_mode_twice_allows_nothing(tmp_path: Path) -> None:
    settings = tmp_path / "config" / "sayso" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"approval_mode": "paranoid", "approval_mode": "trusting"}')
    ran = sayso("check", "--preset", "graph", "email", "read", home=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")


def test_an_answer_that_nobody_can_read_is_a_failure(tmp_path: Path) -> None:
    command = f'exec "{sys.executable}" -m sayso check --preset graph email read >&-'
    ran = subprocess.run(
        ["/bin/sh", "-c", command], env=os.environ | {"HOME": str(tmp_path)}, timeout=180, check=False
    )
    assert ran.returncode == 1


def test_check_goes_by_an_accepted_reading_only_where_nothing_else_is_risky(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "init", "-q", str(work)], check=True)  # noqa: S607 - the git of this machine
    with (work / ".git/config").open("a") as file:
        file.write('[remote "origin"]\n\turl = https://git.example/team/work.git\n')
    monkeypatch.chdir(work)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "extends: [coding]\n"
        "domains: {git: {autonomous: [fetch], requires_approval: [], blocked: []}}\n"
        "operations: {git.fetch: {risk: low, reading: accepted}}\n"
    )
    lines = {
        "git fetch": 0,
        "git fetch origin --prune": 0,
        "git fetch https://evil.test/x": 3,
        "X=1 git fetch": 3,
    }
    for line, code in lines.items():
        args = json.dumps({"command": line})
        ran = sayso("check", "--policy", str(policy), "--tool", "Bash", "--args", args, home=tmp_path)
        assert ran.returncode == code, (line, ran.stdout, ran.stderr)
