"""The operations of a call as its reader makes them, without the mark that a tool entry declares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.model import Operation
from sayso.core.policy import Policy
from sayso.reading.resolve import operations_for


def read_operations(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str, workspace: str, home: str
) -> tuple[Operation, ...]:
    found = operations_for(tool, args, policy, folder=folder, workspace=workspace, home=home)
    return tuple(msgspec.structs.replace(one, declared=False) for one in found)
