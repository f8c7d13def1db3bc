"""`sayso install` and `sayso uninstall` with the real programs, which must start before, between and after."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.agents.gated import Gated
from tests.e2e.agents.model import PROMPT, serve_model
from tests.e2e.agents.place import Place, Program


def read_settings(program: Program, place: Place) -> dict[str, bytes]:
    """Every file beside the one that an installation writes to."""
    file = program.hook_settings(place)
    return {str(path): path.read_bytes() for path in folder_of(file).glob("*") if path.is_file()}


def folder_of(file: Path) -> Path:
    return file.parent


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
        after = read_settings(program, place)
        hook = str(program.hook_settings(place))
        assert after.get(hook) == before.get(hook)
        gated.run(model)
        assert place.made.read_text() == "made\n"
