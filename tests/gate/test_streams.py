"""Several services on one PostgreSQL, each with a stream and perhaps a mark of its own: they act as one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from sayso.core.audit import events
from sayso.core.audit.checkpoint import BadCheckpoint
from sayso.core.audit.entry import AuditError
from sayso.core.audit.joined_receipt import check_proof
from sayso.core.model import Operation, Verdict
from sayso.gate.audit.checkpoints import prove_entry
from sayso.gate.audit.joined_proofs import prove_entry_of
from sayso.gate.audit.operator_transaction import sign_off
from sayso.gate.audit.prune import prune_audit
from sayso.gate.audit.streams import claim_stream
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, UnknownSession, time_trusted
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token, list_tokens, revoke_token
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_verifier, public_key_of
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant, revoke_all
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.clock import read_clock, trust_clock
from sayso.policy import load_preset
from sayso.store.contract import Ahead, EntryRow
from sayso.store.postgres.store import PostgresStore
from tests.gate.test_two_services_at_once import until_waiting
from tests.support.by_hand import Hand
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema

PATIENCE = 30.0
TRUSTED = (make_verifier(KEY.name, public_key_of(KEY)),)

OF_THE_SECOND = "stream_number = (SELECT number FROM streams WHERE name = 'service-2')"


class Team:
    """Services on one database; each may have marks of its own, as on another machine."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.hand = Hand(lambda: psycopg.connect(address), "%s")
        self._folder = folder
        self._open: list[Gate] = []

    def service(self, machine: str = "one") -> Gate:
        gate = claim_stream(self.program(machine))
        self._open.append(gate)
        return gate

    def program(self, machine: str = "one") -> Gate:
        """A gate as any program opens it, on this machine's marks."""
        marks = self._folder / machine
        marks.mkdir(exist_ok=True)
        gate = open_gate(load_preset("chat"), PostgresStore(self.address), key=KEY, marks=marks)
        self._open.append(gate)
        return gate

    def new_machine(self, machine: str, *, like: str = "one") -> None:
        """Another machine, which was given the mark of the first."""
        shutil.copytree(self._folder / like, self._folder / machine)

    def close(self) -> None:
        for gate in self._open:
            gate.store.close()


@pytest.fixture
def team(postgres_server: str, tmp_path: Path) -> Iterator[Team]:
    team = Team(new_schema(postgres_server), tmp_path)
    yield team
    team.close()


def may_push(gate: Gate, session: str) -> bool:
    call = make_call("shell", {}, command="git push")
    request = make_request(call, [Operation("git.status")], session=session)
    try:
        return authorize(gate, request).decision.verdict is Verdict.ALLOW
    except UnknownSession:  # it is of an earlier epoch
        return False


def grant_push(gate: Gate) -> str:
    """A session with the operator's grant."""
    session = open_session(gate, agent="agent", owner="host")
    give_grant(gate, session, by="ana", operation="git.status")
    return session


def newest(gate: Gate, stream: str) -> EntryRow:
    with gate.store.read() as tx:
        found = tx.head(stream)
    assert found is not None
    return found


def test_each_service_has_a_stream_and_leaves_it_to_the_next(team: Team) -> None:
    first, second, third = (team.service() for _ in range(3))
    assert [one.stream for one in (first, second, third)] == ["main", "service-2", "service-3"]
    session = open_session(second, agent="agent", owner="host")
    second.store.close()
    heir = team.service()
    assert heir.stream == "service-2"
    record_message(heir, session, "hello")
    sign_off(first)
    verified = verify_audit(first)
    assert verified.clean
    assert {report.stream: report.held_through == report.entries for report in verified.reports} == {
        "main": True,
        "service-2": True,
        "service-3": True,
    }


def test_a_program_that_is_no_service_writes_main(team: Team) -> None:
    team.service()
    assert team.program().stream == "main"


def test_a_backup_from_before_a_revocation_on_another_machine_revives_nothing(team: Team) -> None:
    first = team.service()
    session = grant_push(first)
    sign_off(first)
    team.new_machine("two")
    second = team.service("two")
    assert may_push(second, session)
    sign_off(second)
    backup = team.hand.copy()
    first.store.close()
    second.store.close()
    elsewhere = team.service("two")
    assert elsewhere.stream == "main"  # nobody else runs
    here = team.service("one")
    assert here.stream == "service-2"
    revoke_all(here, session, by="ana")
    sign_off(here)
    sign_off(elsewhere)  # where there is nothing left to sign
    here.store.close()
    elsewhere.store.close()
    team.hand.put_back(backup)
    again = team.service("two")
    assert again.sealer.epoch != elsewhere.sealer.epoch
    assert not may_push(again, session)


