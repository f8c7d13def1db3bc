"""Shared by the commands: open the store to look or to act, and print what was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from sayso.cli.policy_choice import choose_policy, print_note
from sayso.cli.short_ids import expand_session_id

if TYPE_CHECKING:
    from sayso.core.policy import Policy
    from sayso.gate.gate import Gate

OTHER_POLICY = (
    "the gate of this store runs under another policy: that one stays in force and decides every call, "
    "and an answer that is wider than once is pinned to exactly what was asked "
    "(--policy or --preset names the right one)"
)


@contextmanager
def open_gate_to_look(
    store: str | None, *, sealed: bool = False, policy: Policy | None = None
) -> Iterator[Gate]:
    """The store as it stands; nothing in it is changed. `sealed`: what is shown needs the gate's key."""
    from sayso.gate.audit.tree import require_key
    from sayso.gate.open import UnusedStore, open_to_look

    try:
        gate = open_to_look(store, policy=policy)
    except UnusedStore:
        gate = _open_empty_gate(policy)
    try:
        if sealed:
            require_key(gate)
        yield gate
    finally:
        gate.store.close()


def _open_empty_gate(policy: Policy | None) -> Gate:
    """Return a gate on an empty store. Without a policy it blocks all."""
    from sayso.core.policy import compile_policy
    from sayso.gate.open import open_gate
    from sayso.gate.rows.keys import make_key
    from sayso.store.memory.store import MemoryStore

    return open_gate(policy or compile_policy(), MemoryStore(), key=make_key("empty"), decides=False)


@contextmanager
def open_gate_to_act(store: str | None, policy: Policy | None = None) -> Iterator[Gate]:
    """The store for an act of the operator, under this policy where the act depends on one.

    A store that was made and never used is begun here, under your own policy.
    """
    from sayso.gate.open import UnusedStore, open_gate, open_to_act
    from sayso.gate.policy.acting_policy import policy_in_force

    try:
        gate = open_to_act(policy, store)
    except UnusedStore:
        open_gate(policy or choose_policy(None, None, None), store, decides=False).store.close()
        gate = open_to_act(policy, store)
    try:
        if policy is not None and policy_in_force(gate) != gate.policy.digest:
            print_note(OTHER_POLICY)
        yield gate
    finally:
        gate.store.close()


def optional_session_id(gate: Gate, session: str | None) -> str | None:
    return None if session is None else expand_session_id(gate, session)


def show_or_json(as_json: bool, value: object, lines: list[str]) -> None:
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(value).decode())
        return
    from sayso.cli.views.wrapping import echo_wrapped

    echo_wrapped(lines)
