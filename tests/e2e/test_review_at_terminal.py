"""`sayso policy review` and `apply` in a real terminal: each answer counts at once, for what was shown."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sayso.gate.open import KEY_NAME, open_gate
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.rows.keys import load_or_make_key
from sayso.policy import load_file
from tests.e2e.operator_place import Place, verified
from tests.support.terminals import PATIENCE, Screen

OWN = """extends: [graph]
domains:
  mail: {autonomous: [read, list], requires_approval: [send], blocked: []}
  notes: {autonomous: [read], requires_approval: [], blocked: []}
"""
ASKS = "Enter to let it decay"
CTRL_C = "\x03"
PRESSED_AGAIN = 2.0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    file = tmp_path / "config" / "sayso" / "policy.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(OWN)
    ran = made.sayso("store", "init")
    assert ran.returncode == 0, ran.stderr
    return made


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    made.close()


@contextmanager
def reviewing(place: Place, screen: Screen, command: str = "review") -> Iterator[subprocess.Popen[str]]:
    with place.at_terminal(screen, "policy", command) as process:
        try:
            yield process
        finally:
            process.kill()


def answer(screen: Screen, domain: str, said: str) -> None:
    """Let every domain decay that comes before this one, and answer for it."""
    while f"\n{domain}: k to keep" not in screen.wait_for(ASKS):
        screen.type("\n")
    screen.type(f"{said}\n")


def end(screen: Screen, process: subprocess.Popen[str]) -> int:
    until = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < until, f"it did not end:\n{screen.text}"
        screen.read(0.05)
    screen.read()
    return process.returncode


def break_off(screen: Screen, process: subprocess.Popen[str]) -> int:
    """Press Ctrl-C, and again if need be: Python misses one that comes just before it reads a line."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < until, f"it did not end:\n{screen.text}"
        screen.type(CTRL_C)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PRESSED_AGAIN)
        screen.read()
    return process.returncode


def kept(place: Place) -> list[str]:
    ran = place.sayso("audit", "tail", "--json")
    assert ran.returncode == 0, ran.stderr
    entries = [json.loads(line)["entry"] for line in ran.stdout.splitlines()]
    return [one["details"]["domain"] for one in entries if one["event"] == "REVIEWED"]


@pytest.mark.parametrize("leaves_with", [CTRL_C, "\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_what_was_answered_before_the_walk_was_broken_off_counts(
    place: Place, screen: Screen, leaves_with: str
) -> None:
    with reviewing(place, screen) as process:
        answer(screen, "email", "k")
        screen.wait_for("email is kept.")
        answer(screen, "mail", "t")
        screen.wait_for("Separate them with commas")
        screen.type("list, lst\n")
        screen.wait_for("lst is not one of them.")
        screen.wait_for("Proposed that mail.list asks.")
        screen.wait_for(ASKS)
        if leaves_with == CTRL_C:
            assert break_off(screen, process) == 1
        else:
            screen.type(leaves_with)
            assert end(screen, process) == 1
    said = " ".join(screen.text.split())
    assert "What was answered counts. Go on with: sayso policy review" in said
    assert max(map(len, screen.text.splitlines())) <= 80
    assert "Kept: email. Proposed that mail.list asks: sayso propose approve p_" in said
    assert "Traceback" not in said
    assert kept(place) == ["email"]
    assert [one["proposal"]["reason"] for one in place.told("propose", "list")] == [
        "At a review: mail.list asks from now on."
    ]
    entries, signed = verified(place)
    assert entries == signed


def test_an_answer_that_nobody_knows_is_asked_again_and_keeps_nothing(place: Place, screen: Screen) -> None:
    with reviewing(place, screen) as process:
        answer(screen, "email", "yes")
        screen.wait_for("Answer k, t, or press Enter.")
        assert break_off(screen, process) == 1
    assert kept(place) == []


def test_the_only_permission_of_a_domain_is_not_asked_for_by_name(place: Place, screen: Screen) -> None:
    with reviewing(place, screen) as process:
        answer(screen, "notes", "t")
        screen.wait_for("Proposed that notes.read asks.")
        assert break_off(screen, process) == 1
    assert "Separate them with commas" not in screen.text


def test_a_permission_that_cannot_be_tightened_loses_no_other_answer(place: Place, screen: Screen) -> None:
    with reviewing(place, screen) as process:
        answer(screen, "email", "k")
        screen.wait_for("email is kept.")
        (place.home / "config" / "sayso" / "policy.yaml").rename(place.home / "away.yaml")
        answer(screen, "mail", "t")
        screen.wait_for("Separate them with commas")
        screen.type("read\n")
        screen.wait_for("mail.read stays as it is: ")
        answer(screen, "nodes", "k")
        screen.wait_for("nodes is kept.")
        assert break_off(screen, process) == 1
    assert kept(place) == ["email", "nodes"]


def test_what_came_into_force_while_somebody_looked_is_shown_again(place: Place, screen: Screen) -> None:
    follow_file(place)
    file = place.home / "config" / "sayso" / "policy.yaml"
    file.write_text(OWN.replace("blocked: []", "blocked: [wipe]").replace("read, list", "read, list, tag"))
    with reviewing(place, screen, "apply") as process:
        screen.wait_for("Put it in force?")
        follow_file(place)
        screen.type("y\n")
        screen.wait_for("changed meanwhile: look at it again")
        screen.wait_for("Put it in force?")
        screen.type("y\n")
        assert end(screen, process) == 0, screen.text
    assert "Applied. It is in force." in screen.text
    assert place.told("policy", "status")["state"] == "in_force"


def follow_file(place: Place) -> None:
    """Open a gate that watches the file, as a service does: what the file tightens is in force with it."""
    file = place.home / "config" / "sayso" / "policy.yaml"
    folder = place.home / "share" / "sayso"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = load_or_make_key(KEY_NAME, folder / "gate.key")
    gate = open_gate(load_file(file), place.store, key=key, marks=folder, source=PolicySource(file))
    gate.store.close()