def test_a_restored_database_begins_one_epoch_and_not_one_for_each_who_opens_it(team: Team) -> None:
    first, second = team.service(), team.service()
    backup = team.hand.copy()
    for gate in (first, second):
        grant_push(gate)
        gate.store.close()
    team.hand.put_back(backup)
    begun = {team.service().sealer.epoch for _ in range(3)}
    assert len(begun) == 1
    assert begun != {1}


def test_the_end_of_a_stream_that_is_cut_off_is_found_by_the_mark(team: Team) -> None:
    first, second = team.service(), team.service()
    sign_off(first)
    open_session(second, agent="agent", owner="host")
    assert verify_audit(first).clean
    team.hand.run(f"DELETE FROM entries WHERE {OF_THE_SECOND} AND seq = 2")  # noqa: S608  a name of our own
    assert any("mark" in one.text for one in verify_audit(first).reports[0].findings)
    second.store.close()
    first.store.close()
    assert team.service().sealer.epoch != first.sealer.epoch


def test_a_clock_behind_any_stream_is_wrong_for_every_service_until_the_operator_says_otherwise(
    team: Team,
) -> None:
    first, second = team.service(), team.service()
    session = grant_push(first)
    assert may_push(first, session)
    team.hand.run(f"UPDATE entries SET at = at + 3600 WHERE {OF_THE_SECOND}")  # noqa: S608  a name of our own
    for gate in (first, second):
        with gate.store.read() as tx:
            assert not time_trusted(gate, tx)
        with gate.marked_store.batch() as batch:
            batch.read_ahead(Ahead(streams=frozenset({gate.stream})))
            with batch.read() as tx:
                assert not time_trusted(gate, tx)
    assert not may_push(first, session)
    trust_clock(first, by="ana")
    assert read_clock(first).trusted
    assert read_clock(second).trusted


def test_what_happens_in_a_session_has_times_in_its_order_whichever_stream_it_is_in(team: Team) -> None:
    first, second = team.service(), team.service()
    session = open_session(first, agent="agent", owner="host")
    with second.store.write() as tx:
        record_message(first, session, "first")
        tx.session(session)
        record(tx, events.SessionStopped("ana", ()), session=session, stream=second.stream)
    assert newest(second, second.stream).at >= newest(first, "main").at


def test_a_token_is_not_revoked_while_another_service_decides_by_it(team: Team) -> None:
    """Once it is revoked, nothing that was decided by it is still on its way."""
    first, second = team.service(), team.service()
    _, token = issue_token(first, "host", "h", by="ana")
    with ThreadPoolExecutor(1) as pool:
        with second.marked_store.batch() as batch:
            batch.read_ahead(Ahead(streams=frozenset({second.stream})))
            revoking = pool.submit(revoke_token, first, token.id, by="ana")
            until_waiting(team.address, 1)
            assert token in list_tokens(first)
        assert revoking.result(PATIENCE).revoked


def test_a_stream_of_a_service_that_was_killed_is_joined_by_the_next_checkpoint(team: Team) -> None:
    first, second = team.service(), team.service()
    open_session(second, agent="agent", owner="host")
    sign_off(first)
    joined = newest(first, "main")
    assert joined.event == events.Joined.event
    assert b'"service-2":{"root":' in (joined.body or b"")


def test_a_receipt_for_an_entry_of_another_stream_proves_that_entry_and_no_other(team: Team) -> None:
    first, second, third = (team.service() for _ in range(3))
    for gate in (second, third):
        open_session(gate, agent="agent", owner="host")
    proof = prove_entry_of(first, "service-2", 2)
    proven = check_proof(proof, TRUSTED)
    assert (proven.stream, proven.body.seq, proven.body.event) == ("service-2", 2, events.SessionOpened.event)
    head, join = proof.split(b"\n\n", 1)
    other = prove_entry_of(first, "service-3", 2)
    plain = prove_entry(first, newest(first, "main").seq)
    for forged in (
        head.replace(b"index 1", b"index 0") + b"\n\n" + join,
        other.split(b"\n\n", 1)[0] + b"\n\n" + prove_entry(first, 1),  # which joins nothing
        head + b"\n\n" + other,
        plain.replace(b"c2sp.org/tlog-proof@v1", b"sayso/joined-proof@v1", 1),
        head + b"\n\n" + join.replace(b"\nsayso/", b"\nsayso/0"),
    ):
        with pytest.raises(BadCheckpoint):
            check_proof(forged, TRUSTED)


def test_a_pruned_entry_is_not_proven_and_an_old_one_still_is(team: Team) -> None:
    first, second = team.service(), team.service()
    for _ in range(3):
        open_session(second, agent="agent", owner="host")
    prune_audit(first, 3, stream="service-2")
    with pytest.raises(AuditError, match="pruned"):
        prove_entry_of(first, "service-2", 2)
    assert check_proof(prove_entry_of(first, "service-2", 3), TRUSTED).body.seq == 3
    assert verify_audit(first).clean
