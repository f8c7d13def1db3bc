"""Questions over HTTP: listed in pages, told whole, answered once, edited, and never answered by mistake."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from sayso import Sayso
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from sayso.surfaces.inbox import Inbox
from tests.service.conftest import KEY
from tests.support.gates import Clock
from tests.support.service import PUSH, WRITE, Service

pytestmark = pytest.mark.each_store


def write(number: int) -> dict[str, Any]:
    return {"tool": "write_file", "args": {"path": f"{number}.txt"}}


def answer(service: Service, question: str, **body: Any) -> httpx.Response:
    return service.post("operator", f"/v1/questions/{question}/answer", body)


def test_a_question_tells_all_that_a_person_needs(service: Service) -> None:
    session = service.opened(workspace="/work")
    service.told("host", "POST", f"/v1/sessions/{session}/messages", {"text": "now publish it"})
    question = service.asked("host", PUSH, session=session)
    told = service.told("operator", "GET", f"/v1/questions/{question}")
    assert told["command"] == "git push origin"
    assert told["arguments"] == {"line": "git push origin"}
    assert (told["agent"], told["session"], told["turn"]) == ("claude", session, 1)
    assert told["message"] == "now publish it"
    assert (told["risk"], told["rule"], told["folder"]) == ("high", "risky", "/work")
    assert [item["operation"] for item in told["items"]] == ["git.push"]
    assert told["items"][0]["does"] == "changes a remote"
    assert [offer["answer"] for offer in told["offers"]] == ["once", "deny"]
    assert told["expires_at"] - told["opened_at"] == 7_200
    assert len(told["digest"]) == 64


@pytest.mark.parametrize(
    "body", [{"answer": "once"}, {"items": {"1": "once"}}, {"answer": "edit", "command": "git push"}]
)
def test_no_operator_allows_high_risk_without_naming_the_call_that_was_shown(
    service: Service, body: dict[str, Any]
) -> None:
    question = service.asked(call=PUSH)
    refused = answer(service, question, **body)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_seen")
    seen = service.told("operator", "GET", f"/v1/questions/{question}")["digest"]
    for wrong, said in (("0" * 64, "differs from that of the question"), (seen[:12], "all 64 digits")):
        stale = answer(service, question, **body, digest=wrong).json()
        assert stale["code"] == "stale"
        assert said in stale["detail"]
        assert f"sayso inbox {question}" in stale["hint"]
    assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open"
    assert answer(service, question, **body, digest=seen).json()["yours"]


def test_a_list_never_tells_a_command_without_the_rest_of_the_call(service: Service) -> None:
    args = {"line": "ls", "env": {"LD_PRELOAD": "x.so"}}
    service.asked("host", {"tool": "push", "args": args, "command": "ls"}, session=service.opened())
    (told,) = service.told("operator", "GET", "/v1/questions")
    assert (told["tool"], told["arguments"], told["complete"]) == ("push", args, True)
    assert "LD_PRELOAD" in told["text"]
    assert told["door"] == "http"


def test_what_the_user_said_is_forgotten_with_the_session(service: Service) -> None:
    session = service.opened()
    service.told("host", "POST", f"/v1/sessions/{session}/messages", {"text": "now publish it"})
    question = service.asked("host", PUSH, session=session)
    service.told("host", "DELETE", f"/v1/sessions/{session}")
    assert service.told("operator", "GET", f"/v1/questions/{question}")["message"] is None


def test_the_list_comes_in_pages_oldest_first(service: Service) -> None:
    asked = [service.asked(call=write(number)) for number in range(5)]
    first = service.get("operator", "/v1/questions?limit=2")
    assert [one["id"] for one in first.json()] == asked[:2]
    link = first.headers["link"].partition(">")[0].removeprefix("<")
    second = service.get("operator", link)
    assert [one["id"] for one in second.json()] == asked[2:4]
    last = service.get("operator", f"/v1/questions?limit=2&after={asked[3]}")
    assert [one["id"] for one in last.json()] == asked[4:]
    assert "link" not in last.headers


def test_a_question_that_nobody_answered_in_time_is_not_listed_as_open(
    service: Service, clock: Clock
) -> None:
    late = service.asked(call=write(1))
    clock.now += 7_200
    assert service.told("operator", "GET", "/v1/questions") == []
    assert service.told("operator", "GET", f"/v1/questions/{late}")["state"] == "expired"
    fresh = service.asked(call=write(2))
    assert [one["id"] for one in service.told("operator", "GET", "/v1/questions?limit=1")] == [fresh]


def test_closed_questions_are_told_with_who_answered(service: Service) -> None:
    question = service.asked()
    answer(service, question, answer="deny", reason="not today")
    told = service.told("operator", "GET", "/v1/questions?state=answered")
    assert [(one["id"], one["answer"], one["by"], one["reason"]) for one in told] == [
        (question, "deny", "operator", "not today")
    ]
    assert service.told("operator", "GET", "/v1/questions") == []


def test_an_offer_says_what_it_would_have_covered(service: Service) -> None:
    session = service.opened()
    service.told("host", "POST", f"/v1/sessions/{session}/tasks", {"name": "parser"})
    for number in range(3):
        answer(service, service.asked("host", write(number), session=session), answer="once")
        call = {**write(number), "session": session}
        assert service.told("host", "POST", "/v1/calls", call)["status"] == "allowed"
    service.asked("host", PUSH, session=session)
    question = service.asked("host", write(0), session=session)
    told = service.told("operator", "GET", f"/v1/questions/{question}")
    covered = {offer["answer"]: (offer["would_have_covered"], offer["of_last"]) for offer in told["offers"]}
    assert covered["once"] == (0, 4)
    assert covered["task"] == (3, 4), "all edits, but not the push"
    assert covered["always"] == (1, 4), "this very call alone"
    assert covered["deny"] == (0, 4)


def test_why_tells_every_check(service: Service) -> None:
    why = service.told("agent", "GET", f"/v1/questions/{service.asked()}/why")["why"]
    assert "* ask: the policy requires approval" in why
    assert "- blocked:" in why


def test_the_first_answer_stands_and_the_second_is_told_so(service: Service) -> None:
    question = service.asked()
    first = answer(service, question, answer="deny").json()
    assert (first["yours"], first["answer"], first["by"]) == (True, "deny", "operator")
    second = answer(service, question, answer="once")
    assert second.status_code == 200
    assert (second.json()["yours"], second.json()["answer"]) == (False, "deny")


def test_of_many_answers_at_once_one_stands(service: Service) -> None:
    question = service.asked()

    async def race() -> list[httpx.Response]:
        path = f"/v1/questions/{question}/answer"
        given = [{"answer": "once"}, {"answer": "deny"}] * 5
        return await asyncio.gather(*(service.ask("operator", "POST", path, body) for body in given))

    told = [response.json() for response in service.runner.run(race())]
    assert sum(one["yours"] for one in told) == 1
    assert len({one["answer"] for one in told}) == 1


def test_an_answer_to_another_call_than_the_one_seen_is_refused(service: Service) -> None:
    question, other = service.asked(call=write(1)), service.asked(call=write(2))
    seen = service.told("operator", "GET", f"/v1/questions/{other}")["digest"]
    stale = answer(service, question, answer="once", digest=seen)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale")
    assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open"
    digest = service.told("operator", "GET", f"/v1/questions/{question}")["digest"]
    assert answer(service, question, answer="once", digest=digest).json()["yours"]


def test_a_replayed_answer_allows_nothing_again(service: Service) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    assert answer(service, question, answer="once").json()["yours"]
    assert service.told("agent", "POST", f"/v1/calls/{call}/retry")["status"] == "allowed"
    assert not answer(service, question, answer="once").json()["yours"]
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "pending"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"answer": "yes"},
        {"answer": "ONCE"},
        {"answer": ""},
        {"answer": "task"},
        {"answer": "once", "items": {"1": "once"}},
        {"items": {}},
        {"items": {"2": "once"}},
        {"items": {"1": "once", "2": "once"}},
        {"items": {"1": "maybe"}},
        {"answer": "once", "edited": {"path": "b"}},
        {"answer": "edit"},
        {"answer": "once", "digest": "0" * 64},
        {"answer": "once", "proof": {}},
        {"answer": "once", "reason": "x" * 2_001},
        {"answer": True},
        {"answer": ["once"]},
        [],
        "once",
        None,
    ],
    ids=str,
)
def test_what_is_no_clear_answer_leaves_the_question_open(service: Service, body: Any) -> None:
    question = service.asked()
    refused = service.post("operator", f"/v1/questions/{question}/answer", body)
    assert 400 <= refused.status_code < 500
    assert refused.headers["content-type"] == "application/problem+json"
    assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open"


def test_items_are_answered_by_their_ids(service: Service) -> None:
    question = service.asked()
    assert answer(service, question, items={"1": "always"}).json()["answer"] == "always"
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "allowed"


def test_edit_and_allow_lets_the_edited_call_run_and_no_other(service: Service) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    edited = {"path": "b.txt", "text": "hello"}
    assert answer(service, question, answer="edit", edited=edited).json()["answer"] == "edit"
    told = service.told("agent", "POST", f"/v1/calls/{call}/retry")
    assert told["status"] == "allowed"
    assert told["call"] == {"tool": "write_file", "args": edited, "command": None, "folder": ""}
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "pending"


def test_an_edited_command_is_what_the_agent_is_told_to_run(service: Service) -> None:
    call = {"tool": "push", "args": {"line": "git push -f"}, "command": "git push -f"}
    question = service.asked(call=call)
    name = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    seen = service.told("operator", "GET", f"/v1/questions/{question}")["digest"]
    assert answer(service, question, answer="edit", command="git push", digest=seen).json()["yours"]
    told = service.told("agent", "POST", f"/v1/calls/{name}/retry")
    runs = {"tool": "push", "args": {"line": "git push"}, "command": "git push", "folder": ""}
    assert told["call"] == runs


def test_an_edit_whose_command_and_arguments_differ_is_refused(service: Service) -> None:
    call = {"tool": "push", "args": {"line": "git push -f"}, "command": "git push -f"}
    question = service.asked(call=call)
    refused = answer(service, question, answer="edit", command="git push", edited={"line": "rm -rf /"})
    assert (refused.status_code, refused.json()["code"]) == (409, "edit_refused")
    assert answer(service, service.asked(), answer="edit", command="rm").status_code == 409


@pytest.mark.parametrize(
    "said", [{"state": "3 rows"}, {"workflow": "tidy", "operations": [{"operation": "files.write"}]}]
)
def test_an_edit_does_not_take_the_state_or_the_workflow_from_a_call(
    service: Service, said: dict[str, Any]
) -> None:
    call = {**WRITE, "session": service.opened(), **said}
    question = service.asked("host", call)
    refused = answer(service, question, answer="edit", edited={"path": "b.txt", "text": "hello"})
    assert (refused.status_code, refused.json()["code"]) == (409, "edit_refused")


READING = """
sayso: 1
settings: {unlisted: block}
domains:
  bank: {trust_level: low, autonomous: [], requires_approval: [transfer], blocked: []}
  files: {trust_level: high, autonomous: [], requires_approval: [write, write_outside_workspace], blocked: []}
