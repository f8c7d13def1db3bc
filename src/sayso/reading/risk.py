"""The risk of a command by itself, as lists of commands show it."""

from __future__ import annotations

from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.reading.path_operations import CallFolders


def read_risk(command: str, workspace: str, policy: Policy) -> Risk:
    """The risk of this command in this workspace; of a workspace that is not known, high."""
    from sayso.reading.paths.budget import share_budget
    from sayso.reading.paths.own_places import home_folder
    from sayso.reading.shell.read import read_line

    with share_budget():
        where = CallFolders(workspace, workspace, home_folder())
        readers = policy.readings or (policy,)
        return max(read_line(command, where, one, one.programs).risk for one in readers)
