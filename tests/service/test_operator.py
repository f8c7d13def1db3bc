"""What the operator's page is made of: grants, history, audit, policy, figures, tokens, runs."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.audit.receipt import check_receipt
from sayso.doors.python.workflow import Step
from sayso.doors.sayso import Sayso
from sayso.gate.audit.tree import log_origin, own_verifiers
from sayso.gate.gate import Gate
from sayso.gate.rows.keys import SigningKey
from tests.service.conftest import POLICY
from tests.support.gates import Clock
from tests.support.service import PUSH, READ, WIPE, WRITE, Service

pytestmark = pytest.mark.each_store


def answer(service: Service, question: str, given: str) -> None:
    service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": given})


def test_a_grant_by_hand_works_until_it_is_revoked(service: Service) -> None:
    session = service.asked().rpartition(".")[0]
    body = {"session": session, "operation": "files.write", "minutes": 5, "uses": 3}
    grant = service.told("operator", "POST", "/v1/grants", body)
    assert (grant["given_by"], grant["uses"], grant["left"]) == ("operator", 3, 300)
    assert service.told("agent", "POST", "/v1/calls", {**WRITE, "args": {"path": "x"}})["status"] == "allowed"
    assert [one["used"] for one in service.told("agent", "GET", "/v1/grants")] == [1]
    ended = service.told("operator", "DELETE", f"/v1/grants/{grant['id']}")
    assert not ended["already"]
    assert service.told("agent", "POST", "/v1/calls", {**WRITE, "args": {"path": "y"}})["status"] == "pending"
    assert service.request("operator", "DELETE", "/v1/grants/none").status_code == 404


def test_what_the_policy_lets_nobody_grant_is_refused(service: Service) -> None:
    session = service.opened()
    wrong: list[dict[str, Any]] = [
        {"operation": "git.push"},
        {"operation": "files.write", "minutes": 1_441},
        {"operation": "files.write", "risk": "none"},
        {"operation": "files.write", "command": "ls"},
        {},
    ]
    for body in wrong:
        assert service.post("operator", "/v1/grants", {"session": session, **body}).status_code in (400, 409)
    assert service.told("operator", "GET", "/v1/grants") == []


def test_all_consent_of_a_session_ends_at_once(service: Service) -> None:
    question = service.asked()
    answer(service, question, "always")
    service.asked(call=PUSH)
    session = question.rpartition(".")[0]
    ended = service.told("operator", "POST", f"/v1/sessions/{session}/revoke-all")
    assert len(ended) == 2
    assert service.told("operator", "GET", "/v1/grants") == []
    assert service.told("operator", "GET", "/v1/questions") == []


def test_history_is_newest_first_with_filters_and_pages(service: Service, clock: Clock) -> None:
    question = service.asked(call=PUSH)
    answer(service, question, "deny")
    clock.now += 1
    service.told("agent", "POST", "/v1/calls", READ)
    clock.now += 1
    service.told("other_agent", "POST", "/v1/calls", WIPE)

    def found(query: str) -> list[str]:
        return [one["operations"][0] for one in service.told("operator", "GET", f"/v1/history?{query}")]

    assert found("") == ["files.wipe", "files.read", "git.push"]
    assert found("domain=git") == ["git.push"]
    assert found("agent=other agent") == ["files.wipe"]
    assert found("verdict=allow") == ["files.read"]
    assert found("risk=high") == ["files.wipe", "git.push"]
    assert found("text=PUSH ORIGIN") == ["git.push"], "the command is searched too"
    assert found("rule=autonomous&risk=high") == []
    asked = service.told("operator", "GET", "/v1/history?domain=git")[0]
    assert (asked["answer"], asked["by"], asked["question"]) == ("deny", "operator", question)
    assert asked["call"]["command"] == "git push origin"
    seen, path = [], "/v1/history?limit=1"
    while path:
        page = service.get("operator", path)
        seen += [one["operations"][0] for one in page.json()]
        path = page.headers.get("link", "").partition(">")[0].removeprefix("<")
    assert seen == ["files.wipe", "files.read", "git.push"]


def test_entries_can_be_searched_and_paged_both_ways(service: Service) -> None:
    service.asked()
    everything = service.told("operator", "GET", "/v1/audit/entries?limit=500")
    numbers = [one["seq"] for one in everything]
    assert numbers == sorted(numbers, reverse=True)
    onward = service.told("operator", "GET", "/v1/audit/entries?after=0&limit=500")
    assert [one["seq"] for one in onward] == numbers[::-1]
    asked = service.told("operator", "GET", "/v1/audit/entries?event=ASKED")
    assert [one["entry"]["event"] for one in asked] == ["ASKED"]
    session = asked[0]["entry"]["session"]
    assert {
        one["entry"]["session"]
        for one in service.told("operator", "GET", f"/v1/audit/entries?session={session}")
    } == {session}
    assert service.told("operator", "GET", "/v1/audit/entries?text=write_file") == asked
    shown = service.told("operator", "GET", f"/v1/audit/entries/{asked[0]['seq']}")
    assert shown["values"]["call"]["state"] == "kept"
    for wrong in ("before=main", "before=-1", "after=x", "limit=0", "limit=501", "before=main:1:x"):
        assert service.get("operator", f"/v1/audit/entries?{wrong}").status_code == 400
    assert service.told("operator", "GET", "/v1/audit/entries?before=9999999&limit=1")[0]["seq"] == numbers[0]


def test_the_trail_can_be_proven_and_verified(service: Service, gate: Gate) -> None:
    answer(service, service.asked(), "once")
    state = service.told("operator", "GET", "/v1/audit")
    assert state["checkpoint_size"] == state["entries"]
    proof = service.get("operator", "/v1/audit/proof/3")
    assert "attachment" in proof.headers["content-disposition"]
    with gate.store.read() as tx:
        origin = log_origin(tx)
    key = gate.key
    assert isinstance(key, SigningKey)
    receipt, _ = check_receipt(proof.content, own_verifiers(key), origin)
    assert receipt.index == 2
    verified = service.told("operator", "POST", "/v1/audit/verify", {})
    assert (verified["clean"], verified["findings"]) == (True, [])
    forged = service.told("operator", "POST", "/v1/audit/verify", {"checkpoints": ["nonsense"]})
    assert not forged["clean"]
    for none in ("0", "99999", "x", "-1", "1e3"):
        assert service.get("operator", f"/v1/audit/proof/{none}").status_code == 404
        assert service.get("operator", f"/v1/audit/entries/{none}").status_code == 404


def test_the_policy_is_told_with_its_decay(service: Service, clock: Clock) -> None:
    told = service.told("operator", "GET", "/v1/policy")
    files, git = told["domains"]
    assert (files["autonomous"], files["blocked"]) == (["read"], ["wipe"])
    assert files["decays_at"] - files["reviewed_at"] == 30 * 86_400
    assert (git["decays_at"], git["decayed"]) == (None, False)
    assert told["operations"]["git.push"]["risk"] == "high"
    clock.now = files["decays_at"]
    assert service.told("operator", "GET", "/v1/policy")["domains"][0]["decayed"]


def test_a_draft_is_compared_and_not_applied(service: Service) -> None:
    looser = POLICY.replace("autonomous: [read], requires_approval: [write]",
                            "autonomous: [read, write], requires_approval: []")  # fmt: skip
    told = service.told("operator", "POST", "/v1/policy/diff", {"text": looser})
    assert told["loosens"]
    assert "files.write" in {change["operation"] for change in told["loosened"]}
    same = service.told("operator", "POST", "/v1/policy/diff", {"text": POLICY})
    assert (same["loosened"], same["tightened"], same["loosens"]) == ([], [], False)
    broken = service.post("operator", "/v1/policy/diff", {"text": "domains: {files: {autonomus: []}}"})
    assert (broken.status_code, broken.json()["code"]) == (422, "policy_problems")
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "pending"


def test_figures_come_with_what_charts_are_drawn_from(service: Service, clock: Clock) -> None:
    session = service.asked().rpartition(".")[0]
    clock.now += 3_600
    service.told("agent", "POST", "/v1/calls", READ)
    service.told("operator", "POST", "/v1/grants", {"session": session, "operation": "files.write"})
    service.told("agent", "POST", "/v1/calls", WRITE)
    service.told("other_agent", "POST", "/v1/calls", WIPE)
    told = service.told("operator", "GET", "/v1/stats")
    assert (told["figures"]["decisions"], told["figures"]["prompts"], told["figures"]["avoided"]) == (4, 1, 1)
    hours = told["charts"]["hours"]
    assert [(one["allowed"], one["asked"], one["denied"], one["avoided"]) for one in hours] == [
        (0, 1, 0, 0),
        (2, 0, 1, 1),
    ]
    assert {one["name"]: one["allowed"] for one in told["charts"]["agents"]} == {"agent": 2, "other agent": 0}
    assert {one["name"] for one in told["charts"]["categories"]} == {"file-edit", "files.read", "files.wipe"}
    clock.now += 60
    lately = service.told("operator", "GET", "/v1/stats?seconds=60")
    assert lately["figures"]["decisions"] == 3
    assert len(lately["charts"]["hours"]) == 1


def test_a_tokens_secret_is_told_once_and_kept_nowhere(service: Service) -> None:
    made = service.told("operator", "POST", "/v1/tokens", {"role": "agent", "name": "third"})
    service.secrets["third"] = made["secret"]
    assert service.told("third", "POST", "/v1/calls", READ)["status"] == "allowed"
    listed = service.get("operator", "/v1/tokens")
    assert made["token"]["id"] in listed.text
    assert made["secret"] not in listed.text
    entries = service.get("operator", "/v1/audit/entries?limit=500").text
    assert made["secret"] not in entries
    for wrong in ({"role": "root", "name": "x"}, {"role": "agent", "name": ""}, {"role": "agent"}):
        assert 400 <= service.post("operator", "/v1/tokens", wrong).status_code < 500


def test_runs_of_workflows_are_told_with_their_steps(service: Service, gate: Gate) -> None:
    program = Sayso(gate)
    seen: list[Any] = []

    @program.requires_consent("files.read")
    def look() -> int:
        seen.append(service.told("operator", "GET", "/v1/runs"))
        seen.append(service.told("operator", "GET", f"/v1/runs/{seen[0][0]['run']}"))
        seen.append(service.get("host", f"/v1/runs/{seen[0][0]['run']}").status_code)
        return 1

    program.workflow("daily", [Step("look", look, operations=("files.read",))])
    result = program.run("daily", session=program.open_session("python"))
    assert result.status == "ok", result
    runs, one, hidden = seen
    assert (one["workflow"], one["state"], one["steps"]) == ("daily", "running", {"look": "running"})
    assert runs == [one]
    assert hidden == 404


def test_counters_are_told_to_operators_in_the_text_of_prometheus(service: Service) -> None:
    answer(service, service.asked(), "once")
    service.told("agent", "POST", "/v1/calls", WIPE)
    service.asked(call=PUSH)
    text = service.get("operator", "/metrics").text
    assert 'sayso_decisions_total{verdict="ask",rule="ask"} 1' in text
    assert 'sayso_decisions_total{verdict="deny",rule="blocked"} 1' in text
    assert "sayso_open_questions 1" in text
    assert 'sayso_answer_seconds_bucket{le="+Inf"} 1' in text
    assert 'sayso_requests_total{method="POST",path="/v1/calls",status="200"} 3' in text
    assert service.get("agent", "/metrics").status_code == 403
    again = service.get("operator", "/metrics").text
    assert 'sayso_decisions_total{verdict="deny",rule="blocked"} 1' in again, "nothing is counted twice"
