"""Policies by name or file, expected decisions of calls, a policy.json, and a mode for the whole command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_check_command import sayso

PAY = """
sayso: 1
domains:
  bank: {trust_level: low, autonomous: [look], requires_approval: [pay], blocked: [wire]}
tools:
  - {tool: pay, operation: bank.look, when: "args.amount <= 100"}
  - {tool: pay, operation: bank.wire}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "pay.yaml"
    written.write_text(PAY)
    return written


def config(home: Path, name: str, text: str) -> Path:
    own = home / "config" / "sayso" / name
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(text)
    return own


@pytest.mark.parametrize("command", ["lint", "show"])
def test_a_policy_is_named_by_its_file_or_preset_without_an_option(
    command: str, file: Path, tmp_path: Path
) -> None:
    for name in (str(file), "graph"):
        ran = sayso("policy", command, name, home=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
    assert (
        sayso("policy", command, str(file), "--json", home=tmp_path).stdout
        != sayso("policy", command, "graph", "--json", home=tmp_path).stdout
    )


@pytest.mark.parametrize(
    "words", [("lint", "nowhere.yaml"), ("lint", "graph", "--preset", "graph"), ("diff", "grap", "graph")]
)
def test_what_names_no_policy_or_two_is_a_usage_error(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = sayso("policy", *words, home=tmp_path)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_presets_and_files_are_compared_by_name(file: Path, tmp_path: Path) -> None:
    ran = sayso("policy", "diff", "graph", "balanced", home=tmp_path)
    assert ran.returncode in (0, 1), ran.stderr
    assert "email.send" in ran.stdout
    same = sayso("policy", "diff", str(file), str(file), "--json", home=tmp_path)
    assert same.returncode == 0
    assert sayso("policy", "diff", "graph", "graph", home=tmp_path).returncode == 0
    assert sayso("policy", "diff", "paranoid", "trusting", home=tmp_path).returncode == 1


def test_a_file_named_like_a_preset_does_not_pass_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph").write_text(PAY)
    told = json.loads(sayso("policy", "show", "graph", "--json", home=tmp_path).stdout)
    assert "bank" not in told["domains"]
    told = json.loads(sayso("policy", "show", "./graph", "--json", home=tmp_path).stdout)
    assert "bank" in told["domains"]


def test_a_shown_policy_has_its_settings_as_the_file_writes_them(tmp_path: Path) -> None:
    shown = " ".join(sayso("policy", "show", "graph", home=tmp_path).stdout.split())
    assert "confidence_bypass: true" in shown
    assert "notices: null" in shown
    assert "None" not in shown


def test_a_policy_json_in_the_config_folder_is_the_operators_own(tmp_path: Path) -> None:
    config(
        tmp_path,
        "policy.json",
        json.dumps(
            {
                "sayso": 1,
                "domains": {
                    "bank": {
                        "trust_level": "low",
                        "autonomous": [],
                        "requires_approval": [],
                        "blocked": ["look"],
                    }
                },
            }
        ),
    )
    ran = sayso("check", "bank", "look", home=tmp_path)
    assert ran.returncode == 4, ran.stderr
    assert "no policy of your own" not in ran.stderr


def test_of_two_policies_of_ones_own_the_one_that_is_not_used_is_named(tmp_path: Path) -> None:
    config(tmp_path, "policy.yaml", PAY)
    unused = config(tmp_path, "policy.json", "{}")
    ran = sayso("check", "bank", "wire", home=tmp_path)
    assert ran.returncode == 4
    assert str(unused) in ran.stderr
    assert "not used" in ran.stderr


def test_init_never_puts_a_policy_before_one_that_is_there(tmp_path: Path) -> None:
    there = config(tmp_path, "policy.json", "{}")
    ran = sayso("init", home=tmp_path)
    assert ran.returncode == 1
    assert str(there) in ran.stderr
    assert not there.with_name("policy.yaml").exists()


def test_expected_decisions_of_calls_are_read_as_a_door_reads_them(file: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests.yaml"
    tests.write_text(
        "- {call: pay, args: {amount: 500}, expect: deny}\n"
        "- {call: pay, args: {amount: 100}, expect: SILENT}\n"
        "- {call: pay, args: {amount: many}, confidence: 0.9, expect: deny}\n"
        "- {call: unheard_of, expect: ask}\n"
        "- {check: [bank, wire], expect: BLOCKED}\n"
    )
    ran = sayso("policy", "test", str(tests), "--policy", str(file), home=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "5 passed, 0 failed\n"), ran.stderr
    tests.write_text("- {call: pay, args: {amount: 500}, expect: allow}\n")
    ran = sayso("policy", "test", str(tests), "--policy", str(file), home=tmp_path)
    assert ran.returncode == 1
    assert 'pay {"amount":500}: expected allow, got deny' in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    "entry",
    [
        "{call: [pay], expect: ask}",
        '{call: "", expect: ask}',
        "{call: pay, args: [1], expect: ask}",
        "{call: pay, confidence: 2, expect: ask}",
        "{call: pay, check: [a, b], expect: ask}",
        "{call: pay, command: ls, expect: ask}",
    ],
)
def test_an_entry_that_is_no_call_is_refused_with_its_place(entry: str, file: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests.yaml"
    tests.write_text(f"- {entry}\n")
    ran = sayso("policy", "test", str(tests), "--policy", str(file), home=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"{tests}:1:" in ran.stderr


def test_a_mode_before_the_command_holds_for_it(file: Path, tmp_path: Path) -> None:
    words = ("check", "--preset", "graph", "email", "read")
    assert sayso("--approval", "paranoid", *words, home=tmp_path).returncode == 3
    assert sayso("--approval", "paranoid", *words, "--approval", "balanced", home=tmp_path).returncode == 0
    environment = {"SAYSO_APPROVAL_MODE": "balanced"}
    assert sayso("--approval", "paranoid", *words, home=tmp_path, **environment).returncode == 3
    explained = sayso("--approval", "paranoid", "explain", *words[1:], "--json", home=tmp_path)
    assert json.loads(explained.stdout)["rule"] == "paranoid"
    shown = sayso("--approval", "paranoid", "policy", "show", str(file), "--json", home=tmp_path)
    assert json.loads(shown.stdout)["mode"] == "paranoid"
    tests = tmp_path / "tests.yaml"
    tests.write_text("- {check: [email, read], expect: ask}\n")
    assert (
        sayso(
            "--approval", "paranoid", "policy", "test", str(tests), "--preset", "graph", home=tmp_path
        ).returncode
        == 0
    )
    script = tmp_path / "script.jsonl"
    script.write_text('{"call": {"operations": ["email.read"]}}\n')
    played = sayso(
        "--approval",
        "paranoid",
        "chat",
        "--preset",
        "graph",
        "--script",
        str(script),
        "--json",
        home=tmp_path,
    )
    assert json.loads(played.stdout)["rule"] == "paranoid"


def test_a_wrong_mode_before_a_command_is_an_error_that_names_the_valid_ones(tmp_path: Path) -> None:
    ran = sayso("--approval", "yolo", "policy", "schema", home=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "paranoid, balanced or trusting" in ran.stderr
