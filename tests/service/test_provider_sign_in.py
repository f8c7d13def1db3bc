"""Who signed in with a provider: their name in answers and in the audit, and how their sign-in ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.team import IdentityProvider
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.browsers import make_link, page_key, use_link
from sayso.gate.people.passkeys import list_passkeys
from sayso.gate.people.push import live_subscriptions, subscribe
from sayso.gate.policy.acting_policy import PolicySource
from sayso.policy import read_file
from sayso.service.http.auth import COOKIE, PAGE
from sayso.service.providers.settings_file import GroupsSettings, ProvidersRefused, load_provider_settings
from tests.service.conftest import POLICY
from tests.support.authenticator import Authenticator
from tests.support.gates import KEY, Clock, embedded
from tests.support.providers import ORIGIN, ProviderPlace
from tests.support.rows import each_row
from tests.support.service import PUSH

TEAM = """
people:
  ana: {groups: [leads], ids: ["oidc:corp/248289761001"]}
  bo: {groups: [leads], ids: ["email:corp/bo@example.com", page:bo]}
  cy: {groups: [leads], ids: [page:ana]}
approvals:
  - {domain: git, risk: high, from: [leads], needed: 2}
"""
BO = {"sub": "2", "email": "bo@example.com"}
Headers = dict[str, str]


class Team(ProviderPlace):
    """A service under a policy file that a test rewrites."""

    def __init__(self, *given: Any, file: Path, **more: Any) -> None:
        super().__init__(*given, **more)
        self.file = file

    def rewrite(self, *pairs: tuple[str, str]) -> None:
        text = self.file.read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        self.file.write_text(text)

    def sign_in(self, **claims: Any) -> Headers:
        told = self.attempt(**claims)
        assert told.status_code == 200, told.text
        return {"Cookie": f"{COOKIE}={told.cookies[COOKIE]}", PAGE: told.json()["page"], "Origin": ORIGIN}

    def link(self, name: str) -> Headers:
        browser = use_link(self.gate, make_link(self.gate, name))
        return {"Cookie": f"{COOKIE}={browser}", PAGE: page_key(self.gate, browser), "Origin": ORIGIN}

    def answer(self, who: Headers, question: str, given: str = "once", **more: Any) -> Any:
        seen = self.service.told("operator", "GET", f"/v1/questions/{question}")["digest"]
        body = {"answer": given, "digest": seen, **more}
        return self.service.post(None, f"/v1/questions/{question}/answer", body, headers=who)

    def status(self, who: Headers, path: str = "/v1/questions") -> int:
        return self.service.get(None, path, headers=who).status_code

    def register(self, who: Headers, device: Authenticator) -> Any:
        options = self.service.told(None, "POST", "/v1/passkeys/options", headers=who)
        body = {"name": "desk", "credential": device.create(options)}
        return self.service.post(None, "/v1/passkeys", body, headers=who)


Opened = Callable[..., Team]


@pytest.fixture
def opened(store_kind: str, clock: Clock, tmp_path: Path) -> Iterator[Opened]:
    made: list[Team] = []
    with embedded(store_kind, tmp_path, clock) as store, asyncio.Runner() as runner:

        def open_team(groups: GroupsSettings | None = None) -> Team:
            file = tmp_path / "policy.yaml"
            file.write_text(POLICY + TEAM)
            gate = open_gate(read_file(file).policy, store, key=KEY, source=PolicySource(file))
            made.append(Team(gate, runner, clock, groups, file=file))
            return made[-1]

        yield open_team
        for one in made:
            one.stop()


@pytest.fixture
def team(opened: Opened) -> Team:
    return opened()


def entries(gate: Gate, event: str) -> list[Any]:
    with gate.store.read() as tx:
        return [json.loads(one.body or b"{}") for one in tx.entries("main") if one.event == event]


def test_an_answer_counts_for_the_person_whom_the_provider_proved(team: Team) -> None:
    question = team.service.asked("agent", PUSH)
    first = team.answer(team.sign_in(), question).json()
    assert (first["state"], first["missing"]) == ("open", "1 of 2, waits for leads: bo or cy")
    assert team.answer(team.sign_in(**BO), question).json()["by"] == "ana and bo"
    told = json.dumps(entries(team.gate, "APPROVED") + entries(team.gate, "ANSWERED"))
    assert "oidc:corp/248289761001" in told
    assert "email:corp/bo@example.com" in told


def test_a_name_in_a_link_is_not_the_person_of_that_name(team: Team) -> None:
    """`page:ana` is declared as cy's: whoever signs in as ana by a link is cy, and the other ana is not."""
    question = team.service.asked("agent", PUSH)
    team.answer(team.link("ana"), question)
    shown = team.service.told("operator", "GET", f"/v1/questions/{question}")["approvals"]
    assert shown["approved"] == ["cy"]
    team.answer(team.sign_in(), question)
    shown = team.service.told("operator", "GET", f"/v1/questions/{question}")
    assert shown["state"] == "answered"
    assert shown["by"] == "cy and ana"


