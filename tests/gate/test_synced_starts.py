"""Which starts wait for the disk: all but those of low risk that use and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Operation, Risk
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.start import start_call
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.sqlite import log_sync
from tests.support.by_hand import Place, sqlite_place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = sqlite_place(tmp_path, policy=load_preset("balanced"))
    yield made
    made.close()


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that the store waits for the disk from now on."""
    made: list[int] = []
    sync = log_sync.sync_file

    def watched(file: int) -> None:
        made.append(file)
        sync(file)

    monkeypatch.setattr(log_sync, "sync_file", watched)
    return made


@pytest.mark.parametrize(
    ("risk", "names", "waits"),
    [
        (Risk.LOW, {"host_id": "toolu_1"}, False),
        (Risk.LOW, {"key": "once"}, True),
        (Risk.LOW, {"effect_key": "bill 7"}, True),
        (Risk.MODERATE, {"host_id": "toolu_1"}, True),
    ],
)
def test_a_start_waits_for_the_disk_unless_it_is_of_low_risk_and_nobody_named_it(
    place: Place, syncs: list[int], risk: Risk, names: dict[str, Any], waits: bool
) -> None:
    session = open_session(place.gate, agent="tester", owner="host", workspace="/w")
    if risk is Risk.MODERATE:
        give_grant(place.gate, session, by="ana", operation="notes.change", minutes=10)
    call = make_call("notes", {"page": 1}, door="python", folder="/w", workspace="/w")
    wanted = make_request(
        call, [Operation("notes.change", risk=risk, declared=True)], agent="tester", session=session
    )
    syncs.clear()
    assert start_call(place.gate, wanted, holder="one", **names).runs
    assert bool(syncs) is waits
