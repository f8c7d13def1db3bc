"""Where the approval mode comes from: flag, environment, settings file, policy, balanced, in that order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Mode
from sayso.core.policy import Settings, compile_policy
from sayso.doors.approval_manager import ApprovalManager
from sayso.gate.settings import gate_config_folder, in_chosen_mode
from sayso.policy import load_preset

VALID = "paranoid, balanced or trusting"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with nothing set; its config folder."""
    monkeypatch.delenv("SAYSO_APPROVAL_MODE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = gate_config_folder()
    assert folder.is_relative_to(tmp_path)
    folder.mkdir(parents=True)
    return folder


def chosen(flag: str | None = None) -> str:
    return ApprovalManager.from_settings(None, approval=flag).mode.value


def test_each_place_gives_way_to_the_one_before_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen() == "balanced"
    (home / "policy.yaml").write_text("extends: [balanced]\nmode: trusting\n")
    assert chosen() == "trusting"
    (home / "settings.json").write_text('{"version": "1.0", "approval_mode": "paranoid"}')
    assert chosen() == "paranoid"
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", "balanced")
    assert chosen() == "balanced"
    assert chosen("trusting") == "trusting"


def test_a_locked_policy_keeps_its_mode_whatever_is_wished(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "policy.yaml").write_text("extends: [paranoid]\nsettings: {lock_mode: true}\n")
    (home / "settings.json").write_text('{"approval_mode": "trusting"}')
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", "trusting")
    assert chosen("trusting") == "paranoid"


def test_a_policy_given_stands_in_for_your_own_file(home: Path) -> None:
    (home / "policy.yaml").write_text("extends: [paranoid]\n")
    policy = compile_policy(mode=Mode.TRUSTING, settings=Settings(lock_mode=True))
    assert ApprovalManager.from_settings(None, approval="paranoid", policy=policy).mode is Mode.TRUSTING


def test_the_mode_alone_changes_and_the_rest_of_the_policy_stays() -> None:
    graph = load_preset("graph")
    changed = in_chosen_mode(graph, "trusting")
    assert changed.mode is Mode.TRUSTING
    assert (changed.settings, changed.domains) == (graph.settings, graph.domains)
    assert in_chosen_mode(graph) is graph


@pytest.mark.parametrize("word", ["yolo", "Paranoid", " paranoid", "PARANOID", "0"])
def test_a_wrong_word_anywhere_is_an_error_that_names_the_valid_ones_and_the_place(
    word: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SaysoError, match=rf"approval: .*{VALID}"):
        chosen(word)
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", word)
    with pytest.raises(SaysoError, match=f"SAYSO_APPROVAL_MODE: .*{VALID}"):
        chosen()
    monkeypatch.delenv("SAYSO_APPROVAL_MODE")
    (home / "settings.json").write_text(json.dumps({"approval_mode": word}))
    with pytest.raises(SaysoError, match=rf"settings\.json: .*{VALID}"):
        chosen()


def test_a_wrong_word_is_an_error_even_where_another_place_or_a_lock_would_win(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "settings.json").write_text('{"approval_mode": "yolo"}')
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", "balanced")
    with pytest.raises(SaysoError, match=VALID):
        chosen("paranoid")
    with pytest.raises(SaysoError, match=VALID):
        in_chosen_mode(compile_policy(settings=Settings(lock_mode=True)))


def test_an_empty_flag_is_wrong_and_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SaysoError, match=VALID):
        chosen("")
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", "")
    assert chosen() == "balanced"


@pytest.mark.parametrize("value", ["null", "true", "1", '["paranoid"]', '{"mode": "paranoid"}', '""'])
def test_a_setting_that_is_no_word_is_an_error(value: str, home: Path) -> None:
    (home / "settings.json").write_text(f'{{"approval_mode": {value}}}')
    with pytest.raises(SaysoError, match=VALID):
        chosen()


BROKEN = {
    "no JSON": b"{",
    "empty": b"",
    "no object": b'["approval_mode"]',
    "a word": b'"paranoid"',
    "named twice": b'{"approval_mode": "paranoid", "approval_mode": "trusting"}',
    "no text": b'{"approval_mode": "\xff"}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_settings_file_is_an_error_that_names_it(content: bytes, home: Path) -> None:
    (home / "settings.json").write_bytes(content)
    with pytest.raises(SaysoError, match=r"settings\.json.*fix or remove"):
        chosen()


@pytest.mark.parametrize("name", ["settings.json", "policy.yaml"])
def test_a_file_that_is_there_but_cannot_be_read_is_an_error(name: str, home: Path) -> None:
    (home / name).mkdir()
    with pytest.raises(SaysoError, match=name):
        chosen()
    (home / name).rmdir()
    (home / name).symlink_to("nowhere")
    with pytest.raises(SaysoError, match=name):
        chosen()


def test_a_config_folder_that_is_none_is_an_error_and_not_a_missing_setting(home: Path) -> None:
    home.rmdir()
    home.write_text("a file")
    with pytest.raises(SaysoError, match=r"policy\.yaml"):
        chosen()
    with pytest.raises(SaysoError, match=r"settings\.json"):
        in_chosen_mode(load_preset("balanced"))


def test_the_command_line_uses_the_same_places(home: Path) -> None:
    def check(*words: str, **environment: str) -> int:
        command = [sys.executable, "-m", "sayso", "check", *words, "git", "status"]
        return subprocess.run(
            command, env=os.environ | environment, capture_output=True, timeout=60, check=False
        ).returncode

    assert check() == 0
    (home / "settings.json").write_text('{"approval_mode": "paranoid"}')
    assert check() == 3
    assert check(SAYSO_APPROVAL_MODE="trusting") == 0
    assert check("--approval", "paranoid", SAYSO_APPROVAL_MODE="trusting") == 3
    assert check("--approval", "yolo") == 2
    (home / "policy.yaml").write_text("extends: [balanced]\nsettings: {lock_mode: true}\n")
    assert check("--approval", "paranoid") == 0
