"""`sayso install`, `sayso uninstall` and `sayso doctor` with the real programs."""

from __future__ import annotations

import pytest

from tests.e2e.agents.gated import Gated
from tests.e2e.agents.model import PROMPT, serve_model
from tests.e2e.agents.place import Place, Program
from tests.e2e.agents.programs.every import UNRULED


def read_settings(program: Program, place: Place) -> bytes | None:
    """The file that an installation writes to."""
    file = program.hook_settings(place)
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize("program", UNRULED, ids=lambda program: type(program).__name__)
def test_installing_twice_changes_nothing_and_uninstalling_restores_every_byte(
    program: Program, place: Place
) -> None:
    gated = Gated(program, place, "blocked")
    script = {PROMPT: [program.shell_call(place.writing)]}
    with serve_model(program.api, script) as model:
        program.configure(place, model.url)
        before = read_settings(program, place)
        gated.install()
        program.accept_hooks(place)
        installed = read_settings(program, place)
        assert installed != before
        assert "nothing to change" in gated.install()
        assert read_settings(program, place) == installed
        with gated.serving():
            gated.run(model)
        assert not place.made.exists()
        gated.sayso("uninstall", program.name, "--yes")
        assert read_settings(program, place) == before
        gated.run(model)
        assert place.made.read_text() == "made\n"
