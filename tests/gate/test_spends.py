"""The log of spends: a row for each use of what can be used up, and only the end of what cannot.

Without a mark that outlasts the gate every use has its row: an older session row meets its own number there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.model import Verdict
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate, load_open_session
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.rows.sessions import RowSelection
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.sqlite.store import SqliteStore
from tests.support.asking import edit
from tests.support.gates import KEY

OPERATION = edit("any").operations[0].name


@pytest.fixture(params=[True, False], ids=["marked", "unmarked"])
def marked(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def gate(marked: bool, tmp_path: Path) -> Iterator[Gate]:
    store = SqliteStore(tmp_path / "s.db")
    gate = open_gate(load_preset("chat"), store, key=KEY, marks=tmp_path if marked else None)
    with closing(gate.store):
        yield gate


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="tester", owner="host")


def _logged(gate: Gate, grant: str) -> list[str]:
    with gate.store.read() as tx:
        return [spend.what for spend in tx.spends([grant])]


def _used(gate: Gate, session: str, grant: str) -> int:
    with gate.store.read() as tx:
        return load_open_session(gate, tx, session, RowSelection()).kept.spent[grant].used


@pytest.mark.parametrize("uses", [None, 5])
def test_each_use_is_counted(gate: Gate, session: str, uses: int | None, marked: bool) -> None:
    grant = give_grant(gate, session, by="ana", operation=OPERATION, uses=uses)
    for _ in range(2):
        assert authorize(gate, edit(session)).decision.grants == (grant.id,)
    assert _used(gate, session, grant.id) == 2
    assert _logged(gate, grant.id) == ([] if marked and uses is None else ["use", "use"])
    assert verify_audit(gate).clean


def test_a_call_that_was_entered_and_ended_counts_as_one_use(gate: Gate, session: str, marked: bool) -> None:
    grant = give_grant(gate, session, by="ana", operation=OPERATION)
    call = start_call(gate, edit(session), holder="one", entered=False)
    assert _used(gate, session, grant.id) == 1
    end_call(gate, call.call, call.fence, "succeeded")
    assert _used(gate, session, grant.id) == 1
    assert _logged(gate, grant.id) == ([] if marked else ["use", "enter"])


def test_the_end_of_a_grant_is_in_the_log(gate: Gate, session: str, marked: bool) -> None:
    grant = give_grant(gate, session, by="ana", operation=OPERATION)
    authorize(gate, edit(session))
    record_message(gate, session, "stop")
    assert _logged(gate, grant.id) == (["revoke"] if marked else ["use", "revoke"])
    record_message(gate, session, "go on")
    assert authorize(gate, edit(session)).decision.verdict is Verdict.ASK
    assert verify_audit(gate).clean
