"""Grants: stored rights, one shape for all of them, and when one is live and covers a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from sayso.core.model import Request, Risk
from sayso.core.policy import Settings, Terms

GrantKind = Literal["call", "command", "operation", "category", "tool", "workflow", "run", "retry"]
EXACT = ("call", "retry")
"""Kinds that are for one call, by its digest. A stricter policy and a shorter approval time end them."""
NEVER = float("-inf")
GrantKey = tuple[str, str]


class Pins(msgspec.Struct, frozen=True):
    """The values a covered call must match. None leaves that side free."""

    tool: str | None = None
    workspace: str | None = None
    command: str | None = None
    arguments: str | None = None
    operations: tuple[str, ...] | None = None
    targets: tuple[str, ...] | None = None
    folder: str | None = None


class Grant(msgspec.Struct, frozen=True):
    """A right that an answer or a phrase of the user created. It never changes; uses are counted beside it.

    `kind` and `value` select what it is for: one call (by digest), a command, an operation, a category,
    a tool, a workflow, a run, one more run of a failed call (by digest). `risk` is what it was given at, and
    its ceiling (of the weight, for workflows and runs). `bound_to` names the turn, task or run it ends with.
    A plan is several grants with one `group`.
    """

    id: str
    kind: GrantKind
    value: str
    risk: Risk
    expires_at: float
    session: str
    pins: Pins = Pins()
    uses: int | None = None
    ends_with: Literal["turn", "task", "run", "session"] = "session"
    bound_to: str | None = None
    group: str | None = None
    source: str = "explicit"
    turn: int = 0
    given_at: float = 0.0
    given_by: str = "operator"
    question: str | None = None
    policy: str = ""
    terms: Mapping[str, Terms] = {}
    """What the policy said of each operation when it was asked about: a stricter policy ends an approval."""
    asked_for: str | None = None
    """The tool whose call was asked about, if it answers a question. The grant may cover other tools too."""
    stems: tuple[str, ...] = ()
    """Of a retry: the failed calls, the grants they ran on, the questions behind those. It ends with them."""
    approved: tuple[str, ...] = ()
    """Of an approval: the team's rules that were met when it was given."""

    @property
    def key(self) -> GrantKey:
        return (self.kind, self.value)


class HeldGrant(msgspec.Struct, frozen=True):
    """A grant as it is now: how often it was used, and whether it was revoked."""

    grant: Grant
    used: int = 0
    revoked: bool = False


def spent(held: HeldGrant, now: float) -> bool:
    """Revoked, used up, or expired. At the very second of its expiry a grant is expired."""
    grant = held.grant
    if held.revoked or now >= grant.expires_at:
        return True
    return grant.uses is not None and held.used >= grant.uses


def outlived(grant: Grant, settings: Settings, now: float) -> bool:
    """Return whether the settings of now end a grant that earlier ones gave: a shorter time, tighter pins.

    What the operator grants, or a plan names, was never pinned to arguments.
    """
    if grant.kind in EXACT:
        return now >= grant.given_at + settings.approval_of(grant.risk)
    answers = grant.kind == "operation" and grant.question is not None and grant.group is None
    return answers and grant.pins.arguments is None and settings.grant_pins == "exact"


def ended_by_tightening(grant: Grant, tightened: Mapping[str, float]) -> bool:
    """Return whether the policy was tightened since this approval was given, for all or for part of its call.

    It stays ended if the policy is loosened again.
    """
    return was_tightened(tightened, grant.pins.operations or (), grant.given_at)


def was_tightened(tightened: Mapping[str, float], operations: Iterable[str], since: float) -> bool:
    """Return whether the policy was tightened for any of these operations at this time or after it."""
    return last_tightening(tightened, operations) >= since


def last_tightening(tightened: Mapping[str, float], operations: Iterable[str]) -> float:
    """Return when the policy was last tightened for any of these operations."""
    return max(tightened.get(name, NEVER) for name in ("", *operations))


def pins_fit(pins: Pins, request: Request, operation: str) -> bool:
    """Return whether the call matches everything the grant is pinned to."""
    call = request.call
    return (
        (pins.tool is None or pins.tool == call.tool)
        and (pins.workspace is None or pins.workspace == call.workspace)
        and (pins.folder is None or pins.folder == call.folder)
        and (pins.command is None or pins.command == call.command)
        and (pins.arguments is None or pins.arguments == request.arguments_digest)
        and (pins.operations is None or operation in pins.operations)
        and (pins.targets is None or all(target in pins.targets for target in call.works_on))
    )
