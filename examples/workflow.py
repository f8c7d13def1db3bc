"""A workflow: you agree to the whole run once, and again to the one step that wants a yes of its own.

Try it: python examples/workflow.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from sayso import Sayso, Step, make_key

folder = TemporaryDirectory()  # so that trying this leaves nothing behind; your own program says Sayso.open()
gate = Sayso.open("balanced", Path(folder.name) / "sayso.db", key=make_key("example"))


@gate.requires_consent("notes.read", risk="low")
def read_notes() -> list[str]:
    progress()
    return ["met Ana", "mended the parser"]


@gate.requires_consent("report.write", risk="moderate")
def write_report(notes: list[str]) -> str:
    progress()
    return f"This week: {', '.join(notes)}."


@gate.requires_consent("report.send", risk="moderate")
def send_report(report: str, to: str) -> str:
    progress()
    return f"sent to {to}: {report}"


def progress() -> None:
    """How far the run has come. It stands in the store, so another process could look there as well."""
    for run in gate.runs():
        print(f"{run.workflow}:", ", ".join(f"{step} {state}" for step, state in run.steps.items()))


# A step gets what earlier steps returned, and what the run was given, by the names of its parameters.
gate.workflow(
    "weekly-report",
    [
        Step("notes", read_notes, operations=("notes.read",)),
        Step("report", write_report, operations=("report.write",), after=("notes",)),
        # Sending is asked for when the report is there to be seen: no consent for the run covers it.
        Step("sent", send_report, ("report.send",), after=("report",), requires_individual_consent=True),
    ],
)


if __name__ == "__main__":
    with folder, gate:
        result = gate.run("weekly-report", {"to": "team@example.com"})
        print(f"{result.status}:", result.value["sent"] if result.ok else result.reason)
        if result.ran:  # only where a run was stopped on its way
            print(f"had run before: {', '.join(result.ran)}")
