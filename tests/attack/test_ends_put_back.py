"""A call that ended is over, though its end did not wait for the disk.

The end of a plain success is not synced by itself. Rows from before it, put back, must not make the call run
or end again: not in another process, not after a restart, and not after the process was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Risk
from sayso.core.policy import Detail, Domain, compile_policy
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.rows.mark import unsettled
from sayso.gate.sessions.sessions import open_session
from tests.support.answers import answer_question
from tests.support.by_hand import Place, sqlite_place

ROWS = ("sessions", "grants", "spends", "questions", "calls")


def killed(place: Place) -> Gate:
    """Another gate, while the first one has neither closed nor committed anything since."""
    return place.another()


def closed(place: Place) -> Gate:
    return place.restart()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = sqlite_place(tmp_path)
    yield made
    made.close()


def ended(place: Place) -> tuple[str, int]:
    """A call that was approved, started, and succeeded; and the rows as they were when it ran, put back."""
    gate = place.gate
    session = open_session(gate, agent="tester", owner="host", workspace="/w")
    wanted = make_request(
        make_call("pay", {"amount": 1000}, door="python", folder="/w", workspace="/w"),
        [Operation("bank.pay", risk=Risk.MODERATE)],
        agent="tester",
        session=session,
    )
    asked = start_call(gate, wanted, holder="one", effect_key="bill 7")
    assert asked.question is not None
    answer_question(gate, asked.question, "once", by="ana")
    started = retry_call(gate, asked.call, holder="one")
    assert started.runs
    running = place.hand.copy(*ROWS)
    end_call(gate, asked.call, started.fence, "succeeded")
    place.hand.put_back(running)
    return asked.call, started.fence


@pytest.mark.parametrize("again", [killed, closed])
def test_a_call_that_ended_does_not_end_again_by_its_rows_of_before(
    place: Place, again: Callable[[Place], Gate]
) -> None:
    call, fence = ended(place)
    gate = again(place)
    with pytest.raises(SaysoError):
        end_call(gate, call, fence, "failed")
    with pytest.raises(SaysoError):
        retry_call(gate, call, holder="two")
    assert place.reported()


@pytest.fixture
def another_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """What starts the machine again."""

    def start() -> None:
        (tmp_path / "another-boot").write_text("other")
        monkeypatch.setattr(unsettled, "BOOT", tmp_path / "another-boot")
        unsettled.boot_number.cache_clear()

    yield start
    monkeypatch.undo()
    unsettled.boot_number.cache_clear()


def test_after_the_machine_started_again_an_end_that_was_lost_is_no_tampering(
    another_boot: Callable[[], None], place: Place
) -> None:
    """A power failure takes what was not synced: that must not look like a hand in the rows."""
    call, fence = ended(place)
    another_boot()
    gate = place.another()
    end_call(gate, call, fence, "succeeded")
    assert not place.reported()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Place]:
    """Where the bank may be looked at without asking."""
    policy = compile_policy(
        domains={"bank": Domain(autonomous=("look",))}, operations={"bank.look": Detail(risk=Risk.LOW)}
    )
    made = sqlite_place(tmp_path, policy=policy)
    yield made
    made.close()


def started_and_put_back(place: Place) -> Request:
    """A call of low risk whose start did not wait for the disk; and the rows of before it, put back."""
    session = open_session(place.gate, agent="tester", owner="host", workspace="/w")
    wanted = make_request(
        make_call("look", {"at": 7}, door="mcp", folder="/w", workspace="/w"),
        [Operation("bank.look", risk=Risk.LOW)],
        agent="tester",
        session=session,
    )
    before = place.hand.copy(*ROWS)
    assert start_call(place.gate, wanted, holder="one", host_id="h1", lasts=False).runs
    place.hand.put_back(before)
    return wanted


def test_a_call_that_was_started_without_the_disk_does_not_start_again_by_the_rows_of_before(
    watched: Place,
) -> None:
    wanted = started_and_put_back(watched)
    with pytest.raises(SaysoError):
        start_call(watched.another(), wanted, holder="two", host_id="h1", lasts=False)
    assert watched.reported()


def test_after_the_machine_started_again_a_start_that_was_lost_is_no_tampering(
    another_boot: Callable[[], None], watched: Place
) -> None:
    wanted = started_and_put_back(watched)
    another_boot()
    assert start_call(watched.another(), wanted, holder="two", host_id="h2", lasts=False).runs
    assert not watched.reported()
