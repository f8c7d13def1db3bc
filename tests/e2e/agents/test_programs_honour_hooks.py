"""The programs at their pinned versions, with hooks written by hand: what Sayso's hook can build on.

The model asks for one command, which writes a file. Where the file is, the command ran.
"""

from __future__ import annotations

import subprocess

from tests.e2e.agents.model import PROMPT, Model, serve_model
from tests.e2e.agents.place import PATIENCE, HandWritten, Place, Program, pinned_version, run_program


def drive(program: Program, place: Place, hook: HandWritten) -> Model:
    """Run the program on a model that asks for the command; return the model, with what came back."""
    with serve_model(program.api, {PROMPT: [program.shell_call(place.writing)]}) as model:
        program.configure(place, model.url)
        program.write_hook(place, hook)
        ended = run_program(program, place, model)
        assert (place.home / "seen").exists(), ended
        assert model.results(), ended
    return model


def test_the_program_has_the_pinned_version(program: Program, place: Place) -> None:
    done = subprocess.run(
        [*program.start(), "--version"],
        env=place.environment(), capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert pinned_version(program) in done.stdout


def test_what_the_hook_allows_runs(program: Program, place: Place) -> None:
    drive(program, place, program.consent)
    assert place.made.read_text() == "made\n"


def test_what_the_hook_denies_does_not_run_and_the_model_reads_why(program: Program, place: Place) -> None:
    model = drive(program, place, program.denial)
    assert not place.made.exists()
    assert "no, says the test" in model.results()[0]


def test_exit_code_2_blocks_and_the_model_reads_why(program: Program, place: Place) -> None:
    model = drive(program, place, HandWritten(err="no, says exit code 2", code=2))
    assert not place.made.exists()
    assert "no, says exit code 2" in model.results()[0]
