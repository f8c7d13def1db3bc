"""Grants given, listed and revoked by the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sayso.core.audit.entry import read_entry
from sayso.core.errors import MalformedRequest, SaysoError
from sayso.core.grants import Pins
from sayso.core.model import Mode, Operation, Risk, Verdict
from sayso.core.policy import Domain, compile_policy
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.sessions.allowance import GrantRefused
from sayso.gate.sessions.messages import record_message, record_task_end, record_task_start
from sayso.gate.sessions.operator_grants import (
    TamperedGrant,
    UnknownGrant,
    give_grant,
    list_grants,
    revoke_all,
    revoke_grant,
)
from sayso.gate.sessions.revoke import revoke_by_name
from sayso.gate.sessions.sessions import close_session, open_session
from tests.support.answers import answer_question
from tests.support.asking import approve, edit, push, rule
from tests.support.gates import Clock


def entries(gate: Gate, event: str) -> list[dict[str, Any]]:
    with gate.store.read() as tx:
        bodies = [row.body for row in tx.entries("main", limit=10_000) if row.event == event]
    return [dict(read_entry(body).details) for body in bodies if body is not None]


def test_a_given_grant_serves_until_its_time_is_over(gate: Gate, session: str, clock: Clock) -> None:
    give_grant(gate, session, operation="files.edit", minutes=5, by="ana")
    assert rule(gate, edit(session)) == "operation_grant"
    clock.now += 299
    assert rule(gate, edit(session, "b.py")) == "operation_grant"
    clock.now += 1
    assert rule(gate, edit(session)) == "ask"
    assert list_grants(gate) == []


def test_a_given_grant_serves_as_often_as_it_says_and_only_where_its_pins_fit(
    gate: Gate, session: str
) -> None:
    give_grant(gate, session, operation="files.edit", uses=2, pins=Pins(targets=("a.py",)), by="ana")
    assert rule(gate, edit(session, "b.py")) == "ask"
    assert [rule(gate, edit(session)) for _ in range(3)] == ["operation_grant", "operation_grant", "ask"]


def test_a_given_grant_is_bound_to_the_workspace_of_the_session(gate: Gate, session: str) -> None:
    give_grant(gate, session, operation="files.edit", by="ana")
    elsewhere = make_call("edit", {"path": "a.py"}, target="a.py", workspace="/elsewhere")
    assert rule(gate, make_request(elsewhere, [Operation("files.edit")], session=session)) == "ask"


def test_a_given_grant_says_who_gave_it_and_is_in_the_audit(gate: Gate, session: str) -> None:
    given = give_grant(gate, session, operation="files.edit", minutes=30, uses=3, by="ana")
    (listed,) = list_grants(gate, session)
    assert (listed.id, listed.words, listed.given_by) == (given.id, "grant for files.edit", "ana")
    assert (listed.left, listed.used, listed.uses, listed.question) == (1_800.0, 0, 3, None)
    (entry,) = entries(gate, "GRANTED")
    assert (entry["grant"], entry["by"], entry["seconds"], entry["uses"]) == (given.id, "ana", 1_800, 3)


def test_a_category_is_given_for_the_task_and_ends_with_it(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "feature X")
    give_grant(gate, session, category="file-edit", by="ana")
    assert rule(gate, edit(session)) == "task_grant"
    record_task_end(gate, session)
    assert list_grants(gate) == []
    assert authorize(gate, edit(session)).decision.verdict is Verdict.ASK


def test_a_command_written_out_by_the_operator_is_on_the_allowlist(gate: Gate, session: str) -> None:
    give_grant(gate, session, command="git push", minutes=60, by="ana")
    assert rule(gate, push(session)) == "allowlist"
    assert "git push (used 1 time)" in record_message(gate, session, "Show active allowlist").announced[0]


@pytest.mark.parametrize(
    "wish",
    [
        {"operation": "files.edit", "minutes": 1_441},
        {"operation": "files.edit", "minutes": 0},
        {"operation": "files.edit", "minutes": -5},
        {"operation": "files.edit", "minutes": float("nan")},
        {"operation": "files.edit", "minutes": float("inf")},
        {"operation": "files.edit", "uses": 0},
        {"operation": "files.edit", "risk": Risk.LOW},
        {"operation": "files.edit", "risk": Risk.HIGH},
        {"operation": "git.push"},
        {"operation": "git.push", "uses": 2},
        {"operation": "files.edit", "category": "file-edit"},
        {},
        {"category": "file-edit"},
        {"command": "  "},
        {"command": "git\u200b push"},
        {"command": "gіt push"},
    ],
    ids=str,
)
def test_a_grant_that_is_too_wide_or_not_one_clear_thing_is_refused(
    gate: Gate, session: str, wish: dict[str, Any]
) -> None:
    with pytest.raises(GrantRefused):
        give_grant(gate, session, by="ana", **wish)
    assert list_grants(gate) == []
    assert entries(gate, "GRANTED") == []


@pytest.mark.parametrize("wish", [{"category": "nonsense"}, {"category": "file-edit", "risk": Risk.HIGH}])
def test_in_a_task_only_a_known_category_below_high_risk_is_given(
    gate: Gate, session: str, wish: dict[str, Any]
) -> None:
    record_task_start(gate, session, "feature X")
    with pytest.raises(GrantRefused):
        give_grant(gate, session, by="ana", **wish)


def test_what_the_policy_blocks_or_keeps_to_the_trusted_channel_cannot_be_given(
    gate: Gate, session: str
) -> None:
    domain = Domain(blocked=("wipe",), requires_approval=("tune",), trusted_channel_required=("tune",))
    strict = replace(gate, policy=compile_policy(domains={"disk": domain}, digest="strict"))
    record_task_start(strict, session, "tidy")
    for wish in ({"operation": "disk.wipe"}, {"operation": "disk.tune"}, {"category": "disk.wipe"}):
        with pytest.raises(GrantRefused):
            give_grant(strict, session, by="ana", uses=1, **wish)  # type: ignore[arg-type]


def test_nothing_is_given_in_mode_paranoid_where_it_would_not_serve(gate: Gate, session: str) -> None:
    paranoid = replace(gate, policy=replace(gate.policy, mode=Mode.PARANOID))
    with pytest.raises(GrantRefused):
        give_grant(paranoid, session, operation="files.edit", by="ana")


def test_high_risk_is_given_for_one_use_and_standing_only_if_the_policy_says_so(
    gate: Gate, session: str
) -> None:
    give_grant(gate, session, operation="git.push", uses=1, by="ana")
    assert [rule(gate, push(session)) for _ in range(2)] == ["operation_grant", "risky"]
    settings = replace(gate.policy.settings, risky_grants="standing")
    standing = replace(gate, live=None, policy=replace(gate.policy, settings=settings))
    give_grant(standing, session, operation="git.push", by="ana")
    assert [rule(standing, push(session)) for _ in range(3)] == ["operation_grant"] * 3


def test_a_look_alike_of_a_listed_operation_is_refused(gate: Gate, session: str) -> None:
    for name in ("Files.edit", "files", "files.edit "):
        with pytest.raises(MalformedRequest):
            give_grant(gate, session, operation=name, by="ana")


def test_the_list_tells_every_kind_of_grant_and_the_question_it_answers(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "feature X")
    question = approve(gate, edit(session), "task")
    record_message(gate, session, "Grant standing consent for: git push")
    rule(gate, push(session))
    told = {one.words: (one.used, one.question) for one in list_grants(gate)}
    assert told["standing consent for git push"] == (1, None)
    assert told["approval of files.edit"] == (0, question)
    assert [asked for name, (_, asked) in told.items() if name.startswith("file-edit")] == [question]


def test_the_list_covers_all_open_sessions_or_the_one_named(gate: Gate, session: str) -> None:
    other = open_session(gate, agent="other", owner="host")
    for name in (session, other):
        give_grant(gate, name, operation="files.edit", by="ana")
    assert {one.session for one in list_grants(gate)} == {session, other}
    assert {one.session for one in list_grants(gate, other)} == {other}
    close_session(gate, other)
    assert {one.session for one in list_grants(gate)} == {session}
    with pytest.raises(UnknownSession):
        list_grants(gate, other)


def test_the_next_decision_after_a_revocation_does_not_use_the_grant(gate: Gate, session: str) -> None:
    given = give_grant(gate, session, operation="files.edit", by="ana")
    assert rule(gate, edit(session)) == "operation_grant"
    assert not revoke_grant(gate, given.id, "ben").already
    assert rule(gate, edit(session)) == "ask"
    assert entries(gate, "REVOKED") == [{"grant": given.id, "kind": "operation", "by": "ben"}]


def test_an_unused_approval_can_be_revoked(gate: Gate, session: str) -> None:
    approve(gate, push(session), "once")
    (listed,) = list_grants(gate)
    revoke_grant(gate, listed.id, "ana")
    assert rule(gate, push(session)) == "risky"


def test_no_approval_that_ends_with_a_wider_grant_goes_unnamed(gate: Gate, session: str) -> None:
    approve(gate, edit(session), "always")
    wide, approval = sorted(list_grants(gate), key=lambda one: one.kind == "call")
    assert (wide.kind, approval.kind) == ("operation", "call")
    told = revoke_grant(gate, wide.id, "ana")
    assert (told.id, [one.id for one in told.also]) == (wide.id, [approval.id])
    assert list_grants(gate) == []
    assert [one["grant"] for one in entries(gate, "REVOKED")] == [wide.id, approval.id]
    assert {one["by"] for one in entries(gate, "REVOKED")} == {"ana"}


def test_an_approval_that_was_used_or_over_does_not_end_with_the_grant_again(
    gate: Gate, session: str, clock: Clock
) -> None:
    approve(gate, edit(session), "always")
    wide = next(one for one in list_grants(gate) if one.kind == "operation")
    clock.now += 16 * 60
    assert revoke_grant(gate, wide.id, "ana").also == ()
    assert len(entries(gate, "REVOKED")) == 1


@pytest.mark.parametrize("how", ["the operator", "the user"])
def test_revoking_by_name_records_each_grant_that_ends_once(gate: Gate, session: str, how: str) -> None:
    approve(gate, edit(session), "always")
    both = sorted(one.id for one in list_grants(gate))
    if how == "the operator":
        told = revoke_by_name(gate, session, "files.edit", "ana")
        assert sorted(one.id for one in told) == both
    else:
        record_message(gate, session, "Revoke consent for: files.edit")
    assert sorted(one["grant"] for one in entries(gate, "REVOKED")) == both


def test_a_second_revocation_says_that_it_was_over_and_writes_no_more(gate: Gate, session: str) -> None:
    given = give_grant(gate, session, operation="files.edit", by="ana")
    revoke_grant(gate, given.id, "ana")
    assert revoke_grant(gate, given.id, "ben").already
    assert len(entries(gate, "REVOKED")) == 1


def test_an_expired_grant_that_was_revoked_stays_over_when_the_clock_goes_back(
    gate: Gate, session: str, clock: Clock
) -> None:
    given = give_grant(gate, session, operation="files.edit", minutes=1, by="ana")
    clock.now += 61
    assert revoke_grant(gate, given.id, "ana").already
    clock.now -= 30
    assert rule(gate, edit(session)) == "ask"


def test_a_grant_that_never_was_or_whose_session_ended_is_said_to_be_unknown(
    gate: Gate, session: str
) -> None:
    given = give_grant(gate, session, operation="files.edit", by="ana")
    close_session(gate, session)
    for name in ("nowhere.g1", given.id):
        with pytest.raises(UnknownGrant):
            revoke_grant(gate, name, "ana")


def test_revoking_all_ends_everything_here_and_in_the_sessions_below_and_nowhere_else(
    gate: Gate, session: str
) -> None:
    child = open_session(gate, agent="sub", owner="host", parent=session)
    other = open_session(gate, agent="other", owner="host")
    for name in (session, child, other):
        give_grant(gate, name, operation="files.edit", by="ana")
        give_grant(gate, name, command="git push", by="ana")
    question = authorize(gate, replace(edit(session), operations=(Operation("files.delete"),))).question
    assert question is not None
    ended = revoke_all(gate, session, "ben")
    assert {one.session for one in ended} == {session, child}
    assert len(ended) == len(entries(gate, "REVOKED")) == 4
    assert {one.session for one in list_grants(gate)} == {other}
    assert answer_question(gate, question.id, "once", by="ana").state == "cancelled"
    assert all(rule(gate, push(name)) == "risky" for name in (session, child))


REVOCATIONS: dict[str, Callable[[Gate, str], object]] = {
    "the grant": lambda gate, session: revoke_grant(gate, "forged.g9", "ana"),
    "all": lambda gate, session: revoke_all(gate, session, "ana"),
}


@pytest.mark.parametrize("which", REVOCATIONS)
def test_a_revocation_that_meets_rows_written_by_hand_says_so_and_is_recorded(
    gate: Gate, session: str, which: str
) -> None:
    real = give_grant(gate, session, operation="files.edit", by="ana")
    with gate.store.write() as tx:
        row = tx.grant(real.id)
        assert row is not None
        tx.add_grant(replace(row, id="forged.g9", mac=b"forged"))
    assert [one.id for one in list_grants(gate)] == [real.id]
    with pytest.raises(TamperedGrant):
        REVOCATIONS[which](gate, session)
    assert len(entries(gate, "TAMPERED")) == 1
    assert [one.id for one in list_grants(gate)] == ([] if which == "all" else [real.id])


def test_a_grant_that_cannot_be_recorded_is_not_given(gate: Gate, session: str) -> None:
    with pytest.raises(SaysoError):
        give_grant(replace(gate, stream="NO STREAM"), session, operation="files.edit", by="ana")
    assert list_grants(gate) == []
    assert rule(gate, edit(session)) == "ask"
