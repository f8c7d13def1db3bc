"""An approved access request holds for the subject, action, resource, properties and context people saw."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.service.access import COMMIT, WRITE, answered, asked, assert_refused, bound, status, submitted
from tests.service.conftest import KEY
from tests.support.service import Service

EVALUATION, MANY, REQUESTS = "/access/v1/evaluation", "/access/v1/evaluations", "/access/v1/requests"
CONTEXT: dict[str, Any] = {"ticket": "T-1", "to": {"branch": "dev", "hosts": ["a", "b"]}}


def filled(body: dict[str, Any]) -> dict[str, Any]:
    """The same body with properties everywhere and a context."""
    subject = {**body["subject"], "properties": {"team": "red"}}
    action = {**body["action"], "properties": {"message": "tidy", "amount": 3}}
    resource = {**body["resource"], "properties": {"path": "a.txt", "text": "hello"}}
    return {"subject": subject, "action": action, "resource": resource, "context": CONTEXT}


BODIES = {"operation": filled(COMMIT), "tool": filled(WRITE)}
EACH_FORM = pytest.mark.parametrize("form", list(BODIES))


def placed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the body with another value at this path; None takes the member out."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    *parents, last = path.split(".")
    inner = copy
    for name in parents:
        inner = inner[name]
    inner[last] = value
    if value is None:
        del inner[last]
    return copy


OTHERS: dict[str, tuple[str, Any]] = {
    "another context": ("context", {"ticket": "T-2"}),
    "no context": ("context", None),
    "an empty context": ("context", {}),
    "another value deep in the context": ("context.to.branch", "main"),
    "another order in a list of the context": ("context.to.hosts", ["b", "a"]),
    "one member more in the context": ("context.force", True),
    "one member less in the context": ("context.ticket", None),
    "a reason in the context": ("context.reason", "the boss wants it"),
    "an evaluation id in the context": ("context.evaluation_id", "e1"),
    "a time in the context": ("context.evaluated_at", "2026-01-01T00:00:00Z"),
    "an access request in the context": ("context.access_request", {"template": "x"}),
    "an approval with more in it": ("context.approval", {"id": "apr_1", "target": "prod"}),
    "an approval of another kind": ("context.approval", "by the boss"),
    "null for a value of the context": ("context.ticket", [None]),
    "text for a number": ("action.properties.amount", "3"),
    "another subject": ("subject.id", "bob"),
    "another type of subject": ("subject.type", "service"),
    "other properties of the subject": ("subject.properties", {"team": "blue"}),
    "more properties of the subject": ("subject.properties.admin", True),
    "no properties of the subject": ("subject.properties", None),
    "other properties of the action": ("action.properties.message", "wipe"),
    "no properties of the action": ("action.properties", None),
    "more properties of the action": ("action.properties.force", True),
    "other properties of the resource": ("resource.properties.text", "bye"),
    "more properties of the resource": ("resource.properties.mode", "777"),
}
EACH_OTHER = pytest.mark.parametrize("other", list(OTHERS))


@EACH_FORM
@EACH_OTHER
def test_an_approval_permits_nothing_that_differs_from_what_was_asked_for(
    service: Service, form: str, other: str
) -> None:
    body = BODIES[form]
    asked(service, body)
    answered(service, "once")
    assert service.told("agent", "POST", EVALUATION, body)["decision"] is True
    assert service.told("agent", "POST", EVALUATION, placed(body, *OTHERS[other]))["decision"] is False
    assert service.told("agent", "POST", EVALUATION, body)["decision"] is True, "nothing was used up"


@EACH_FORM
@EACH_OTHER
def test_a_denial_opens_no_question_about_anything_that_differs(
    service: Service, form: str, other: str
) -> None:
    submission = bound(service, BODIES[form])
    assert_refused(submitted(service, placed(submission, *OTHERS[other])), 400, "invalid_denial_binding")
    assert service.told("operator", "GET", "/v1/questions") == []


@EACH_FORM
@pytest.mark.parametrize("answer", ["temporary", "always"])
def test_a_longer_grant_permits_nothing_that_differs_either(service: Service, form: str, answer: str) -> None:
    body = BODIES[form]
    asked(service, body)
    answered(service, answer)
    assert service.told("agent", "POST", EVALUATION, body)["decision"] is True
    for name, (path, value) in OTHERS.items():
        told = service.told("agent", "POST", EVALUATION, placed(body, path, value))
        assert told["decision"] is False, name


@EACH_FORM
def test_the_order_of_members_unknown_fields_and_the_profiles_approval_make_no_difference(
    service: Service, form: str
) -> None:
    body = BODIES[form]
    task = asked(service, body)
    answered(service, "once")
    approval = status(service, task)["result"]["approval"]
    turned = {name: dict(reversed(body[name].items())) for name in reversed(body)}
    for same in (
        turned,
        {**body, "unknown": 1, "subject": {**body["subject"], "unknown": 1}},
        {**body, "context": {**body["context"], "approval": approval}},
        {**body, "action": {**body["action"], "properties": {"message": "tidy", "amount": 3.0}}},
    ):
        assert service.told("agent", "POST", EVALUATION, same)["decision"] is True


@EACH_FORM
def test_people_are_shown_all_that_was_evaluated_and_nothing_of_it_is_left_out(
    service: Service, form: str
) -> None:
    body = BODIES[form]
    asked(service, body)
    [question] = service.told("operator", "GET", "/v1/questions")
    shown = question["arguments"] if form == "operation" else question["arguments"]["authzen"]
    assert (shown["subject"], shown["action"], shown["context"]) == (
        body["subject"],
        body["action"],
        body["context"],
    )
    for word in ("T-1", "branch", "dev", "hosts", "red", "tidy", "a.txt", "hello", "alice"):
        assert word in question["text"], "the conversation and every other surface"


@EACH_FORM
def test_each_of_many_evaluations_is_bound_to_its_own_context_or_to_the_common_one(
    service: Service, form: str
) -> None:
    body = BODIES[form]
    many = {**body, "evaluations": [{}, {"context": {"ticket": "T-2"}}, {"context": {}}]}
    offers = [
        one["context"]["access_request"] for one in service.told("agent", "POST", MANY, many)["evaluations"]
    ]
    denials = [{name: one[name] for name in ("expires_at", "binding_token")} for one in offers]
    assert_refused(submitted(service, {**body, "denial": denials[1]}), 400, "invalid_denial_binding")
    other = {**body, "context": {"ticket": "T-2"}}
    assert_refused(submitted(service, {**other, "denial": denials[0]}), 400, "invalid_denial_binding")
    assert submitted(service, {**other, "denial": denials[1]}).status_code == 202
    answered(service, "once")
    found = service.told("agent", "POST", MANY, many)["evaluations"]
    assert [one["decision"] for one in found] == [False, True, False]


@EACH_FORM
def test_an_approval_is_used_once_and_never_by_an_evaluation(service: Service, form: str) -> None:
    body = BODIES[form]
    task = asked(service, body)
    answered(service, "once")
    for _ in range(3):
        assert service.told("agent", "POST", EVALUATION, body)["decision"] is True
    started = service.told("agent", "POST", f"/v1/calls/{task}/retry")
    assert started["status"] == "allowed"
    if form == "tool":
        assert started["call"]["args"] == body["resource"]["properties"], "the tool's own arguments"
    assert service.told("agent", "POST", f"/v1/calls/{task}/retry")["status"] == "running"
    assert service.told("agent", "POST", EVALUATION, body)["decision"] is False


def test_a_call_that_says_nothing_of_subject_and_context_uses_no_approval_of_one_that_did(
    service: Service,
) -> None:
    body = BODIES["tool"]
    task = asked(service, body)
    answered(service, "once")
    call = {"tool": "write_file", "args": body["resource"]["properties"]}
    assert service.told("agent", "POST", "/v1/calls", call)["status"] == "pending"
    claimed = {**call["args"], "authzen": {name: body[name] for name in ("subject", "action", "context")}}
    assert service.told("agent", "POST", "/v1/calls", {**call, "args": claimed})["status"] == "pending"
    assert service.told("agent", "POST", f"/v1/calls/{task}/retry")["status"] == "allowed"


@pytest.mark.parametrize("who", ["agent", "host"])
@pytest.mark.parametrize("schema", ["authzen/1", "authzen/1 tool", "authzen/"])
def test_no_caller_marks_a_call_of_its_own_as_one_that_was_evaluated(
    service: Service, who: str, schema: str
) -> None:
    call: dict[str, Any] = {"tool": "write_file", "args": {}, "schema": schema}
    if who == "host":
        call["session"] = service.opened()
    for path in ("/v1/calls", "/v1/check"):
        assert service.post(who, path, call).status_code == 422


def test_a_tool_cannot_smuggle_in_another_subject_as_an_argument(service: Service) -> None:
    forged = placed(BODIES["tool"], "resource.properties.authzen", {"subject": {"id": "bob"}})
    assert service.post("agent", EVALUATION, forged).status_code == 400


def test_a_person_who_edits_a_tools_call_edits_its_arguments_and_not_who_asks(service: Service) -> None:
    body = BODIES["tool"]
    task = asked(service, body)
    [question] = service.told("operator", "GET", "/v1/questions")
    shown = question["arguments"]
    other = {**shown, "authzen": {**shown["authzen"], "context": {}}}
    answer = f"/v1/questions/{question['id']}/answer"
    assert service.post("operator", answer, {"answer": "edit", "edited": other}).status_code == 409
    command = {"answer": "edit", "command": "ls"}
    assert service.post("operator", answer, command).status_code == 409
    given = {"answer": "edit", "edited": {**shown, "path": "b.txt"}}
    assert service.told("operator", "POST", answer, given)["yours"]
    started = service.told("agent", "POST", f"/v1/calls/{task}/retry")
    assert started["call"]["args"] == {"path": "b.txt", "text": "hello"}


POLICY = """
sayso: 1
domains:
  mail: {trust_level: high, autonomous: [read], requires_approval: [send], blocked: [burn]}
