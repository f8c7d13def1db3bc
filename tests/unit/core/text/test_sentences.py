"""What a call does is told in good English, whether its policy or reading named a subject or not."""

from __future__ import annotations

from sayso.core.text.sentences import add_subject, tell_ahead
from sayso.core.words import cause_line, flags_found, high_risk_reason
from sayso.policy import load_preset
from sayso.reading.resolve import operations_for
from tests.support.rows import each_row

TOLD = [
    ("changes a remote", "it changes a remote", "This will change a remote."),
    ("opens or deletes it", "it opens or deletes it", "This will open or delete it."),
    ("carries files and runs", "it carries files and runs", "This will carry files and runs."),
    ("goes to a stranger", "it goes to a stranger", "This will go to a stranger."),
    ("pushes", "it pushes", "This will push."),
    ("may write anywhere", "it may write anywhere", "This may write anywhere."),
    ("it runs code", "it runs code", "This will run code."),
    ("it may end Sayso", "it may end Sayso", "This may end Sayso."),
    ("it is nested too deeply", "it is nested too deeply", "It is nested too deeply."),
    ("its pattern may name a secret", "its pattern may name a secret", "Its pattern may name a secret."),
    ("nosuch is not a known program", "nosuch is not a known program", "nosuch is not a known program."),
    ("which file cannot be told", "which file cannot be told", "Which file cannot be told."),
    ("ls: -9 is not a known option", "ls: -9 is not a known option", "ls: -9 is not a known option."),
    ("alias changes commands", "alias changes commands", "Alias changes commands."),
    ("runs it if x is not known", "it runs it if x is not known", "This will run it if x is not known."),
    ("gems x is not known", "gems x is not known", "gems x is not known."),
    ("money moves", "money moves", "money moves."),
]  # fmt: skip
LINES = {
    "cat .e*": "because its pattern may name a secret: .e*",
    "nosuch x": "because nosuch is not a known program: nosuch",
    "python3 -c x": "because it runs code that python3 is given: x",
    "git push": "because it changes a remote",
}


@each_row(("text", "told", "ahead"), TOLD)
def test_what_a_call_does_gets_a_subject_if_it_has_none(text: str, told: str, ahead: str) -> None:
    assert (add_subject(text), tell_ahead(text)) == (told, ahead)


@each_row(("line", "told"), LINES.items())
def test_what_was_found_in_a_command_line_is_told_as_a_sentence(line: str, told: str) -> None:
    (does,) = operations_for(
        "Bash", {"command": line}, load_preset("coding"), folder="/w", workspace="/w", home="/home/ana"
    )
    parts = [part.text for part in does.because if part.text != line]
    assert cause_line(does.found, part="".join(parts)) == told


def test_the_reason_of_a_risky_call_is_one_sentence() -> None:
    entry = load_preset("coding").entry("git.push")
    every_time = "high risk asks every time: it"
    assert (
        high_risk_reason(entry)
        == high_risk_reason(entry, "changes a remote")
        == f"{every_time} changes a remote"
    )
    assert high_risk_reason(entry, flags_found("git.push")).startswith(
        f"{every_time} may do more than git.push"
    )
