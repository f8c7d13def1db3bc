"""The engines we measure against, each finding the tier of an operation in the quickest way we know for it.

A peer is built from the tiers of all operations. What it can do ahead it does ahead: parsing, compiling,
putting a request into its own form. Timed is the question, and reading the tier off the answer. The modules
are imported by name, so that this file can be read and checked without having them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec

Tiers = Mapping[str, str]
Prepare = Callable[[str], Any]
Answer = Callable[[Any], str]


class Peer(msgspec.Struct, frozen=True):
    """An engine in one way of using it. `before` is the first Python it cannot be installed on."""

    name: str
    package: str
    module: str
    way: str
    build: Callable[[Tiers], tuple[Prepare, Answer]]
    times: float | None = 5.0
    """The aim: how many whole decisions of ours for each answer of the peer. None: shown without one."""
    before: tuple[int, int] | None = None

    @property
    def possible(self) -> bool:
        return self.before is None or sys.version_info[:2] < self.before

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None


def wrong_answers(tiers: Tiers, prepare: Prepare, answer: Answer) -> list[str]:
    """The operations whose tier the peer gets wrong. Only one without any is measured."""
    return [name for name, tier in tiers.items() if answer(prepare(name)) != tier]


def _cedar(tiers: Tiers) -> tuple[Prepare, Answer]:
    """One policy a tier, over a group of operations; policies and entities are parsed once."""
    cedarpy: Any = import_module("cedarpy")
    effects = {"autonomous": "permit", "requires_approval": "permit", "blocked": "forbid"}
    policies = cedarpy.PolicySet.from_str(
        "\n".join(
            f'@id("{tier}") {effect} (principal, action, resource in Tier::"{tier}");'
            for tier, effect in effects.items()
        )
    )
    operations = [
        {"uid": _uid("Operation", name), "attrs": {}, "parents": [_uid("Tier", tier)]}
        for name, tier in tiers.items()
    ]
    entities = cedarpy.Entities.from_json_str(json.dumps(operations))

    def prepare(name: str) -> Any:
        return {
            "principal": _uid("Agent", "agent"),
            "action": _uid("Action", "run"),
            "resource": _uid("Operation", name),
        }

    def answer(question: Any) -> str:
        result = cedarpy.is_authorized(question, policies, entities)
        tier: str = next(iter(result.diagnostics.id_annotations_by_reason.values()))
        return tier

    return prepare, answer


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


CASBIN_MODEL = """
[request_definition]
r = domain, action
[policy_definition]
p = domain, action, tier
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.domain == p.domain && r.action == p.action
"""


def _casbin(tiers: Tiers) -> tuple[Prepare, Answer]:
    """One row an operation, found by FastEnforcer's index; `enforce_ex` hands out the row with its tier."""
    casbin: Any = import_module("casbin")
    fast: Any = import_module("casbin.model")
    model = fast.FastModel([0, 1])
    model.load_model_from_text(CASBIN_MODEL)
    enforcer = casbin.FastEnforcer(model, cache_key_order=[0, 1])
    enforcer.add_policies([[*name.split("."), tier] for name, tier in tiers.items()])
    rows = enforcer.model.model["p"]["p"].policy

    def answer(question: list[str]) -> str:
        with fast.fast_policy_filter(rows, *question):  # this is all that FastEnforcer.enforce adds
            _, row = enforcer.enforce_ex(*question)
        tier: str = row[2]
        return tier

    return lambda name: name.split("."), answer


def _oso(tiers: Tiers) -> tuple[Prepare, Answer]:
    """One fact an operation; the tier is what the query leaves to be found."""
    oso: Any = import_module("oso")
    engine = oso.Oso()
    facts = [f'tier("{name}", "{tier}");' for name, tier in tiers.items()]
    engine.load_str("\n".join([*facts, 'allow(_, operation, _) if tier(operation, "autonomous");']))
    unknown = oso.Variable("tier")

    def answer(name: str) -> str:
        tier: str = next(engine.query_rule("tier", name, unknown))["bindings"]["tier"]
        return tier

    return lambda name: name, answer


def _cel_lists(tiers: Tiers) -> tuple[Prepare, Answer]:
    """The policy written as one expression, compiled once: in which of the three lists is the operation?"""
    cel: Any = import_module("cel")
    lists: dict[str, list[str]] = {"blocked": [], "requires_approval": [], "autonomous": []}
    for name, tier in tiers.items():
        lists[tier].append(name)
    chain = " : ".join(f'operation in {json.dumps(names)} ? "{tier}"' for tier, names in lists.items())
    program = cel.compile(f'{chain} : "unlisted"')
    return lambda name: {"operation": name}, program.execute


def _cel_table(tiers: Tiers) -> tuple[Prepare, Answer]:
    """The policy as a map that stays in the context; only the request is handed over, through a resolver."""
    cel: Any = import_module("cel")
    program = cel.compile("policy[operation]")
    context = cel.Context(variables={"policy": dict(tiers)})

    def answer(question: dict[str, str]) -> str:
        context.set_variable_resolver(question.get)
        tier: str = program.execute(context)
        return tier

    return lambda name: {"operation": name}, answer


PEERS = (
    Peer("Cedar", "cedarpy", "cedarpy", "groups", _cedar),
    Peer("Casbin", "casbin", "casbin", "FastEnforcer", _casbin),
    Peer("Oso", "oso", "oso", "facts", _oso, before=(3, 13)),
    Peer("CEL", "common-expression-language", "cel", "lists", _cel_lists, times=2.0),
    Peer("CEL", "common-expression-language", "cel", "kept map", _cel_table, times=None),
)