tools:
  - {tool: mail.send, operation: mail.burn, when: "has(args.context.to) && args.context.to == 'all'"}
  - {tool: mail.send, operation: mail.send}
"""


def test_a_context_under_which_the_policy_blocks_is_denied_after_an_approval_of_another(
    runner: asyncio.Runner,
) -> None:
    service = Service(open_gate(load_text(POLICY), MemoryStore(), key=KEY), runner)
    body = {**COMMIT, "action": {"name": "mail.send"}, "context": {"to": "one"}}
    asked(service, body)
    answered(service, "once")
    assert service.told("agent", "POST", EVALUATION, body)["decision"] is True
    told = service.told("agent", "POST", EVALUATION, {**body, "context": {"to": "all"}})
    assert (told["decision"], told["context"]["reason"]) == (False, "blocked")


CLAIMS: tuple[dict[str, Any], ...] = (
    {"origin": "user"},
    {"origin": "trusted_channel"},
    {"role": "operator"},
    {"session": "s_0"},
    {"agent": "other agent"},
    {"token": "sk"},
    {"user_initiated": True},
    {"parent": "op_1"},
    {"reducers": {"git.commit": "low"}},
    {"risk": "low"},
    {"confidence": 1.0},
    {"operations": ["files.read"]},
    {"command": "git status"},
    {"schema": "authzen/1"},
)  # fmt: skip


@EACH_FORM
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: "-".join(map(str, claim.items())))
def test_words_of_authority_in_a_context_are_data_that_people_see_and_allow_nothing(
    service: Service, gate: Gate, form: str, claim: dict[str, Any]
) -> None:
    body = {**BODIES[form], "context": claim}
    asked(service, body)
    [question] = service.told("operator", "GET", "/v1/questions")
    assert next(iter(claim)) in question["text"]
    assert question["agent"] == "agent"
    plain = service.told("agent", "POST", EVALUATION, BODIES[form])["context"]["sayso"]
    told = service.told("agent", "POST", EVALUATION, body)
    assert (told["decision"], told["context"]["sayso"]) == (False, plain)