def test_whoever_asked_in_a_browser_does_not_approve_it_whichever_way_they_signed_in(team: Team) -> None:
    ana = team.sign_in()
    session = team.service.told(None, "POST", "/v1/sessions", {"agent": "bot"}, headers=ana)["id"]
    call = {**PUSH, "session": session}
    question = team.service.told(None, "POST", "/v1/calls", call, headers=ana)["question"]
    assert team.answer(ana, question).json()["code"] == "not_approver"


def test_signing_out_ends_it_at_once(team: Team) -> None:
    ana = team.sign_in()
    assert team.status(ana) == 200
    assert team.service.post(None, "/sign-out", headers=ana).status_code == 204
    assert team.status(ana) == 401


TAKEN_OUT = {
    "the person": ('  ana: {groups: [leads], ids: ["oidc:corp/248289761001"]}\n', ""),
    "the id": ('"oidc:corp/248289761001"', "account:ana"),
    "another's now": ('["oidc:corp/248289761001"]', "[account:ana]"),
}


@pytest.mark.parametrize("change", TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_who_is_taken_out_of_the_policy_is_signed_out_at_once(team: Team, change: tuple[str, str]) -> None:
    ana, bo = team.sign_in(), team.sign_in(**BO)
    question = team.service.asked("agent", PUSH)
    assert team.answer(ana, question).json()["state"] == "open"
    team.rewrite(change)
    assert team.status(ana) == 401
    assert team.status(ana, "/signed-in") == 401
    assert team.answer(ana, question, "deny").status_code == 401
    assert team.status(bo) == 200
    shown = team.service.told("operator", "GET", f"/v1/questions/{question}")["approvals"]
    assert shown["approved"] == []
    told = team.attempt()
    assert (told.status_code, told.json()["code"]) == (403, "not_on_team")


def test_who_is_put_back_has_to_wait_until_the_operator_applies_it(team: Team) -> None:
    ana = team.sign_in()
    line = TAKEN_OUT["the person"][0]
    team.rewrite((line, ""))
    assert team.status(ana) == 401
    team.rewrite(("people:\n", "people:\n" + line))
    assert team.status(ana) == 401
    assert team.attempt().status_code == 403


def test_a_listener_who_is_taken_out_hears_nothing_more(team: Team) -> None:
    ana = team.sign_in()

    async def listen() -> None:
        async with team.service.streaming(None, "/v1/events", ana) as stream:
            assert (await stream.event())[0] == "hello"
            team.rewrite(TAKEN_OUT["the person"])
            for _ in range(3):  # whoever acts next finds the file
                await team.service.ask("operator", "GET", "/v1/questions")
            async with asyncio.timeout(10):
                await stream.over.wait()

    team.service.runner.run(listen())


def test_a_browser_that_was_told_of_questions_is_told_no_more(team: Team) -> None:
    ana = team.sign_in()
    secret = ana["Cookie"].partition("=")[2]
    subscribe(team.gate, secret, "https://push.example/1", "p", "a")
    assert len(live_subscriptions(team.gate)) == 1
    team.rewrite(TAKEN_OUT["the person"])
    assert live_subscriptions(team.gate) == []


OTHERS = {
    "gone": {},
    "another issuer": {"corp": IdentityProvider("https://other.example")},
    "another name": {"corps": IdentityProvider("")},
}


@each_row("providers", OTHERS.values(), ids=OTHERS)
def test_a_sign_in_ends_with_the_provider_in_the_settings(
    team: Team, providers: dict[str, IdentityProvider]
) -> None:
    """As after a restart with other settings."""
    ana = team.sign_in()
    assert team.status(ana) == 200
    before = team.service.running.gate
    team.service.running.gate = msgspec.structs.replace(before, providers=providers)
    assert team.status(ana) == 401
    team.service.running.gate = before


GROUPS = GroupsSettings("groups", {"leads": "idp-leads"})


@each_row(
    "groups",
    [None, [], ["leads"], ["IDP-leads"], "idp-leads", {"idp-leads": True}, [["idp-leads"]], ["idp-leads "]],
)
def test_a_group_that_the_provider_has_to_confirm_and_does_not(opened: Opened, groups: Any) -> None:
    assert opened(GROUPS).attempt(groups=groups).json()["code"] == "not_on_team"


def test_groups_of_a_claim_never_widen_what_the_policy_declares(opened: Opened) -> None:
    """Confirmed, ana is in the groups that the policy puts her in, whatever else the claim names."""
    team = opened(GROUPS)
    team.rewrite(("ana: {groups: [leads]", "ana: {groups: []"))
    ana = team.sign_in(groups=["idp-leads", "leads", "oncall"])
    team.clock.now += 1  # what was tightened in this very second is not approved
    question = team.service.asked("agent", PUSH)
    told = team.answer(ana, question).json()
    assert told["code"] == "not_approver"


def test_a_group_that_the_policy_adds_later_has_to_be_confirmed_too(opened: Opened) -> None:
    team = opened(GROUPS)
    confirmed = team.sign_in(groups=["idp-leads", "other"])
    assert team.status(confirmed) == 200
    gate = team.service.running.gate
    wider = {"corp": IdentityProvider(team.provider.url, {"leads": "other-leads"})}
    team.service.running.gate = msgspec.structs.replace(gate, providers=wider)
    assert team.status(confirmed) == 401


def test_a_passkey_of_who_signed_in_so_signs_their_answers_and_nobody_elses(team: Team) -> None:
    ana, namesake = team.sign_in(), team.link("ana")
    device, other = Authenticator(), Authenticator()
    assert team.register(ana, device).status_code == 201
    assert team.register(namesake, other).status_code == 201
    assert len(team.service.told(None, "GET", "/v1/passkeys", headers=ana)["passkeys"]) == 1
    question = team.service.asked("agent", PUSH)
    assert team.answer(ana, question).json()["code"] == "proof_needed"
    for who, used in ((ana, other), (namesake, device)):
        assert team.answer(who, question, proof=proof(team, who, used, question)).status_code == 403
    told = team.answer(ana, question, proof=proof(team, ana, device, question))
    assert (told.status_code, told.json()["state"]) == (200, "open")


def test_such_a_passkey_signs_nobody_in_and_another_removes_it_not(team: Team) -> None:
    ana, namesake = team.sign_in(), team.link("ana")
    device = Authenticator()
    made = team.register(ana, device).json()
    options = team.service.told(None, "POST", "/v1/sign-in/options")
    told = team.service.post(None, "/v1/sign-in", msgspec.to_builtins(device.get(options)))
    assert (told.status_code, told.json()["code"]) == (403, "sign_in_refused")
    path = f"/v1/passkeys/{made['id']}"
    assert team.service.request(None, "DELETE", path, headers=namesake).status_code == 404
    assert team.service.request(None, "DELETE", path, headers=ana).status_code == 200
    assert list_passkeys(team.gate) == []


def proof(team: Team, who: Headers, device: Authenticator, question: str) -> Any:
    """What this device signs for an answer to this question."""
    seen = team.service.told("operator", "GET", f"/v1/questions/{question}")["digest"]
    path = f"/v1/questions/{question}/challenge"
    options = team.service.told(None, "POST", path, {"answer": "once", "digest": seen}, headers=who)
    return msgspec.to_builtins(device.get(options))


def test_the_page_lists_the_providers_and_no_secret(team: Team) -> None:
    told = team.service.get(None, "/sign-in-providers")
    assert told.json() == [{"name": "corp", "label": "Example Corp"}, {"name": "other", "label": "other"}]
    page = team.service.get(None, "/sign-in/corp?code=x&state=y")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["referrer-policy"] == "no-referrer"


# --- the operator's file ---

WHOLE = {
    "name": "corp",
    "issuer": "https://login.example",
    "client_id": "sayso",
    "client_secret": "hush-hush",
}
HALF = [
    ({"issuer": None}, "issuer"),
    ({"client_id": None}, "client_id"),
    ({"client_id": ""}, "client_id"),
    ({"client_secret": None}, "client_secret"),
    ({"public": True}, "public"),
    ({"issuer": "http://login.example"}, "issuer"),
    ({"issuer": "https://login.example/?a=b"}, "issuer"),
    ({"issuer": "https://me@login.example"}, "issuer"),
    ({"issuer": "login.example"}, "issuer"),
    ({"name": "Corp"}, "Corp"),
    ({"name": "a/b"}, "a/b"),
    ({"client_secret": "hush-hush\n"}, "client_secret"),
    ({"scopes": ["email"]}, "scopes"),
    ({"scopes": "openid"}, "scopes"),
    ({"label": "x" * 41}, "label"),
    ({"groups": {"claim": "", "names": {"a": "b"}}}, "groups"),
    ({"groups": {"claim": "groups", "names": {}}}, "groups"),
    ({"groups": {"claim": "groups"}}, "names"),
    ({"redirect": "https://evil.example"}, "redirect"),
]


def write(folder: Path, *providers: dict[str, Any], mode: int = 0o600) -> Path:
    file = folder / "oidc.json"
    file.write_text(json.dumps(providers))
    file.chmod(mode)
    return file


@each_row(("change", "named"), HALF)
def test_a_half_configuration_is_refused_by_what_it_lacks(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    whole = {name: value for name, value in {**WHOLE, **change}.items() if value is not None}
    with pytest.raises(ProvidersRefused, match=named) as refused:
        load_provider_settings(write(tmp_path, whole))
    assert "hush" not in str(refused.value)


def test_a_whole_configuration_is_read_and_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (found,) = load_provider_settings(write(tmp_path, WHOLE))
    assert (found.shown, found.identity_provider) == ("corp", IdentityProvider("https://login.example"))
    with pytest.raises(ProvidersRefused, match="others can read"):
        load_provider_settings(write(tmp_path, WHOLE, mode=0o644))
    with pytest.raises(ProvidersRefused, match="two providers"):
        load_provider_settings(write(tmp_path, WHOLE, WHOLE))
    assert load_provider_settings(tmp_path / "none.json") == ()
