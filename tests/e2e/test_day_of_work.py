"""A day of a coding agent under preset coding: few questions, and every one that must be asked."""

from __future__ import annotations

from bench.day.__main__ import a_workspace, play_day, read_script


def test_a_day_of_work_asks_few_questions_and_none_too_few() -> None:
    steps = read_script()
    must = [step for step in steps if step.get("must_ask") or step.get("call", {}).get("must_ask")]
    with a_workspace() as workspace:
        day = play_day("coding", steps, workspace)
    assert day.calls == 120
    assert len(must) >= 5
    assert day.unasked == ()
    assert len(day.asked) < 10, [one.call for one in day.asked]
    assert day.denied == ()
