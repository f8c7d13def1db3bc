"""Readings that a policy file may not accept: where the key stands, beside what, and for which operation."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from sayso.core.acceptable import may_be_accepted
from sayso.core.model import Risk
from sayso.policy.file import PolicyFile
from sayso.policy.parsing.document import Node


def check_accepted_readings(
    file: PolicyFile, tree: Node, say: Callable[[tuple[int, int], str, str], None], *, own: bool
) -> None:
    """Refuse those that nobody may accept. `own`: the file is the operator's, no preset and no project's."""
    for name, detail in (file.operations or {}).items():
        if detail.reading is UNSET:
            continue
        place = tree.at("operations", name, "reading")
        if not own:
            say(place, "a reading is accepted in the operator's own policy file only", "leave reading out")
        elif detail.risk is UNSET:
            say(place, f"{name} accepts a reading and sets no risk", "write the risk that stands beside it")
        elif not may_be_accepted(name) or not _is_raised_by_row(name):
            hint = "only reads of a remote may be accepted, such as git.fetch"
            say(place, f"a reading of {name} can never be accepted", hint)


def _is_raised_by_row(name: str) -> bool:
    """Return whether the shipped data knows the operation, and has it above low risk."""
    from sayso.reading.shell.programs.known import find_own_risk

    risk = find_own_risk(name)
    return risk is not None and risk > Risk.LOW
