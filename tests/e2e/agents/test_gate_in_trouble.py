"""Real coding agents while the gate fails them. Even if the policy would allow the call, it does not run."""

from __future__ import annotations

import os
import signal
import threading

from sayso.doors.agents.settings.registration import find_python
from tests.e2e.agents.gated import Gated, find_hook, find_service
from tests.e2e.agents.place import PATIENCE, Place, Program, run_program, start_program

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


def test_a_hook_whose_python_has_gone_allows_nothing(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted() as model, gated.serving():
        file = program.hook_settings(place)
        text = file.read_text(encoding="utf-8")
        assert find_python() in text
        file.write_text(text.replace(find_python(), "/nowhere/python3"), encoding="utf-8")
        program.accept_hooks(place)
        run_program(program, place, model)
    assert not place.made.exists()


def test_a_hook_that_cannot_read_its_settings_allows_nothing(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted() as model, gated.serving():
        (gated.settings / "hooks" / program.name).unlink()
        run_program(program, place, model)
    assert not place.made.exists()
