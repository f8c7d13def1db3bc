"""A program with a workflow that other processes go on with.

Each step writes a line when it is entered. The second asks, fails or dies, as the program is told.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sayso import Inbox, Sayso, Step

POLICY = """
extends: [gateway]
domains:
  mail: {autonomous: [], requires_approval: [read], blocked: []}
  notes: {autonomous: [], requires_approval: [share], blocked: []}
operations:
  mail.read: {risk: moderate}
  notes.share: {risk: high}
"""


def declare_digest(gate: Sayso, log: Path, second: str = "asks") -> None:
    """Three steps; the second shares what the first read, and the third adds up."""

    def enter(step: str) -> None:
        with log.open("a") as lines:
            lines.write(f"{step}\n")

    @gate.requires_consent("notes.share", risk="high")
    def share(text: str) -> str:
        enter("share")
        return text

    def one(sender: str) -> dict[str, list[str]]:
        enter("one")
        return {sender: ["a letter"]}

    def two(one: dict[str, list[str]]) -> str:
        enter("two")
        if second == "fails":
            raise ValueError("the printer is out of paper")
        if second == "dies":
            os._exit(9)
        return share(" and ".join(one)) if second == "asks" else "printed"

    def three(one: dict[str, list[str]], two: str) -> str:
        enter("three")
        return f"{two}, {len(one)} in all"

    steps = [
        Step("one", one, operations=("mail.read",)),
        Step("two", two, after=("one",)),
        Step("three", three, after=("two",)),
    ]
    gate.workflow("digest", steps)


def main(store: str, log: str, second: str, session: str, call: str) -> None:
    """Go on with this call; without one, run the workflow. Writes the result to the output."""
    policy = Path(log).with_suffix(".yaml")
    policy.write_text(POLICY)
    with Sayso.open(policy, store, surfaces=[Inbox()]) as gate:
        declare_digest(gate, Path(log), second)
        if call:
            result = gate.retry(call, session=session, wait=0)
        else:
            result = gate.run("digest", {"sender": "bo"}, session=session, wait=0)
        words = (result.status, result.operation_id or "", str(result.value or result.reason))
        sys.stdout.write("\t".join(words))
