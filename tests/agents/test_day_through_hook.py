"""The day of work of `bench/day`, sent through the hook of Claude Code, where messages are only claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.day.__main__ import PROJECT, SECONDS_BETWEEN_STEPS, WIDEST_FIRST, read_script
from tests.agents.conftest import Desk
from tests.agents.hosts import HOSTS
from tests.support.gates import Clock
from tests.support.service import Service


@pytest.fixture
def claude(service: Service, tmp_path: Path) -> Desk:
    workspace = tmp_path / "orders"
    for name, text in PROJECT.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    return Desk(service, next(one for one in HOSTS if one.name == "claude"), workspace)


def send_call(desk: Desk, call: dict[str, Any], number: int) -> bool:
    payload = desk.host.call(desk.session, desk.project, call["tool"], call["args"], f"toolu_{number}")
    return desk.host.runs(desk.fire(desk.host.before, payload))


def answer_widely(desk: Desk) -> None:
    [question] = desk.questions()
    offers = desk.service.told("operator", "GET", f"/v1/questions/{question['id']}")["offers"]
    names = [one["answer"] if isinstance(one, dict) else one for one in offers]
    desk.service.answer(question["id"], next(one for one in WIDEST_FIRST if one in names))


def test_a_day_through_the_hook_asks_few_questions_and_none_too_few(claude: Desk, clock: Clock) -> None:
    asked, must = [], []
    for number, step in enumerate(read_script()):
        clock.now += SECONDS_BETWEEN_STEPS
        if "hear" in step:
            claude.says(step["hear"])
            assert claude.questions() == []
            continue
        must += [step["call"]["args"]] if step.get("must_ask") else []
        if send_call(claude, step["call"], number):
            continue
        asked.append(step["call"]["args"])
        answer_widely(claude)
        assert send_call(claude, step["call"], number), step
    assert [one for one in must if one not in asked] == []
    assert len(must) < len(asked) < 10, asked