tools:
  - {tool: transfer, operation: bank.transfer, when: args.amount <= 100}
  - {tool: write, resolve: path, operation: files.write, from: args.path}
"""


@pytest.fixture
def reading(runner: asyncio.Runner, clock: Clock) -> Service:
    gate = open_gate(load_text(READING), MemoryStore(clock=clock), key=KEY)
    return Service(gate, runner)


@pytest.mark.parametrize("schema", ["", "transfer(amount)"])
def test_an_edit_does_not_keep_an_operation_that_other_arguments_stood_for(
    reading: Service, schema: str
) -> None:
    question = reading.asked(call={"tool": "transfer", "args": {"amount": 5}, "schema": schema})
    refused = answer(reading, question, answer="edit", edited={"amount": 5_000})
    assert (refused.status_code, refused.json()["code"]) == (409, "edit_refused")
    assert answer(reading, question, answer="edit", edited={"amount": 50}).json()["yours"]


@pytest.mark.parametrize("schema", ["", "write(path)"])
def test_an_edited_call_is_read_in_the_folder_it_is_made_in(
    reading: Service, schema: str, tmp_path: Path
) -> None:
    session = reading.opened(workspace=str(tmp_path / "work"))
    call = {"tool": "write", "args": {"path": "a"}, "folder": str(tmp_path), "schema": schema}
    told = reading.told("host", "POST", "/v1/calls", {**call, "session": session})
    assert [one["operation"] for one in told["operations"]] == ["files.write_outside_workspace"]
    edited = {"path": "b"}
    assert answer(reading, told["question"], answer="edit", edited=edited).json()["yours"]
    runs = reading.told("host", "POST", f"/v1/calls/{told['operation_id']}/retry")
    assert [one["operation"] for one in runs["operations"]] == ["files.write_outside_workspace"]


def test_of_a_program_on_the_same_store_values_can_be_edited_and_what_fits_it_runs(
    service: Service, gate: Gate
) -> None:
    """The service knows no function of another process, but the types that came with its call."""
    program = Sayso(gate, [Inbox()])
    renamed: list[tuple[str, str]] = []

    @program.capability("rename")
    @program.requires_consent("files.write")
    def rename(old: str, new: Literal["b", "c"]) -> None:
        renamed.append((old, new))

    def edited(**instead: Any) -> str:
        """How a run ends whose arguments a person edits so."""
        late = program.run("rename", {"old": "a", "new": "b"}, wait=0)
        (question,) = [one["id"] for one in service.told("operator", "GET", "/v1/questions")]
        impossible: list[dict[str, Any]] = [
            {"old": "a"},
            {"old": "a", "new": ["c"]},
            {"old": "a", "new": "d"},
        ]
        for other in (*impossible, {"old": "a", "new": "c", "how": "now"}):
            refused = answer(service, question, answer="edit", edited=other)
            assert refused.json()["code"] == "edit_refused"
        assert answer(service, question, answer="edit", edited=instead).json()["yours"]
        return program.retry(late.operation_id or "").status

    assert edited(old="a", new="c") == "ok"
    assert renamed == [("a", "c")]


def test_a_denied_call_tells_the_agent_why(service: Service) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    answer(service, question, answer="deny", reason="use the other file")
    told = service.told("agent", "POST", f"/v1/calls/{call}/retry")
    assert told["status"] == "denied"
    assert "use the other file" in told["reason"]


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "</script><!--",
    '"}]},{"answer":"once"',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_out_as_json_data_that_no_browser_runs(service: Service, text: str) -> None:
    session = service.opened(user=text, workspace=text)
    call = {"tool": "push", "args": {text: text, "line": text}, "command": text}
    question = service.asked("host", call, session=session)
    response = service.get("operator", f"/v1/questions/{question}")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert response.json()["command"] == text
    assert response.json()["arguments"] == {text: text, "line": text}
    assert "\x1b" not in response.json()["text"]
    assert "\u202e" not in response.json()["text"]
