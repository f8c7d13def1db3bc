"""A denied call that is made again and again is one story; a failed one says why it failed."""

from __future__ import annotations

from typing import Any

from sayso.cli.views.history import step_lines
from sayso.gate.figures.stories import StoryFilter, find_stories
from tests.support.gates import Clock
from tests.support.service import READ, WIPE, WRITE, Service


def history(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.told("operator", "GET", "/v1/history")
    return found


def make(service: Service, call: dict[str, Any] = WRITE) -> dict[str, Any]:
    told: dict[str, Any] = service.told("agent", "POST", "/v1/calls", call)
    return told


def test_six_repeats_of_a_denied_call_are_told_in_its_story(service: Service, clock: Clock) -> None:
    service.answer(make(service)["question"], "deny")
    for _ in range(6):
        clock.now += 1
        assert make(service)["status"] == "denied"
    make(service, WIPE)
    stories = history(service)
    assert len(stories) == 2
    (denied,) = [one for one in stories if one["answer"] == "deny"]
    assert [step["what"] for step in denied["steps"]] == ["asked", "answered", "repeated"]
    repeated = denied["steps"][-1]
    assert (repeated["times"], repeated["at"]) == (6, clock.now)
    assert denied["state"] == "denied"
    told = find_stories(service.gate, StoryFilter(verdict="deny")).stories
    assert any("tried again (6 times)" in line for story in told for line in step_lines(story.steps))


def test_another_call_that_was_denied_is_another_story(service: Service) -> None:
    for path in ("/srv/a.py", "/srv/b.py"):
        call = {"tool": "Edit", "args": {"file_path": path}}
        service.answer(make(service, call)["question"], "deny")
        assert make(service, call)["status"] == "denied"
    assert [one["steps"][-1]["times"] for one in history(service)] == [1, 1]


def test_a_failed_call_tells_the_reason_its_program_gave(service: Service) -> None:
    session = service.opened()
    told = service.told("host", "POST", "/v1/calls", {**READ, "session": session})
    body = {"fence": told["fence"], "state": "failed", "unkept": "OSError: disk full"}
    service.told("host", "POST", f"/v1/calls/{told['operation_id']}/outcome", body)
    (story,) = history(service)
    assert story["steps"][-1]["reason"] == "OSError: disk full"
