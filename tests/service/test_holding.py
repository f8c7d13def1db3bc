"""What the holder of a call may do with it over HTTP, and what nobody can do by saying so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sayso.gate.ledger.recovery import recover_calls
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.service.conftest import KEY
from tests.support.gates import Clock
from tests.support.service import READ, WRITE, Service

pytestmark = pytest.mark.each_store

NOTE = {"steps": {"one": "running"}, "runs": 1, "ran": False}
DIGEST = {
    "tool": "workflow:digest",
    "workflow": "digest",
    "operations": [{"operation": "files.write"}, {"operation": "git.push"}],
}


def started(service: Service, session: str, **more: Any) -> dict[str, Any]:
    """A call of the host's that runs."""
    told: dict[str, Any] = service.told("host", "POST", "/v1/calls", {**READ, "session": session, **more})
    assert told["status"] == "allowed", told
    return told


def a_run(service: Service, session: str, answer: str = "once", **more: Any) -> dict[str, Any]:
    """A run of a workflow that a person allowed."""
    asked = service.told("host", "POST", "/v1/calls", {**DIGEST, "session": session, **more})
    service.answer(asked["question"], answer)
    told: dict[str, Any] = service.told(
        "host", "POST", f"/v1/calls/{asked['operation_id']}/retry", {"beats": True}
    )
    assert told["status"] == "allowed", told
    return told


