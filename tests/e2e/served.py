"""A gate with a few capabilities, as users write them, for `sayso mcp serve`. PLACE says where it lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sayso import Sayso
from sayso.doors.python.workflow import Step
from sayso.gate.open import KEY_NAME
from sayso.gate.rows.keys import load_or_make_key
from sayso.surfaces.inbox import Inbox

POLICY = """\
extends: [balanced]
domains:
  tasks: {autonomous: [], requires_approval: [create], blocked: [erase]}
"""


def opened(place: Path) -> Sayso:
    """The gate of this place: the server and the operator of the tests open it the same way."""
    policy = place / "policy.yaml"
    if not policy.exists():
        policy.write_text(POLICY, encoding="utf-8")
    key = load_or_make_key(KEY_NAME, place / "gate.key")
    return Sayso.open(policy, place / "store.db", surfaces=[Inbox()], key=key, marks=place)


if "PLACE" in os.environ:
    print("printed while it is imported")  # noqa: T201  it must not reach the wire
    here = Path(os.environ["PLACE"])
    gate = opened(here)
    not_a_gate = 7

    @gate.capability()
    @gate.requires_consent("tasks.create", risk="moderate", reason="writes to your list")
    def create_task(title: str, days: int = 1) -> dict[str, str]:
        """Put a task on the list."""
        with (here / "ran").open("a", encoding="utf-8") as ran:
            ran.write(f"{title}\n")
        return {"created": title}

    @gate.capability()
    def tidy() -> str:
        """Comes to a gate that it does not declare, in the middle of its work."""
        create_task("tidied")
        return "tidy"

    gate.workflow("digest", [Step("write", create_task, operations=("tasks.create",))])

    @gate.capability()
    @gate.requires_consent("tasks.erase")
    def erase() -> None:
        """Erase the list."""
        (here / "ran").write_text("erased\n", encoding="utf-8")

    @gate.capability()
    def chatter() -> str:
        """Prints and reads as a careless function does."""
        print("printed")  # noqa: T201
        os.write(1, b"written\n")
        subprocess.run([sys.executable, "-c", "print('said by a child')"], check=True)
        return sys.stdin.read()
