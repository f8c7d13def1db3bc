"""Nothing that was used up, denied, stopped, ended or revoked comes back with the rows of before.

Whoever does this can write the database, and copies or takes away any rows at any time. They can neither read
the key nor write the folder it lies in. Each attack is tried on a gate that runs on, and on one opened anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.core.ledger import State
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.gate.audit.verifying.check_rows import check_rows
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.call_rows import KeyReused, TamperedCall
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, TamperedSession
from sayso.gate.ledger.lease import park_call, release_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call, start_ungated
from sayso.gate.open import open_to_look
from sayso.gate.people.browsers import LinkRefused, find_browser, make_link, sign_out, use_link
from sayso.gate.people.passkeys import PasskeysVoid, load_required_level, needs_proof, require_passkeys
from sayso.gate.people.tokens import find_token, issue_token, revoke_token
from sayso.gate.questions.explain import preview_decision
from sayso.gate.questions.read import TamperedQuestion
from sayso.gate.rows import sessions
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import (
    TamperedGrant,
    give_grant,
    list_grants,
    revoke_all,
    revoke_grant,
)
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.sessions.stop import stop_all
from sayso.gate.upkeep.copy import copy_store
from sayso.policy import load_preset
from sayso.store.contract import StoreError
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.attack.opening import Again, opened_anew, runs_on
from tests.support.answers import answer_question
from tests.support.asking import approve, bare, edit, push
from tests.support.by_hand import KEY, Place, load_by_a_yes, postgres_place, save_by_a_yes, sqlite_place
from tests.support.gates import Clock
from tests.support.postgres_place import new_schema

DAY = 86_400.0


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = sqlite_place(tmp_path)
    else:
        made = postgres_place(new_schema(request.getfixturevalue("postgres_server")), tmp_path)
    with closing(made):
        yield made


@pytest.fixture
def session(place: Place) -> str:
    return open_session(place.gate, agent="tester", owner="host", user="ana")


def runs(gate: Gate, request: Request) -> bool:
    """Whether it is allowed. What is refused with an error is not."""
    with suppress(SaysoError):
        return authorize(gate, request).decision.verdict is Verdict.ALLOW
    return False


def refused(place: Place, gate: Gate, request: Request) -> None:
    before = place.reported()
    for _ in range(4):
        assert not runs(gate, request)
    assert place.reported() > before


# --- calls that were tried, and whose rows of before come back ---


ENDS = ["succeeded", "failed", "ambiguous", None]


@pytest.mark.parametrize("end", ENDS)
def test_a_call_that_was_started_is_not_started_by_the_row_of_when_it_was_asked_about(
    place: Place, again: Again, session: str, end: State | None
) -> None:
    """Though a grant that lives on would allow it."""
    call = start_call(place.gate, edit(session), holder="one", key="key", host_id="host")
    asked = place.hand.copy("calls", "questions")
    answer_question(place.gate, call.question or "", "always", by="ana")
    answered = place.hand.copy("calls", "questions")
    run = retry_call(place.gate, call.call, holder="one")
    assert run.runs
    if end is not None:
        end_call(place.gate, call.call, run.fence, end)
    for before in (answered, asked):
        place.hand.put_back(before)
        gate, told = again(place), place.reported()
        with pytest.raises((TamperedCall, TamperedQuestion)):
            retry_call(gate, call.call, holder="two")
        with pytest.raises((TamperedCall, TamperedQuestion)):
            start_call(gate, edit(session), holder="two", key="key")
        with pytest.raises((TamperedCall, TamperedQuestion)):
            start_call(gate, edit(session), holder="two", host_id="host")
        assert place.reported() > told
        assert any(call.call in one.text for one in check_rows(gate))


def test_a_call_that_was_given_back_is_not_started_by_an_older_row(
    place: Place, again: Again, session: str
) -> None:
    give_grant(place.gate, session, by="ana", operation="files.edit")
    call = start_call(place.gate, edit(session), holder="one", entered=False)
    release_call(place.gate, call.call, call.fence)
    given_back = place.hand.copy("calls")
    run = retry_call(place.gate, call.call, holder="one")
    assert run.runs
    end_call(place.gate, call.call, run.fence, "succeeded")
    place.hand.put_back(given_back)
    with pytest.raises(TamperedCall):
        retry_call(again(place), call.call, holder="two")


@pytest.mark.parametrize("taken_away", [False, True])
def test_a_denied_call_is_not_run_by_a_grant_of_later_when_its_question_is_put_back_or_taken_away(
    place: Place, again: Again, session: str, taken_away: bool
) -> None:
    call = start_call(place.gate, edit(session), holder="one")
    asked = place.hand.copy("questions")
    answer_question(place.gate, call.question or "", "deny", by="ana")
    record_message(place.gate, session, "another turn")
    give_grant(place.gate, session, by="ana", operation="files.edit")
    place.hand.put_back({"questions": {}} if taken_away else asked)
    gate, told = again(place), place.reported()
    with pytest.raises((TamperedQuestion, TamperedCall)):
        retry_call(gate, call.call, holder="two")
    assert place.reported() > told


def test_a_parked_call_is_not_gone_on_with_because_its_question_was_answered_by_hand(
    place: Place, again: Again, session: str
) -> None:
    question = authorize(place.gate, edit(session)).question
    assert question is not None
    call = start_ungated(place.gate, bare(session), holder="one")
    park_call(place.gate, call.call, call.fence, question.id)
    place.hand.run("UPDATE questions SET state = 'answered', answer = 'once', closed_at = 1")
    with pytest.raises(TamperedQuestion):
        unpark_call(again(place), call.call, holder="two")


def test_a_session_names_only_so_many_calls_that_nobody_tried_and_the_oldest_expire(
    place: Place, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_UNTRIED", 3)
    made = [start_call(place.gate, edit(session), holder="one").call for _ in range(5)]
    approve(place.gate, edit(session), "always")
    told = place.reported()
    assert [retry_call(place.gate, one, holder="one").state for one in made] == [
        *("expired", "expired"),
        *("running", "running", "running"),
    ]
    assert place.reported() == told


# --- sessions and what is granted in them ---


@pytest.mark.parametrize("tables", [("sessions", "spends"), ("sessions",), ("sessions", "grants", "spends")])
def test_an_approval_that_was_used_does_not_run_again_with_the_rows_of_before(
    place: Place, session: str, again: Again, tables: tuple[str, ...]
) -> None:
    approve(place.gate, push(session))
    copy = place.hand.copy(*tables)
    assert runs(place.gate, push(session))
    place.hand.put_back(copy)
    refused(place, again(place), push(session))


@pytest.mark.parametrize("learns", [True, False])
def test_another_gate_on_the_same_store_does_not_run_it_again_either(
    place: Place, session: str, learns: bool
) -> None:
    other = place.another()
    with closing(other.store):
        if learns:
            assert not runs(other, edit(session))
        approve(place.gate, push(session))
        copy = place.hand.copy("sessions", "spends")
        assert runs(place.gate, push(session))
        place.hand.put_back(copy)
        refused(place, other, push(session))


def test_gates_that_work_side_by_side_report_nothing(place: Place, session: str) -> None:
    """What one has committed and not marked yet, or read before another committed, is not tampering."""
    child = open_session(place.gate, agent="sub", owner="host", parent=session)

    def work(gate: Gate, number: int) -> None:
        for turn in range(12):
            target = f"{number}-{turn}.py"
            approve(gate, edit(child, target))
            call = start_call(gate, edit(child, target), holder="one")
            end_call(gate, call.call, call.fence, "succeeded")
            preview_decision(gate, edit(child, target))
            list_grants(gate)
            record_message(gate, session, "what is next?")

    gates = [place.gate, place.another(), place.another()]
    try:
        with ThreadPoolExecutor(3) as threads:
            done = [threads.submit(work, gate, number) for number, gate in enumerate(gates)]
            for one in done:
                one.result()
        assert place.reported() == 0
        assert verify_audit(place.gate).clean
    finally:
        for gate in gates[1:]:
            gate.store.close()


def test_consent_that_was_revoked_does_not_come_back_with_the_rows_of_before(
    place: Place, session: str, again: Again
) -> None:
    record_message(place.gate, session, "Grant standing consent for: git push")
    copy = place.hand.copy()
    record_message(place.gate, session, "Revoke consent for: git push")
    place.hand.put_back({table: copy[table] for table in copy if table not in ("entries", "nodes")})
    refused(place, again(place), push(session))


def test_a_stop_is_not_undone_with_the_row_of_before(place: Place, session: str, again: Again) -> None:
    record_message(place.gate, session, "Grant standing consent for: git push")
    copy = place.hand.copy("sessions")
    record_message(place.gate, session, "stop")
    place.hand.put_back(copy)
    refused(place, again(place), push(session))


def test_a_session_that_ended_is_not_opened_again_with_the_row_of_before(
    place: Place, session: str, again: Again
) -> None:
    record_message(place.gate, session, "Grant standing consent for: git push")
    copy = place.hand.copy("sessions", "grants", "spends", "questions")
    close_session(place.gate, session)
    place.hand.put_back(copy)
    refused(place, again(place), push(session))


@pytest.mark.parametrize("message", ["stop", "Revoke all consent"])
@pytest.mark.parametrize("answer", ["once", None])
def test_grants_taken_away_while_all_is_cleared_do_not_come_back(
    place: Place, session: str, again: Again, message: str, answer: str | None
) -> None:
    """The rows are exactly those that were there; only nobody could see them when they were to end."""
    if answer is None:
        give_grant(place.gate, session, by="ana", operation="files.edit")
    else:
        approve(place.gate, edit(session), answer)
    copy = place.hand.copy("grants")
    place.hand.run("DELETE FROM grants")
    record_message(place.gate, session, message)
    place.hand.put_back(copy)
    gate = again(place)
    record_message(gate, session, "what is next?")
    assert not runs(gate, edit(session))
    assert place.reported() > 0


def test_a_grant_taken_away_while_it_is_revoked_by_its_id_does_not_come_back(
    place: Place, session: str, again: Again
) -> None:
    grant = give_grant(place.gate, session, by="ana", operation="files.edit")
    copy = place.hand.copy("grants")
    place.hand.run("DELETE FROM grants")
    with pytest.raises(TamperedGrant):
        revoke_grant(place.gate, grant.id, by="ana")
    place.hand.put_back(copy)
    assert not runs(again(place), edit(session))
    assert place.reported() > 0


def test_a_child_taken_away_while_its_parent_is_cleared_does_not_come_back(
    place: Place, session: str, again: Again
) -> None:
    child = open_session(place.gate, agent="sub", owner="host", parent=session)
    approve(place.gate, edit(child))
    copy = place.hand.copy("sessions")
    place.hand.run(f"DELETE FROM sessions WHERE id = '{child}'")  # noqa: S608  an id of our own
    with suppress(SaysoError):
        revoke_all(place.gate, session, by="ana")
    place.hand.put_back(copy, [("sessions", (child,))])
    refused(place, again(place), edit(child))


def test_a_session_taken_away_while_all_are_stopped_does_not_come_back(
    place: Place, session: str, again: Again
) -> None:
    record_message(place.gate, session, "Grant standing consent for: git push")
    other = open_session(place.gate, agent="tester", owner="host")
    copy = place.hand.copy("sessions")
    place.hand.run(f"DELETE FROM sessions WHERE id = '{session}'")  # noqa: S608  an id of our own
    stop_all(place.gate, by="ana")
    place.hand.put_back(copy, [("sessions", (session,))])
    refused(place, again(place), push(session))
    assert authorize(place.gate, push(other)).decision.rule == "stopped"


def test_a_stop_that_met_a_changed_row_is_not_lost_when_the_row_is_put_right(
    place: Place, session: str, again: Again
) -> None:
    record_message(place.gate, session, "Grant standing consent for: git push")
    copy = place.hand.copy("sessions")
    place.hand.run("UPDATE sessions SET agent = 'other'")
    with pytest.raises(TamperedSession):
        record_message(place.gate, session, "stop")
    place.hand.put_back(copy)
    refused(place, again(place), push(session))


def test_a_session_whose_row_is_taken_away_is_not_unknown_but_tampered_with(
    place: Place, session: str, again: Again
) -> None:
    place.hand.run("DELETE FROM sessions")
    before = place.reported()
    with pytest.raises(TamperedSession):
        authorize(again(place), push(session))
    assert place.reported() == before + 1


def test_what_was_denied_is_denied_whatever_is_taken_away(place: Place, session: str, again: Again) -> None:
    approve(place.gate, edit(session), "deny")
    give_grant(place.gate, session, by="ana", operation="files.edit")
    assert authorize(place.gate, edit(session)).decision.rule == "denied_call"
    assert runs(place.gate, edit(session, "b.py"))
    place.hand.run("DELETE FROM spends", "DELETE FROM questions")
    assert authorize(again(place), edit(session)).decision.rule == "denied_call"


# --- calls and questions ---


@pytest.mark.parametrize("answer", [None, "deny"])
@pytest.mark.parametrize("state", ["waiting", "allowed", "running", "pending"])
def test_a_call_whose_state_was_written_by_hand_is_not_run(
    place: Place, session: str, again: Again, answer: str | None, state: str
) -> None:
    call = start_call(place.gate, edit(session), holder="one")
    assert call.question is not None
    if answer is not None:
        answer_question(place.gate, call.question, answer, by="ana")
        assert retry_call(place.gate, call.call, holder="one").state == "denied"
    place.hand.run(f"UPDATE calls SET state = '{state}', question = NULL")  # noqa: S608  a word of our own
    gate, before = again(place), place.reported()
    for go_on in (retry_call, unpark_call):
        with pytest.raises(TamperedCall):
            go_on(gate, call.call, holder="two")
    assert place.reported() > before


def test_a_call_that_ended_is_not_run_or_ended_again_with_its_rows_of_before(
    place: Place, session: str, again: Again
) -> None:
    call = start_ungated(place.gate, bare(session), holder="one")
    running = place.hand.copy("calls")
    question = authorize(place.gate, push(session)).question
    assert question is not None
    park_call(place.gate, call.call, call.fence, question.id)
    waiting = place.hand.copy("calls")
    resumed = unpark_call(place.gate, call.call, holder="one", fence=call.fence)
    end_call(place.gate, call.call, resumed.fence, "succeeded")
    for copy in (running, waiting):
        place.hand.put_back(copy)
        gate, before = again(place), place.reported()
        for waits in (None, call.fence):
            with pytest.raises(TamperedCall):
                unpark_call(gate, call.call, holder="two", fence=waits)
        for fence in (call.fence, resumed.fence):
            with pytest.raises(TamperedCall):
                end_call(gate, call.call, fence, "failed")
        with pytest.raises(TamperedCall):
            retry_call(gate, call.call, holder="two")
        assert place.reported() > before


CHANGES = (
    "lease_until = lease_until + 1000",
    "fence = 7",
    "holder = 'other'",
    "result = NULL, ended_at = 1",
    "effect_key = NULL",
    "tool = 'other'",
    "digest = 'other'",
    "session = 'other'",
    "at = 1",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_running_call_with_any_column_changed_by_hand_is_not_gone_on_with(
    place: Place, session: str, again: Again, change: str
) -> None:
    call = start_ungated(place.gate, bare(session), holder="one", effect_key="invoice 7")
    place.hand.run(f"UPDATE calls SET {change}")  # noqa: S608  words of our own
    gate, before = again(place), place.reported()
    for fence in (call.fence, 7):
        with pytest.raises((TamperedCall, TamperedSession)):
            end_call(gate, call.call, fence, "succeeded")
    assert place.reported() > before


@pytest.mark.parametrize("way", ["deleted", "put back"])
def test_an_effect_that_happened_does_not_happen_again_whatever_becomes_of_its_rows(
    place: Place, session: str, again: Again, way: str
) -> None:
    copy = place.hand.copy("calls")
    call = start_ungated(place.gate, bare(session), holder="one", effect_key="invoice 7")
    if way == "put back":
        copy = place.hand.copy("calls", "sessions")
    end_call(place.gate, call.call, call.fence, "succeeded")
    place.hand.put_back(copy)
    gate, before = again(place), place.reported()
    other = open_session(gate, agent="tester", owner="host")
    with pytest.raises(KeyReused):
        start_ungated(gate, bare(other), holder="two", effect_key="invoice 7")
    assert way == "put back" or place.reported() > before


def test_an_effect_of_a_call_that_failed_is_free_again(place: Place, session: str, again: Again) -> None:
    for _ in range(2):
        call = start_ungated(place.gate, bare(session), holder="one", effect_key="invoice 7")
        end_call(place.gate, call.call, call.fence, "failed")
    gate = again(place)
    assert start_ungated(gate, bare(session), holder="two", effect_key="invoice 7").runs
    assert place.reported() == 0


@pytest.mark.parametrize("closing_answer", ["deny", "once"])
def test_a_question_that_was_closed_is_not_opened_again(
    place: Place, session: str, again: Again, closing_answer: str
) -> None:
    question = authorize(place.gate, edit(session)).question
    assert question is not None
    copy = place.hand.copy("questions")
    answer_question(place.gate, question.id, closing_answer, by="ana")
    place.hand.put_back(copy)
    gate, before = again(place), place.reported()
    with pytest.raises(TamperedQuestion):
        answer_question(gate, question.id, "once", by="bob")
    assert place.reported() > before


def test_a_question_answered_by_hand_is_not_answered(place: Place, session: str, again: Again) -> None:
    call = start_call(place.gate, edit(session), holder="one")
    assert call.question is not None
    place.hand.run("UPDATE questions SET state = 'answered', answer = 'once', \"by\" = 'ana'")
    gate, before = again(place), place.reported()
    with suppress(SaysoError):
        assert not retry_call(gate, call.call, holder="one").runs
    with pytest.raises(TamperedQuestion):
        answer_question(gate, call.question, "deny", by="ana")
    assert place.reported() > before


# --- the store itself ---


def test_an_epoch_set_back_revives_no_approval_that_it_had_voided(place: Place, session: str) -> None:
    approve(place.gate, push(session))
    old = place.hand.copy("meta")
    late = place.hand.copy()
    record_message(place.gate, session, "hello")
    place.hand.put_back(late)  # as if a copy of the whole store had been put back
    gate = place.restart()
    assert gate.sealer.epoch > 1
    assert not runs(gate, push(session))
    place.hand.put_back(old, [("meta", ("epoch",))])
    gate, before = place.restart(), gate.sealer.epoch
    assert gate.sealer.epoch > before
    assert not runs(gate, push(session))
    assert place.reported() > 0


@pytest.mark.parametrize("epoch", ["0", "-1", "", "many", "1e9", "٣", "9" * 40, "77"])
def test_an_epoch_written_by_hand_voids_what_was_granted_and_is_reported(
    place: Place, session: str, epoch: str
) -> None:
    approve(place.gate, push(session))
    place.hand.run(f"UPDATE meta SET value = '{epoch}' WHERE name = 'epoch'")  # noqa: S608  a word of our own
    gate = place.restart()
    assert not runs(gate, push(session))
    assert place.reported() > 0


def test_a_store_whose_name_was_taken_away_is_not_opened(place: Place, session: str) -> None:
    place.hand.run("DELETE FROM meta WHERE name = 'name'")
    with pytest.raises(StoreError):
        place.restart()


def test_a_store_that_has_moved_is_not_opened_again_with_its_rows_of_before(tmp_path: Path) -> None:
    with closing(sqlite_place(tmp_path)) as place:
        session = open_session(place.gate, agent="tester", owner="host")
        record_message(place.gate, session, "Grant standing consent for: git push")
        copy = place.hand.copy()
        place.close()
        with closing(MemoryStore()) as target, closing(SqliteStore(tmp_path / "s.db")) as source:
            copy_store(source, target, KEY, came_from="here", to="there", marks=tmp_path)
        place.hand.put_back(copy)
        with pytest.raises(StoreError):
            place.restart()


def test_a_token_that_was_revoked_lets_nobody_in_with_its_row_of_before(place: Place, again: Again) -> None:
    secret, token = issue_token(place.gate, "operator", "ana", by="ana")
    copy = place.hand.copy("meta")
    revoke_token(place.gate, token.id, by="ana")
    place.hand.put_back(copy, [("meta", key) for key in copy["meta"] if key[0].startswith("token/")])
    gate, before = again(place), place.reported()
    with gate.store.read() as tx:
        assert find_token(gate, tx, secret) is None
    assert place.reported() > before


def test_a_link_that_was_used_and_a_browser_signed_out_stay_so(place: Place, again: Again) -> None:
    code = make_link(place.gate, "ana")
    fresh = place.hand.copy("meta")
    cookie = use_link(place.gate, code)
    used = place.hand.copy("meta")
    sign_out(place.gate, cookie)
    place.hand.put_back(used, [("meta", key) for key in used["meta"] if key[0].startswith("browser/")])
    gate = again(place)
    assert find_browser(gate, cookie) is None
    place.hand.put_back(fresh, [("meta", key) for key in fresh["meta"] if key[0].startswith("link/")])
    gate = again(place)
    with pytest.raises(LinkRefused):
        use_link(gate, code)
    assert place.reported() >= 2


@pytest.mark.parametrize("way", ["deleted", "put back", "emptied"])
def test_that_answers_must_be_signed_is_not_forgotten(place: Place, again: Again, way: str) -> None:
    require_passkeys(place.gate, "high", by="ana")
    copy = place.hand.copy("meta")
    require_passkeys(place.gate, "all", by="ana")
    if way == "deleted":
        place.hand.run("DELETE FROM meta WHERE name = 'passkeys'")
    elif way == "emptied":
        place.hand.run("UPDATE meta SET value = '' WHERE name = 'passkeys'")
    else:
        place.hand.put_back(copy, [("meta", ("passkeys",))])
    gate, before = again(place), place.reported()
    with gate.store.read() as tx:
        assert needs_proof(gate, tx, Risk.LOW)
    with pytest.raises(PasskeysVoid):
        load_required_level(gate)
    assert place.reported() > before


def test_a_hand_off_that_was_taken_is_not_taken_again(place: Place, session: str, again: Again) -> None:
    record_message(place.gate, session, "Grant standing consent for: git push")
    save_by_a_yes(place.gate, session)
    copy = place.hand.copy("meta")

    def next_one(gate: Gate) -> str:
        return open_session(gate, agent="tester", owner="host", user="ana")

    assert load_by_a_yes(place.gate, next_one(place.gate)) == ("git push",)
    place.hand.put_back(copy, [("meta", key) for key in copy["meta"] if key[0].startswith("handoff/")])
    gate, before = again(place), place.reported()
    assert load_by_a_yes(gate, next_one(gate)) == ()
    assert place.reported() > before


@pytest.mark.parametrize("way", ["deleted", "changed", "put back", "deleted, and the store renamed"])
def test_a_permission_that_has_decayed_is_not_fresh_again(tmp_path: Path, way: str) -> None:
    clock = Clock()
    policy = load_preset("graph")
    with closing(sqlite_place(tmp_path, clock, policy)) as place:
        session = open_session(place.gate, agent="tester", owner="host")
        read = make_request(make_call("read", {}), [Operation("email.read")], session=session)
        assert authorize(place.gate, read).decision.rule == "autonomous"
        clock.now += 31 * DAY
        session = open_session(place.gate, agent="tester", owner="host")
        read = make_request(make_call("read", {}), [Operation("email.read")], session=session)
        assert not runs(place.gate, read)
        copy = place.hand.copy("reviews")
        if way.startswith("deleted"):
            place.hand.run("DELETE FROM reviews")
            if "renamed" in way:
                place.hand.run("UPDATE meta SET value = 'another' WHERE name = 'name'")
        elif way == "changed":
            place.hand.run(f"UPDATE reviews SET at = {clock.now}")  # noqa: S608  a number
        else:
            place.hand.run("DELETE FROM reviews")
            place.restart()
            place.hand.put_back(copy)
        for again in (runs_on, opened_anew, opened_anew):
            assert not runs(again(place), read)
        assert place.reported() > 0


@pytest.mark.parametrize(
    "tables", [("checkpoints",), ("checkpoints", "meta"), ("checkpoints", "nodes", "meta")]
)
def test_checkpoints_taken_away_are_found(place: Place, session: str, tables: tuple[str, ...]) -> None:
    give_grant(place.gate, session, by="ana", operation="files.edit")
    copy = place.hand.copy(*tables)
    give_grant(place.gate, session, by="ana", operation="files.edit")
    assert verify_audit(place.gate).clean
    place.hand.put_back(copy)
    assert not verify_audit(place.gate).clean
    assert not verify_audit(place.restart()).clean


ROWS = ("sessions", "grants", "spends", "questions", "calls", "reviews", "meta")


@pytest.mark.parametrize("table", ROWS)
def test_rows_taken_away_are_found_without_anybody_using_them(place: Place, session: str, table: str) -> None:
    start_call(place.gate, edit(session), holder="one")
    record_message(place.gate, session, "Grant standing consent for: git push")
    start_call(place.gate, push(session), holder="one")
    give_grant(place.gate, session, by="ana", operation="files.edit", uses=2)
    start_call(place.gate, edit(session), holder="two")
    issue_token(place.gate, "agent", "me", by="ana")
    if table == "reviews":
        with place.gate.store.write() as tx:
            tx.put_review(place.gate.sealer.review("files", tx.now, "ana"))
    assert verify_audit(place.gate).clean
    kept = "WHERE name LIKE 'token/%'" if table == "meta" else ""
    place.hand.run(f"DELETE FROM {table} {kept}")  # noqa: S608  names of our own
    assert not verify_audit(place.gate).clean


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE grants SET body = mac",
        "UPDATE grants SET value = 'files.delete'",
        "UPDATE grants SET session = 'other'",
        """
        INSERT INTO grants (id, session, kind, value, body, mac, epoch, expires_at)
        SELECT 'forged', session, kind, value, body, mac, epoch, expires_at FROM grants
        """,
    ],
    ids=["edited", "of another operation", "of another session", "forged"],
)
def test_a_grant_that_no_session_names_is_found_if_it_is_not_as_we_wrote_it(
    place: Place, session: str, change: str
) -> None:
    """What is over, or never was ours, is not read by those who ask and answer."""
    given = give_grant(place.gate, session, by="ana", operation="files.edit")
    revoke_grant(place.gate, given.id, "ana")
    assert verify_audit(place.gate).clean
    place.hand.run(change)
    assert not verify_audit(place.gate).clean


def test_a_stream_without_its_name_is_found_and_another_begins(place: Place, session: str) -> None:
    """Its entries lie where they lay, so the stream that takes its name gets another number."""
    give_grant(place.gate, session, by="ana", operation="files.edit")
    place.hand.run("DELETE FROM streams")
    for again in (runs_on, opened_anew):
        gate = again(place)
        authorize(gate, push(open_session(gate, agent="tester", owner="host")))
        assert not verify_audit(gate).clean


def test_grants_of_an_earlier_epoch_are_no_tampering(place: Place, session: str) -> None:
    give_grant(place.gate, session, by="ana", operation="files.edit")
    for mark in place.marks.glob("*.mark*"):
        mark.unlink()
    assert place.restart().sealer.epoch > 1
    assert not [one for one in check_rows(place.gate) if "grant" in one.text]


def test_looking_records_nothing_however_much_was_changed(tmp_path: Path) -> None:
    with closing(sqlite_place(tmp_path)) as place:
        session = open_session(place.gate, agent="tester", owner="host")
        place.hand.run("UPDATE sessions SET agent = 'other'")
        before = place.hand.copy()
        marks = {path: path.read_bytes() for path in tmp_path.glob("*.mark")}
        looked = open_to_look(tmp_path / "s.db", key=place.gate.key, marks=tmp_path)
        with closing(looked.store), pytest.raises(TamperedSession):
            preview_decision(looked, push(session))
        assert place.hand.copy() == before
        assert {path: path.read_bytes() for path in tmp_path.glob("*.mark")} == marks
