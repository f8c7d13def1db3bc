"""A task tool: a function that writes to your list, and asks you first.

Try it: python examples/task_tool.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from sayso import ConsentRequired, Sayso, make_key

folder = TemporaryDirectory()  # so that trying this leaves nothing behind; your own program says Sayso.open()
gate = Sayso.open("balanced", Path(folder.name) / "sayso.db", key=make_key("example"))
tasks: list[str] = []


@gate.requires_consent("tasks.create", risk="moderate", reason="writes to your task list")
def create_task(title: str) -> int:
    """Put a task on the list; returns how many there are."""
    tasks.append(title)
    return len(tasks)


def main() -> None:
    # Whoever calls the function: without consent it does not run.
    try:
        create_task("Water the plants")
    except ConsentRequired as asked:
        print(f"called directly: {asked.operation} was not run, a person has to approve it first")

    # Through the gate, the same call is asked on your terminal, waits for you, and runs once.
    result = gate.run("create_task", {"title": "Water the plants"})

    # Nobody answered within 90 seconds: the question stays open, and a retry waits for its answer again.
    if result.status == "timeout" and result.operation_id:
        result = gate.retry(result.operation_id)

    # The result says how it ended: ok, denied, blocked, timeout or error.
    print(f"through the gate: {result.status},", result.reason or f"create_task returned {result.value}")

    # To retry what has run does not run it again: you get the result that is known.
    if result.ok and result.operation_id:
        print(f"retried: {gate.retry(result.operation_id).status}")
    print(f"tasks on the list: {len(tasks)}")


if __name__ == "__main__":
    with folder, gate:
        main()
