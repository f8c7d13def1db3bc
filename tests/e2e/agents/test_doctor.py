"""`sayso doctor` with the real programs: it is content exactly where the program is really gated.

The policy blocks every call. Doctor's word is compared with what the program then does.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.e2e.agents.gated import Gated
from tests.e2e.agents.place import Place, Program, pinned_version
from tests.e2e.agents.programs.every import UNRULED

Break = Callable[[Gated], None]


def leave(gated: Gated) -> None:
    """Nothing is wrong."""


def remove_hook(gated: Gated) -> None:
    """As somebody does who edits the file by hand."""
    file = gated.program.hook_settings(gated.place)
    if file.suffix == ".json":
        settings = json.loads(file.read_text(encoding="utf-8"))
        del settings["hooks"]
        file.write_text(json.dumps(settings), encoding="utf-8")
    else:
        file.unlink()


def change_hook(gated: Gated) -> None:
    """Another time to wait is another hook, which Codex does not trust."""
    gated.install("--wait", "7")


def switch_off_in_project(name: str, text: str) -> Break:
    """As a repository does that somebody has cloned."""

    def switch_off(gated: Gated) -> None:
        file = gated.place.work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    return switch_off


def change_text(old: str, new: str) -> Break:
    """As somebody does who takes the file for an editor's."""

    def change(gated: Gated) -> None:
        file = gated.program.hook_settings(gated.place)
        before = file.read_text(encoding="utf-8")
        assert before.count(old) == 1
        file.write_text(before.replace(old, new), encoding="utf-8")

    return change


OFF: dict[str, list[Break]] = {
    "claude": [
        switch_off_in_project(".claude/settings.json", '{"disableAllHooks": true}'),
        switch_off_in_project(".claude/settings.local.json", '{"disableAllHooks": true}'),
        change_text('"env": {}', '// mine\n"env": {}'),
        change_text('"env": {}', '"env": {"A": "b",}'),
        change_text('"cleanupPeriodDays" : 30', '"cleanupPeriodDays": "abc"'),
        change_text('"env": {}', '"env": {}, "attribution": "nobody"'),  # a key that Sayso does not know
        change_text('"PreToolUse": [', '"PreToolUse": [{"hooks": [{"type": "command"}]},'),
    ],
    "codex": [change_hook, switch_off_in_project(".codex/config.toml", "[features]\nhooks = false\n")],
    "gemini": [
        switch_off_in_project(".gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
        switch_off_in_project(".gemini/settings.json", '{"hooksConfig": {"disabled": ["sayso"]}}'),
    ],
    "opencode": [],
}
CASES = [(program, way) for program in UNRULED for way in (leave, remove_hook, *OFF[program.name])]


def name_case(one: object) -> str:
    return getattr(one, "__name__", type(one).__name__)


@pytest.mark.parametrize(("program", "way"), CASES, ids=name_case)
def test_doctor_is_content_only_with_a_program_that_is_gated(
    program: Program, way: Break, place: Place
) -> None:
    gated = Gated(program, place, "blocked")
    with gated.scripted() as model, gated.serving():
        way(gated)
        said = gated.try_sayso("doctor", program.name)
        gated.run(model)
    assert (said.code == 0) is not place.made.exists(), said
    assert (said.code == 0) is (way is leave), said
    assert pinned_version(program) in said.out
