"""Real coding agents behind Sayso. The model asks for one command, which writes a file.

Where the file is, the command ran; it must be there only where the policy or a person allowed it.
"""

from __future__ import annotations

from tests.e2e.agents.gated import Gated
from tests.e2e.agents.place import Place, Program


def test_what_the_policy_allows_runs(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted() as model, gated.serving():
        gated.run(model)
    assert place.made.read_text() == "made\n"


def test_what_the_policy_blocks_does_not_run_and_the_model_reads_why(program: Program, place: Place) -> None:
    gated = Gated(program, place, "blocked")
    with gated.scripted() as model, gated.serving():
        gated.run(model)
    assert not place.made.exists()
    assert "blocked" in model.results()[0]


def test_what_a_person_approves_on_the_page_runs(program: Program, place: Place) -> None:
    gated = Gated(program, place, "requires_approval")
    with gated.scripted() as model, gated.serving("once") as serving:
        gated.run(model)
    assert place.made.read_text() == "made\n"
    assert len(serving.questions) == 1


def test_what_a_person_denies_on_the_page_does_not_run(program: Program, place: Place) -> None:
    gated = Gated(program, place, "requires_approval")
    with gated.scripted() as model, gated.serving("deny") as serving:
        gated.run(model)
    assert not place.made.exists()
    assert len(serving.questions) == 1
    assert "denied" in model.results()[0].lower()


def test_what_nobody_answers_does_not_run_and_the_model_reads_how_to_wait(
    program: Program, place: Place
) -> None:
    gated = Gated(program, place, "requires_approval")
    with gated.scripted("--wait", "1") as model, gated.serving() as serving:
        gated.run(model)
    assert not place.made.exists()
    assert len(serving.questions) == 1
    assert "op_" in model.results()[0]
