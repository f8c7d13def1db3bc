"""Operator transactions: commit, then sign a checkpoint, and add up what it covers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sayso.core.errors import SaysoError
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.streams import mark_joined_streams
from sayso.gate.gate import Gate, writing
from sayso.gate.summaries.add_up import add_up
from sayso.store.contract import Writer

log = logging.getLogger("sayso")
JUST_NOW = 0.5
"""A checkpoint of another service that is so many seconds old leaves nothing to sign for now."""


@contextmanager
def operator_act(gate: Gate) -> Iterator[Writer]:
    """The transaction of an operator's act. Once it is committed, the trail is signed as it is then."""
    with writing(gate) as tx:
        yield tx
    sign_off(gate)


def sign_in_turn(gate: Gate) -> None:
    """Sign the trail, unless another service has signed it just now: one of them a second is enough."""
    with gate.store.read() as tx:
        last = next(iter(tx.checkpoints(limit=1)), None)
        just_now = last is not None and 0 <= tx.now - last.at < JUST_NOW
    if gate.store.local or not just_now:
        sign_off(gate)
    else:
        mark_joined_streams(gate)


def sign_off(gate: Gate) -> None:
    """Sign the trail and add up what is new in it. If that fails, log a warning: what was done stays done."""
    if gate.key is None:
        return
    try:
        sign_audit(gate)
        mark_joined_streams(gate)
    except SaysoError as error:
        log.warning("no checkpoint was signed: %s", error)
        return
    sum_up(gate)


def sum_up(gate: Gate) -> None:
    """Add up what is new in the trail. If that fails, log a warning: nothing else depends on it."""
    try:
        add_up(gate)
    except SaysoError as error:
        log.warning("the trail was not added up: %s", error)
