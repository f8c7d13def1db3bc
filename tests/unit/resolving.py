"""The operations of a call as its reader makes them, without the mark that a tool entry declares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.model import Operation
from sayso.core.policy import Policy
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.own_places import home_folder
from sayso.reading.resolve import (
    find_declared_targets,
    find_tool_entry,
    join_targets,
    operations_for,
)


def read_operations(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str, workspace: str, home: str
) -> tuple[Operation, ...]:
    found = operations_for(tool, args, policy, folder=folder, workspace=workspace, home=home)
    return tuple(msgspec.structs.replace(one, declared=False) for one in found)


def target_for(
    tool: str,
    args: Mapping[str, Any],
    policy: Policy,
    *,
    folder: str,
    workspace: str,
    home: str | None = None,
) -> str | None:
    """Everything the call is declared to work on, in one text for people; None if no argument names it."""
    where = CallFolders(folder, workspace, home_folder() if home is None else home)
    entry, _ = find_tool_entry(tool, args, policy, folder=folder)
    return join_targets(find_declared_targets(entry, args, where))
