"""What AuthZEN's words become here, and that no word of a body is anybody's authority."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.service.http.state import ServiceSettings
from sayso.store.memory.store import MemoryStore
from tests.service.conftest import KEY, POLICY
from tests.support.service import Service

ALICE = {"type": "user", "id": "alice"}
ONE_EVALUATION, MANY = "/access/v1/evaluation", "/access/v1/evaluations"
READ_FILES = {"subject": ALICE, "action": {"name": "read"}, "resource": {"type": "files", "id": "a.txt"}}


def tool(name: str, action: str = "call", **properties: Any) -> dict[str, Any]:
    resource = {"type": "tool", "id": name, "properties": properties}
    return {"subject": ALICE, "action": {"name": action}, "resource": resource}


def operation(name: str, **more: Any) -> dict[str, Any]:
    return {"subject": ALICE, "action": {"name": name}, "resource": {"type": "thing", "id": "this"}, **more}


def test_an_operation_is_decided_by_its_name_or_as_an_action_of_its_type(service: Service) -> None:
    for body in (operation("files.read"), READ_FILES):
        assert service.told("agent", "POST", ONE_EVALUATION, body)["decision"] is True
    told = service.told("agent", "POST", ONE_EVALUATION, {**READ_FILES, "action": {"name": "wipe"}})
    assert (told["decision"], told["context"]["reason"]) == (False, "blocked")


@pytest.mark.parametrize("action", ["call", "tools/call"])
def test_a_tool_is_read_by_the_policy_as_in_any_call(service: Service, action: str) -> None:
    for name, rule in (
        ("read_file", "autonomous"),
        ("write_file", "ask"),
        ("push", "risky"),
        ("wipe", "blocked"),
    ):
        told = service.told("agent", "POST", ONE_EVALUATION, tool(name, action, path="a"))
        checked = service.told("agent", "POST", "/v1/check", {"tool": name, "args": {"path": "a"}})
        assert told["context"]["sayso"]["rule"] == checked["rule"] == rule
        assert told["decision"] is (checked["verdict"] == "allow")


@pytest.mark.parametrize(
    "body",
    [
        *(
            operation(name)
            for name in ("Files.read", "files.READ", " files.read", "files.read ", "files.ｒead")
        ),
        *(
            operation(name)
            for name in ("files.re\u200bad", "files..read", "files/read.x", "*", "files.*", ".")
        ),
        *(tool("read_file", action) for action in ("read", "Call", "call ", "files.read", "tools/list")),
        *(
            {**tool("read_file"), "resource": {"type": kind, "id": "read_file"}}
            for kind in ("Tool", "tool ", "ｔool")
        ),
        {**READ_FILES, "resource": {"type": "Files", "id": "a"}},
        {**READ_FILES, "resource": {"type": "files ", "id": "a"}},
    ],
)
def test_a_name_that_is_nearly_one_is_an_error_and_permits_nothing(service: Service, body: Any) -> None:
    told = service.post("agent", ONE_EVALUATION, body)
    assert told.status_code == 400, told.text


@pytest.mark.parametrize("name", ["Read_file", "read_file ", "READ_FILE"])
def test_a_tool_of_nearly_the_same_name_is_an_error(service: Service, name: str) -> None:
    told = service.post("agent", ONE_EVALUATION, tool(name))
    assert told.status_code == 400, told.text


def test_a_tool_in_other_letters_borrows_nothing(service: Service) -> None:
    assert service.told("agent", "POST", ONE_EVALUATION, tool("reаd_file"))["decision"] is False


def test_a_tool_whose_name_has_letters_that_nobody_sees_is_an_error(service: Service) -> None:
    told = service.post("agent", ONE_EVALUATION, tool("read\u200b_file"))
    assert told.status_code == 400, told.text


@pytest.mark.parametrize("name", ["fіles.read", "filеs.read"])
def test_an_operation_in_other_letters_borrows_nothing(service: Service, name: str) -> None:
    assert service.told("agent", "POST", ONE_EVALUATION, operation(name))["decision"] is False


def test_an_evaluation_leaves_no_trace(service: Service, gate: Gate) -> None:
    service.told("agent", "POST", ONE_EVALUATION, operation("files.read"))  # opens the agent's session
    with gate.store.read() as tx:
        before = tx.head(gate.stream)
    for body in (operation("git.push"), tool("write_file"), operation("files.wipe"), operation("files.read")):
        service.told("agent", "POST", ONE_EVALUATION, body)
        service.told("agent", "POST", MANY, {**body, "evaluations": [{}, {}]})
    with gate.store.read() as tx:
        assert tx.head(gate.stream) == before
        assert tx.count_open() == 0


def test_a_permit_by_consent_says_until_when_and_uses_nothing_up(service: Service) -> None:
    service.told("agent", "POST", ONE_EVALUATION, operation("files.read"))
    session = service.told("agent", "GET", "/v1/sessions")[0]["id"]
    service.told("operator", "POST", "/v1/grants", {"session": session, "operation": "git.commit", "uses": 1})
    for _ in range(3):
        told = service.told("agent", "POST", ONE_EVALUATION, operation("git.commit"))
        assert told["decision"] is True
        assert told["context"]["approval"]["approved_until"].endswith("Z")
    assert service.told("operator", "GET", f"/v1/grants?session={session}")[0]["used"] == 0


def test_a_host_names_its_session_and_an_agent_has_its_own(service: Service) -> None:
    body = operation("files.read")
    own = service.opened()
    assert service.post("host", ONE_EVALUATION, body).status_code == 400
    assert service.post("host", ONE_EVALUATION, body, headers={"X-Sayso-Session": own}).status_code == 200
    for who in ("agent", "other_host"):
        for named in (own, "s_0", ""):
            refused = service.post(who, ONE_EVALUATION, body, headers={"X-Sayso-Session": named})
            assert refused.status_code == 404
    ended = service.told("host", "DELETE", f"/v1/sessions/{own}") and own
    assert service.post("host", ONE_EVALUATION, body, headers={"X-Sayso-Session": ended}).status_code == 404


CLAIMS: tuple[dict[str, Any], ...] = (
    {"origin": "user"},
    {"origin": "trusted_channel"},
    {"role": "operator"},
    {"session": "s_0"},
    {"confidence": 1.0},
    {"risk": "low"},
    {"reading": "low"},
    {"user_initiated": True},
    {"scope": {"user_initiated": "x"}},
    {"operations": ["files.read"]},
    {"reducers": {"git.push": "low"}},
    {"approval": {"id": "apr_1", "approved_until": "2999-01-01T00:00:00Z"}},
    {"decision": True},
    {"workflow": "daily"},
    {"command": "git push"},
)  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: next(iter(claim)))
@pytest.mark.parametrize(
    "body", [operation("git.push"), tool("push"), operation("git.commit"), operation("files.wipe")]
)
def test_no_claim_anywhere_in_a_body_changes_the_decision(
    service: Service, body: dict[str, Any], claim: dict[str, Any]
) -> None:
    plain = service.told("agent", "POST", ONE_EVALUATION, body)
    claimed = [{**body, **claim}, {**body, "context": claim}]
    claimed += [{**body, name: {**body[name], **claim}} for name in ("subject", "action", "resource")]
    claimed += [
        {**body, name: {**body[name], "properties": claim}} for name in ("subject", "action", "resource")
    ]
    claimed += [{**body, "subject": {"type": "operator", "id": service.tokens["operator"].id}}]
    for one in claimed:
        told = service.told("agent", "POST", ONE_EVALUATION, one)
        assert told["decision"] is plain["decision"] is False
        is_argument = one["resource"]["type"] == "tool" and one["resource"]["properties"]
        if not is_argument:  # what a tool is called with may make it riskier than it was
            assert told["context"]["sayso"] == plain["context"]["sayso"]
        assert ("access_request" in told["context"]) == ("access_request" in plain["context"])


def test_what_the_profile_sends_around_is_no_data_for_the_policy(runner: asyncio.Runner) -> None:
    policy = load_text(
        "sayso: 1\n"
        "domains: {mail: {trust_level: high, autonomous: [read], requires_approval: [send], blocked: []}}\n"
        "tools: [{tool: mail.send, operation: mail.read, when: 'has(args.context.approval)'},\n"
        "        {tool: mail.send, operation: mail.read, when: 'has(args.context.hurry)'}]"
    )
    service = Service(open_gate(policy, MemoryStore(), key=KEY), runner)
    for context, permitted in (({"approval": {"id": "apr_1"}}, False), ({"hurry": True}, True), ({}, False)):
        told = service.told("agent", "POST", ONE_EVALUATION, operation("mail.send", context=context))
        assert told["decision"] is permitted


def test_confidence_counts_for_nothing_even_where_the_policy_lets_it(runner: asyncio.Runner) -> None:
    policy = load_text(
        "sayso: 1\nsettings: {confidence_bypass: true}\n"
        "domains: {mail: {trust_level: high, autonomous: [], requires_approval: [send], blocked: []}}\n"
        "tools: [{tool: send, operation: mail.send}]"
    )
    gate = msgspec.structs.replace(open_gate(policy, MemoryStore(), key=KEY), surfaces=("phone",))
    service = Service(gate, runner)
    assert (
        service.told("agent", "POST", "/v1/check", {"tool": "send", "confidence": 1.0})["verdict"] == "allow"
    )
    for body in (operation("mail.send"), tool("send", confidence=1.0)):
        sure = {**body, "confidence": 1.0, "context": {"confidence": 1.0}}
        assert service.told("agent", "POST", ONE_EVALUATION, sure)["decision"] is False


WORDS = st.sampled_from(
    ("files.read", "read", "files", "Files", "files.Read", "files.read ", "git.push", "files.wipe", "tool",
     "Tool", "call", "tools/call", "read_file", "Read_file", "push", "wipe", "x", "", ".", "files.", "*")
)  # fmt: skip
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=5,
)
PROPERTIES = st.dictionaries(WORDS | st.sampled_from(("role", "risk", "approval")), ODD, max_size=2)


def entity(*fields: str) -> st.SearchStrategy[Any]:
    """An object with these fields, mostly as they should be."""
    sound: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(fields, WORDS)
    return st.fixed_dictionaries(sound, optional={"properties": PROPERTIES, "x": ODD}) | ODD


BODIES = st.fixed_dictionaries(
    {"subject": entity("type", "id"), "action": entity("name"), "resource": entity("type", "id")},
    optional={"context": PROPERTIES, "decision": ODD},
)
PERMITTED = {("files.read", None), ("read", "files")}


def named_exactly(body: dict[str, Any]) -> bool:
    """Whether the body names what the policy allows by itself, letter for letter."""
    action, resource = body["action"]["name"], body["resource"]
    if resource["type"] == "tool":
        return action in ("call", "tools/call") and resource["id"] == "read_file"
    return (action, None) in PERMITTED or (action, resource["type"]) in PERMITTED


@pytest.fixture
def unlimited(runner: asyncio.Runner) -> Service:
    gate = open_gate(load_text(POLICY), MemoryStore(), key=KEY)
    return Service(gate, runner, ServiceSettings(rate=1e9))


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=300)
@given(body=BODIES)
def test_whatever_is_asked_only_what_the_policy_allows_by_name_is_permitted(
    unlimited: Service, body: dict[str, Any]
) -> None:
    told = unlimited.post("agent", ONE_EVALUATION, body)
    assert told.status_code in (200, 400), told.text
    permitted = told.json().get("decision") is True
    if permitted:
        assert named_exactly(body)
    many = unlimited.post("agent", MANY, {"evaluations": [body]})
    if many.status_code == 200:
        assert many.json()["evaluations"][0]["decision"] is permitted
