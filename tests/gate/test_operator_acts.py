"""Every act of an operator is covered by a signed checkpoint when it returns."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from sayso.core.audit import events
from sayso.core.audit.entry import AuditError
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate, writing
from sayso.gate.ledger.recovery import recover_calls, resolve_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question, edit_and_allow
from sayso.gate.rows.journal import record
from sayso.gate.sessions.operator_grants import (
    UnknownGrant,
    clear_allowlist,
    give_grant,
    list_grants,
    revoke_all,
    revoke_grant,
)
from sayso.gate.sessions.sessions import close_session
from tests.support.asking import edit
from tests.support.forging import forged_event
from tests.support.gates import Clock

Act = Callable[[Gate, str], object]


def ask(gate: Gate, session: str) -> str:
    question = authorize(gate, edit(session)).question
    assert question is not None
    return question.id


def granted(gate: Gate, session: str) -> str:
    """A grant that no checkpoint covers yet: entries of others come after it."""
    grant = give_grant(gate, session, by="ana", command="git push")
    ask(gate, session)
    return grant.id


ACTS: dict[str, Act] = {
    "approve": lambda gate, s: answer_question(gate, ask(gate, s), "once", by="ana"),
    "deny": lambda gate, s: answer_question(gate, ask(gate, s), "deny", by="ana"),
    "edit": lambda gate, s: edit_and_allow(gate, ask(gate, s), edit(s, "b.py"), by="ana"),
    "grant": lambda gate, s: give_grant(gate, s, by="ana", operation="files.edit"),
    "revoke": lambda gate, s: revoke_grant(gate, granted(gate, s), by="ana"),
    "revoke all": lambda gate, s: (granted(gate, s), revoke_all(gate, s, by="ana")),
    "allowlist remove": lambda gate, s: (granted(gate, s), clear_allowlist(gate, s, "ana", "git push")),
    "allowlist clear": lambda gate, s: (granted(gate, s), clear_allowlist(gate, s, "ana")),
    "end a session": lambda gate, s: close_session(gate, s, by="ana"),
}


def unsigned(gate: Gate) -> int:
    verified = verify_audit(gate)
    assert verified.clean, verified.reports
    return verified.reports[0].entries - verified.reports[0].held_through


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_checkpoint_covers_the_newest_entry_after_every_act(gate: Gate, session: str, act: Act) -> None:
    assert unsigned(gate) > 0
    act(gate, session)
    assert unsigned(gate) == 0


def test_so_does_one_after_an_ambiguous_call_is_resolved(gate: Gate, session: str, clock: Clock) -> None:
    give_grant(gate, session, by="ana", operation="files.edit")
    attempt = start_call(gate, edit(session), holder="one")
    assert attempt.runs
    clock.now += 86_000
    recover_calls(gate)
    assert unsigned(gate) > 0
    resolve_call(gate, attempt.call, "failed", by="ana")
    assert unsigned(gate) == 0


def test_what_the_agent_and_the_host_do_is_not_signed_one_by_one(gate: Gate, session: str) -> None:
    ask(gate, session)
    close_session(gate, session)
    with gate.store.read() as tx:
        assert list(tx.checkpoints(limit=10)) == []


def test_an_act_that_fails_writes_nothing_and_signs_nothing(gate: Gate, session: str) -> None:
    acts = (events.Granted("g_1", "operation", "low"), forged_event("no event"))
    with pytest.raises(AuditError), operator_act(gate) as tx:
        _ = [record(tx, act, session=session) for act in acts]
    with gate.store.read() as tx:
        assert list(tx.checkpoints(limit=10)) == []
        assert "GRANTED" not in [row.event for row in tx.entries("main", limit=100)]


def test_an_act_stands_although_the_trail_before_it_cannot_be_signed(
    gate: Gate, session: str, caplog: pytest.LogCaptureFixture
) -> None:
    with writing(gate) as tx:
        last = tx.head("main")
        assert last is not None
        tx.add_entry(msgspec.structs.replace(last, seq=last.seq + 1, prev=last.hash, hash=b"?" * 32))
    grant = give_grant(gate, session, by="ana", operation="files.edit")
    assert [one.id for one in list_grants(gate)] == [grant.id]
    assert "no checkpoint was signed" in caplog.text


def test_only_the_command_named_leaves_the_allowlist_and_other_grants_stay(gate: Gate, session: str) -> None:
    for command in ("git push", "git pull"):
        give_grant(gate, session, by="ana", command=command)
    give_grant(gate, session, by="ana", operation="files.edit")
    assert len(clear_allowlist(gate, session, "ana", " git push ")) == 1
    assert [one.value for one in list_grants(gate)] == ["git pull", "files.edit"]
    with pytest.raises(UnknownGrant, match="not on the allowlist"):
        clear_allowlist(gate, session, "ana", "git push --force")
    assert len(clear_allowlist(gate, session, "ana")) == 1
    assert [one.value for one in list_grants(gate)] == ["files.edit"]
    assert clear_allowlist(gate, session, "ana") == []
