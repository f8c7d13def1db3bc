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


@contextmanager
def operator_act(gate: Gate) -> Iterator[Writer]:
    """The transaction of an operator's act. Once it is committed, the trail is signed as it stands then."""
    with writing(gate) as tx:
        yield tx
    sign_off(gate)


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
    try:
        add_up(gate)
    except SaysoError as error:
        log.warning("the trail was not added up: %s", error)
