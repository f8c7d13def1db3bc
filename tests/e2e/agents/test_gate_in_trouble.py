"""Real coding agents while the gate fails them. Even if the policy would allow the call, it does not run."""

from __future__ import annotations

import json
import os
import signal
import threading

from sayso.doors.agents import AGENTS
from sayso.doors.agents.settings.registration import find_python, hook_command
from tests.e2e.agents.gated import Gated, find_hook, find_service
from tests.e2e.agents.place import PATIENCE, Place, Program, start_program

NOBODY = 65534


def test_without_the_service_nothing_runs(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    (place.home / "token").write_text("sayso_agent_that_nobody_looks_at", encoding="utf-8")
    # The service belongs to another user, so the hook may not start one.
    (gated.settings / "settings.json").write_text(f'{{"service_uid": {NOBODY}}}', encoding="utf-8")
    with gated.scripted("--token-file", str(place.home / "token")) as model:
        gated.run(model)
    assert not place.made.exists()
    assert "the service is not running" in model.results()[0]


def test_a_service_that_is_missing_is_started_and_decides(program: Program, place: Place) -> None:
    gated = Gated(program, place, "blocked")
    with gated.scripted() as model:
        gated.run(model)
        service = find_service(place)
        assert service is not None
        os.kill(service, signal.SIGKILL)
    assert not place.made.exists()
    assert "blocked" in model.results()[0]


def test_a_service_that_hangs_allows_nothing_then_or_later(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted("--wait", "1") as model, gated.serving() as serving:
        with serving.stalled():
            gated.run(model)
        serving.get("/v1/history")
    assert not place.made.exists()
    assert "Sayso could not decide, so nothing runs" in model.results()[0]


def test_a_hook_that_is_killed_allows_nothing(program: Program, place: Place) -> None:
    gated = Gated(program, place, "requires_approval")
    with gated.scripted() as model, gated.serving() as serving:
        with start_program(program, place, model) as process:
            killed = threading.Event()

            def kill_hook() -> None:
                while process.poll() is None and not killed.wait(0.05):
                    found = find_hook(gated.settings / "hooks" / program.name) if serving.questions else None
                    if found is not None:
                        os.kill(found, signal.SIGKILL)
                        killed.set()

            thread = threading.Thread(target=kill_hook)
            thread.start()
            process.communicate(timeout=PATIENCE)
            thread.join()
        assert killed.is_set()
    assert not place.made.exists()
    assert "Sayso: the hook failed, so nothing runs" in model.results()[0]


def break_deciding_hook(gated: Gated, old: str, new: str) -> None:
    """Change the command of the event that decides. The user's message still comes through."""
    program, file = gated.program, gated.program.hook_settings(gated.place)
    event = AGENTS[program.name].events[0].name
    command = hook_command(AGENTS[program.name], event, gated.settings / "hooks" / program.name)
    text, written = file.read_text(encoding="utf-8"), json.dumps(command)
    assert text.count(written) == 1
    assert old in command
    file.write_text(text.replace(written, json.dumps(command.replace(old, new))), encoding="utf-8")
    program.accept_hooks(gated.place)


def test_a_hook_whose_python_has_gone_allows_nothing(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted() as model, gated.serving():
        break_deciding_hook(gated, find_python(), "/nowhere/python3")
        gated.run(model)
    assert not place.made.exists()
    assert "Sayso: the hook failed, so nothing runs" in model.results()[0]


def test_a_hook_that_cannot_read_its_settings_allows_nothing(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted() as model, gated.serving():
        break_deciding_hook(gated, f"/hooks/{program.name}", "/hooks/gone")
        gated.run(model)
    assert not place.made.exists()
    assert "Sayso could not decide, so nothing runs" in model.results()[0]