def write(service: Service, session: str, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = service.told("host", "POST", "/v1/calls", {**WRITE, "session": session, **more})
    return told


def state(service: Service, call: str) -> str:
    return str(service.told("host", "GET", f"/v1/calls/{call}")["status"])


def test_a_call_is_its_holders_as_long_as_heartbeats_come(service: Service, clock: Clock) -> None:
    call = started(service, service.opened(), beats=True)
    beat = f"/v1/calls/{call['operation_id']}/heartbeat"
    for _ in range(3):
        clock.now += 100
        service.told("host", "POST", beat, {"fence": call["fence"]})
        assert recover_calls(service.gate) == []
    clock.now += 121
    assert recover_calls(service.gate) == [call["operation_id"]]
    assert service.post("host", beat, {"fence": call["fence"]}).status_code == 409
    ended = {"fence": call["fence"], "state": "succeeded"}
    service.told("host", "POST", f"/v1/calls/{call['operation_id']}/outcome", ended)


def test_without_a_promise_of_heartbeats_a_call_is_believed_for_a_day(service: Service, clock: Clock) -> None:
    started(service, service.opened())
    clock.now += 86_000
    assert recover_calls(service.gate) == []
    clock.now += 500
    assert len(recover_calls(service.gate)) == 1


@pytest.mark.parametrize("what", ["heartbeat", "park", "note", "outcome"])
@pytest.mark.parametrize("who", ["host", "other_host", "agent"])
def test_only_who_has_the_number_says_anything_of_a_call(service: Service, what: str, who: str) -> None:
    session = service.opened()
    call = started(service, session)
    question = write(service, session)["question"]
    more = {
        "heartbeat": {},
        "park": {"question": question, "note": NOTE},
        "note": {"note": NOTE},
        "outcome": {"state": "failed"},
    }[what]
    method = "PUT" if what == "note" else "POST"
    fence = call["fence"] + (1 if who == "host" else 0)
    path = f"/v1/calls/{call['operation_id']}/{what}"
    refused = service.request(who, method, path, {"fence": fence, **more})
    agents = (
        404 if what == "outcome" else 403
    )  # an agent may say how calls ended, and this one is not its own
    assert refused.status_code == {"host": 409, "other_host": 404, "agent": agents}[who]
    assert state(service, call["operation_id"]) == "running"


def test_a_note_cannot_be_written_over_the_result_of_a_call_that_is_over(service: Service) -> None:
    call = started(service, service.opened())
    path = f"/v1/calls/{call['operation_id']}"
    service.told(
        "host", "POST", f"{path}/outcome", {"fence": call["fence"], "state": "succeeded", "result": 7}
    )
    note = service.request("host", "PUT", f"{path}/note", {"fence": call["fence"], "note": NOTE})
    assert note.status_code == 409
    assert service.told("host", "GET", path)["result"] == 7


def test_a_result_that_is_nothing_is_kept_and_one_that_was_not_told_is_not(service: Service) -> None:
    session = service.opened()
    for said, kept in (({"result": None}, True), ({}, False)):
        call = started(service, session)
        path = f"/v1/calls/{call['operation_id']}"
        service.told(
            "host", "POST", f"{path}/outcome", {"fence": call["fence"], "state": "succeeded", **said}
        )
        assert ("result" in service.told("host", "GET", path)) is kept


def test_a_parked_call_is_gone_on_with_once(service: Service) -> None:
    session = service.opened()
    call, question = started(service, session), write(service, session)["question"]
    path = f"/v1/calls/{call['operation_id']}"
    parked = service.told(
        "host", "POST", f"{path}/park", {"fence": call["fence"], "question": question, "note": NOTE}
    )
    assert (parked["status"], parked["question"], parked["note"]["steps"]) == (
        "waiting",
        question,
        NOTE["steps"],
    )
    assert service.post("host", f"{path}/resume", {"attempt": "a"}).status_code == 409, "still open"
    service.answer(question, "once")
    first = service.told("host", "POST", f"{path}/resume", {"attempt": "a"})
    again = service.told("host", "POST", f"{path}/resume", {"attempt": "a"})
    assert first["fence"] == again["fence"] > call["fence"]
    assert service.post("host", f"{path}/resume", {"attempt": "b"}).status_code == 409
    old = service.post("host", f"{path}/outcome", {"fence": call["fence"], "state": "succeeded"})
    assert old.status_code == 409


def ended(service: Service, session: str, question: str, how: str) -> None:
    """The question is answered, and then the consent of the session ends."""
    given = "deny" if how == "denied" else "once"
    service.answer(question, given)
    if how in ("stop", "Revoke all consent"):
        service.told("host", "POST", f"/v1/sessions/{session}/messages", {"text": how})
    if how == "end":
        assert service.request("host", "DELETE", f"/v1/sessions/{session}").status_code < 300


@pytest.mark.parametrize("how", ["stop", "Revoke all consent", "denied", "end"])
def test_no_parked_call_is_gone_on_with_after_its_consent_has_ended(service: Service, how: str) -> None:
    session = service.opened()
    run, question = a_run(service, session), write(service, session, args={"path": "b.txt"})["question"]
    path = f"/v1/calls/{run['operation_id']}"
    service.told("host", "POST", f"{path}/park", {"fence": run["fence"], "question": question, "note": NOTE})
    ended(service, session, question, how)
    refused = service.told("host", "POST", f"{path}/resume", {"attempt": "a"})
    assert (refused["status"], refused["fence"], refused["call"]) == ("denied", 0, None)
    assert service.post("host", f"{path}/resume", {"attempt": "b"}).status_code == 409


@pytest.mark.parametrize("how", ["stop", "Revoke all consent", "end"])
def test_who_waits_in_a_call_whose_consent_has_ended_gets_it_back_only_to_end_it(
    service: Service, how: str
) -> None:
    session = service.opened()
    run, question = a_run(service, session), write(service, session, args={"path": "b.txt"})["question"]
    path, number = f"/v1/calls/{run['operation_id']}", run["fence"]
    service.told("host", "POST", f"{path}/park", {"fence": number, "question": question, "note": NOTE})
    ended(service, session, question, how)
    assert service.post("host", f"{path}/resume", {"attempt": "b", "fence": number + 1}).status_code == 409
    for _ in range(2):  # sent again because its answer got lost, it is no other
        back = service.told("host", "POST", f"{path}/resume", {"attempt": "a", "fence": number})
        assert (back["status"], back["fence"], back["call"]) == ("denied", number + 1, None)
    service.told("host", "POST", f"{path}/outcome", {"fence": number + 1, "state": "failed"})
    assert state(service, run["operation_id"]) == "failed"


def test_a_call_is_parked_only_on_a_question_of_its_own_session(service: Service) -> None:
    call = started(service, service.opened())
    other = write(service, service.opened())["question"]
    refused = service.post(
        "host",
        f"/v1/calls/{call['operation_id']}/park",
        {"fence": call["fence"], "question": other, "note": NOTE},
    )
    assert refused.status_code == 404


def test_a_run_carries_what_it_declares_in_its_own_session_while_it_lives(
    service: Service, clock: Clock
) -> None:
    session = service.opened()
    run = a_run(service, session)
    name = run["operation_id"]
    assert write(service, session, run=name)["rule"] == "workflow_grant"
    assert write(service, session)["status"] == "pending", "without its run it is on its own"
    assert write(service, session, run=name, individual=True)["status"] == "pending"
    push = service.told("host", "POST", "/v1/calls", {"tool": "push", "session": session, "run": name})
    assert push["status"] == "pending", "high is never carried"
    other = service.post("host", "/v1/calls", {**WRITE, "session": service.opened(), "run": name})
    assert other.status_code == 404
    foreign = service.post(
        "other_host", "/v1/calls", {**WRITE, "session": service.opened("other_host"), "run": name}
    )
    assert foreign.status_code == 404
    clock.now += 121
    assert write(service, session, run=name)["status"] == "pending", "nobody keeps it alive any more"


def test_a_run_that_ended_carries_nothing(service: Service) -> None:
    session = service.opened()
    run = a_run(service, session)
    path = f"/v1/calls/{run['operation_id']}/outcome"
    service.told("host", "POST", path, {"fence": run["fence"], "state": "succeeded"})
    assert write(service, session, run=run["operation_id"])["status"] == "pending"


def test_a_call_that_is_no_run_carries_nothing(service: Service) -> None:
    session = service.opened()
    call = started(service, session)["operation_id"]
    assert service.post("host", "/v1/calls", {**WRITE, "session": session, "run": call}).status_code == 404


def test_weight_that_is_declared_high_is_not_carried_and_low_is_not_believed(service: Service) -> None:
    session = service.opened()
    run = a_run(service, session)["operation_id"]

    def made(weight: str) -> str:
        body = {
            "tool": f"own_{weight}",
            "session": session,
            "run": run,
            "operations": [{"operation": "files.write", "weight": weight}],
        }
        return str(service.told("host", "POST", "/v1/calls", body)["status"])

    assert made("high") == "pending"
    assert made("moderate") == "allowed"
    low = {
        "tool": "push_own",
        "session": session,
        "run": run,
        "operations": [{"operation": "git.push", "weight": "low"}],
    }
    assert service.told("host", "POST", "/v1/calls", low)["status"] == "pending"


def test_a_workflow_that_declares_itself_low_is_asked_all_the_same(service: Service) -> None:
    low = {**DIGEST, "operations": [{"operation": "lights.on", "risk": "low", "weight": "low"}]}
    told = service.told("host", "POST", "/v1/calls", {**low, "session": service.opened()})
    assert told["status"] == "pending"
    nothing = {**DIGEST, "operations": [], "session": service.opened()}
    assert service.told("host", "POST", "/v1/calls", nothing)["status"] == "pending"


def test_a_function_that_is_not_gated_by_itself_is_started_unless_the_policy_knows_it(
    service: Service,
) -> None:
    session = service.opened()

    def made(tool: str, **more: Any) -> dict[str, Any]:
        body = {"tool": tool, "session": session, "ungated": True, **more}
        told: dict[str, Any] = service.request("host", "POST", "/v1/calls", body).json()
        return told

    assert (made("briefing")["status"], made("briefing")["rule"]) == ("allowed", "ungated")
    assert made("push")["status"] == "pending"
    assert made("wipe")["status"] == "blocked"
    assert made("odd name")["code"] == "malformed_request"
    assert made("briefing", operations=[{"operation": "git.push"}])["code"] == "malformed"


KNOWING = """
sayso: 1
domains:
  capability: {trust_level: low, autonomous: [], requires_approval: [], blocked: [deploy, sync]}
  bank: {trust_level: low, autonomous: [], requires_approval: [transfer], blocked: []}
tools:
  - {tool: deploy, operation: capability.deploy}
  - {tool: transfer, operation: bank.transfer, when: args.amount <= 100}
"""


@pytest.mark.parametrize(
    ("tool", "status"),
    [
        ("deploy", "blocked"),
        ("sync", "blocked"),
        ("Sync", 400),
        ("transfer", "pending"),
        ("brief", "allowed"),
    ],
)
def test_what_the_policy_says_of_a_function_holds_though_it_calls_itself_ungated(
    runner: asyncio.Runner, clock: Clock, tool: str, status: str | int
) -> None:
    gate = open_gate(load_text(KNOWING), MemoryStore(clock=clock), key=KEY)
    service = Service(gate, runner)
    body = {"tool": tool, "args": {"amount": 500}, "session": service.opened(), "ungated": True}
    answer = service.post("host", "/v1/calls", body)
    assert status in (answer.status_code, answer.json()["status"]), answer.text


def test_a_call_that_waits_tells_what_would_run_and_that_allows_nothing(service: Service) -> None:
    session = service.opened()
    call = write(service, session)
    assert call["call"] is None
    assert call["fence"] == 0
    assert call["wanted"]["args"] == WRITE["args"]
    edited = {"path": "b.txt", "text": "hello"}
    service.told(
        "operator",
        "POST",
        f"/v1/questions/{call['question']}/answer",
        {"answer": "edit", "edited": edited},
    )
    looked = service.told("host", "GET", f"/v1/calls/{call['operation_id']}")
    assert looked["wanted"]["args"] == edited
    stale = service.post("host", f"/v1/calls/{call['operation_id']}/retry", {"meant": WRITE["args"]})
    assert stale.status_code == 409
    runs = service.told("host", "POST", f"/v1/calls/{call['operation_id']}/retry", {"meant": edited})
    assert runs["call"]["args"] == edited


def test_a_call_asked_for_with_a_state_is_not_run_without_it(service: Service) -> None:
    session = service.opened()
    call = write(service, session, state="3 rows")
    question = service.told("operator", "GET", f"/v1/questions/{call['question']}")
    assert question["world"] == "3 rows"
    service.answer(call["question"], "once")
    retry = f"/v1/calls/{call['operation_id']}/retry"
    assert service.post("host", retry).status_code == 409
    assert service.told("host", "POST", retry, {"state": "4 rows"})["status"] == "pending"


def test_an_effect_is_had_once_whoever_asks_for_it(service: Service) -> None:
    started(service, service.opened(), effect_key="invoice 7")
    again = service.post(
        "other_host",
        "/v1/calls",
        {**READ, "session": service.opened("other_host"), "effect_key": "invoice 7"},
    )
    assert again.status_code == 409
    assert again.json()["code"] == "key_reused"


def test_what_became_of_a_call_is_said_by_its_host_or_the_operator_and_only_if_nobody_knew(
    service: Service,
) -> None:
    call = started(service, service.opened())
    path = f"/v1/calls/{call['operation_id']}"
    said = {"state": "succeeded"}
    assert service.post("host", f"{path}/resolve", said).status_code == 409
    service.told("host", "POST", f"{path}/outcome", {"fence": call["fence"], "state": "ambiguous"})
    assert service.post("other_host", f"{path}/resolve", said).status_code == 404
    assert service.post("agent", f"{path}/resolve", said).status_code == 403
    assert service.post("host", f"{path}/resolve", {"state": "denied"}).status_code == 409
    assert service.told("host", "POST", f"{path}/resolve", said)["status"] == "succeeded"
    assert service.post("operator", f"{path}/resolve", {"state": "failed"}).status_code == 409


def test_a_replay_has_no_effect_a_second_time(service: Service) -> None:
    session = service.opened()
    call = started(service, session, effect_key="invoice 7")
    replay = f"/v1/calls/{call['operation_id']}/replay"
    assert service.post("host", replay, {"session": session}).json()["code"] == "key_reused"
    ended = {"fence": call["fence"], "state": "succeeded"}
    service.told("host", "POST", f"/v1/calls/{call['operation_id']}/outcome", ended)
    for where in (session, service.opened()):
        assert service.post("host", replay, {"session": where}).json()["code"] == "key_reused"


def test_replays_of_what_failed_have_the_effect_once(service: Service) -> None:
    session = service.opened()
    call = started(service, session, effect_key="invoice 7")
    ended = {"fence": call["fence"], "state": "failed"}
    service.told("host", "POST", f"/v1/calls/{call['operation_id']}/outcome", ended)
    replay = f"/v1/calls/{call['operation_id']}/replay"
    assert service.told("host", "POST", replay, {"session": session})["status"] == "allowed"
    assert service.post("host", replay, {"session": session}).json()["code"] == "key_reused"


def test_a_replay_meets_the_state_of_now(service: Service) -> None:
    session = service.opened()
    call = write(service, session, state="3 rows")
    service.answer(call["question"], "once")
    replay = f"/v1/calls/{call['operation_id']}/replay"
    assert service.post("host", replay, {"session": session}).status_code == 409
    other = service.told("host", "POST", replay, {"session": session, "state": "4 rows"})
    assert other["status"] == "pending"
    same = service.told("host", "POST", replay, {"session": session, "state": "3 rows"})
    assert same["status"] == "allowed"


def test_a_replay_runs_in_a_session_of_the_callers_alone(service: Service) -> None:
    call = started(service, service.opened())["operation_id"]
    path = f"/v1/calls/{call}/replay"
    theirs = service.opened("other_host")
    assert service.post("other_host", path, {"session": theirs}).status_code == 404
    assert service.post("host", path, {"session": theirs}).status_code == 404
    assert service.post("host", path, {}).status_code == 404
    again = service.told("host", "POST", path, {"session": service.opened()})
    assert again["status"] == "allowed"
    assert again["operation_id"] != call
