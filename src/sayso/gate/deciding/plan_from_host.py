"""A plan as a host gives it, text or structure, as what the core reads in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.plans.plan import beside_policy, plan_from_parts, read_plan
from sayso.core.policy import Policy
from sayso.core.session.plan_text import PlanText
from sayso.gate.decoding import convert_to


class PlanParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan as a structure. It counts only once Sayso's own rendering of it was shown."""

    targets: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    scope: str | None = None
    success: str | None = None
    operations: tuple[str, ...] = ()


def read_host_plan(plan: str | Mapping[str, Any], policy: Policy) -> PlanText:
    """Return the plan, and what a yes to it would cover.

    A structure that is not a plan, or that names an unknown operation, is refused.
    """
    if isinstance(plan, str):
        return beside_policy(read_plan(plan, policy.table), policy)
    try:
        parts = convert_to(plan, PlanParts)
    except msgspec.ValidationError as error:
        raise MalformedRequest(
            f"this is not a plan: {error}", hint=f"use: {', '.join(PlanParts.__struct_fields__)}"
        ) from error
    unknown = [name for name in parts.operations if name not in policy.table]
    if unknown:
        raise MalformedRequest(f"the policy knows no operation {unknown[0]!r}")
    rendered = plan_from_parts(parts.targets, parts.changes, parts.scope, parts.success, parts.operations)
    return beside_policy(rendered, policy)
