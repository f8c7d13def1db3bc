"""Signing in with a real provider, a certified one in a process of its own, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect

from sayso.gate.open import open_gate
from sayso.gate.questions.wait import load_question_now
from sayso.policy import load_text
from sayso.service.providers.settings_file import GroupsSettings, ProviderSettings
from sayso.store.memory.store import MemoryStore
from tests.browser.conftest import Watch
from tests.browser.desk import Desk, serving
from tests.browser.test_pages import no_violations
from tests.browser.test_passkeys import with_passkey
from tests.support.gates import KEY
from tests.support.real_provider import CLIENT, SECRET, RealProvider, real_provider

Window = Callable[..., Page]
TEAM = """
extends: [coding]
people:
  ana: {groups: [leads], ids: ["oidc:corp/ana.1"]}
  bo: {groups: [leads], ids: ["email:corp/bo@example.com"]}
  cy: {groups: [leads], ids: ["oidc:corp/cy.3"]}
approvals:
  - {domain: git, risk: high, from: [leads], needed: 2}
"""
ACCOUNTS = {
    "ana.1": {"email": "ana@example.com", "email_verified": True, "groups": ["staff", "sayso-leads"]},
    "bo.2": {"email": "bo@example.com", "email_verified": True, "groups": ["sayso-leads"]},
    "cy.3": {"email": "cy@example.com", "email_verified": True, "groups": ["staff"]},
    "bo.fake": {"email": "bo@example.com", "email_verified": False, "groups": ["sayso-leads"]},
}
GROUPS = GroupsSettings("groups", {"leads": "sayso-leads"})


class Corp(msgspec.Struct, frozen=True):
    desk: Desk
    provider: RealProvider

    def entries(self, event: str) -> list[dict[str, Any]]:
        with self.desk.gate.store.read() as tx:
            return [json.loads(one.body or b"{}") for one in tx.entries("main") if one.event == event]


@pytest.fixture(scope="module")
def provider() -> Iterator[RealProvider]:
    with real_provider() as running:
        yield running


@pytest.fixture
def corp(provider: RealProvider, watch: Watch) -> Iterator[Corp]:
    with closing(MemoryStore(clock=watch)) as store:
        scopes = ("openid", "email", "groups")
        settings = ProviderSettings(
            "corp", provider.issuer, CLIENT, SECRET, label="Example Corp", scopes=scopes, groups=GROUPS
        )
        gate = open_gate(load_text(TEAM), store, key=KEY)
        with serving(gate, [settings]) as desk:
            provider.serve(f"{desk.url}/sign-in/corp", accounts=ACCOUNTS)
            yield Corp(desk, provider)


@pytest.fixture
def desk(corp: Corp) -> Desk:
    return corp.desk


def go_to_provider(page: Page, corp: Corp) -> None:
    page.goto(corp.desk.url)
    page.get_by_role("button", name="Sign in with Example Corp").click()
    page.wait_for_url(f"{corp.provider.issuer}/**")


def sign_in_there(page: Page, account: str) -> None:
    """Fill in the provider's own forms."""
    page.get_by_placeholder("Enter any login").fill(account)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def sign_in(page: Page, corp: Corp, account: str) -> None:
    go_to_provider(page, corp)
    sign_in_there(page, account)


def hold_allow(page: Page) -> None:
    button = page.get_by_role("button", name="Hold to allow once")
    expect(button).to_be_enabled()
    button.click(delay=2_500)


def test_two_people_sign_in_approve_and_are_named(corp: Corp, window: Window) -> None:
    question = corp.desk.push(corp.desk.session())
    ana, bo = window(), window()
    for page, account in ((ana, "ana.1"), (bo, "bo.2")):
        sign_in(page, corp, account)
        expect(page.locator("#line")).to_have_text("live")
        expect(page).to_have_url(f"{corp.desk.url}/")
        hold_allow(page)
        expect(page.locator(".approvals, .state").first).to_be_visible()
    expect(bo.get_by_text("Nothing waits for you")).to_be_visible()
    row = load_question_now(corp.desk.gate, question)
    assert (row.state, row.by) == ("answered", "ana and bo")
    told = [one["details"] for one in corp.entries("SIGNED_IN")]
    assert told == [
        {"name": "ana", "by": "provider", "identity": "oidc:corp/ana.1"},
        {"name": "bo", "by": "provider", "identity": "email:corp/bo@example.com"},
    ]
    answers = json.dumps([*corp.entries("APPROVED"), *corp.entries("ANSWERED")])
    assert "oidc:corp/ana.1" in answers
    assert "email:corp/bo@example.com" in answers


@pytest.mark.parametrize(
    ("account", "why"),
    [
        ("stranger", "The policy names nobody as"),
        ("bo.fake", "The policy names nobody as"),
        ("cy.3", "The policy knows you as"),
    ],
)
def test_somebody_whom_the_policy_or_the_provider_does_not_vouch_for_stays_out(
    corp: Corp, window: Window, account: str, why: str
) -> None:
    """Unknown; an address that is not verified; and a group of the policy that nobody confirms."""
    page = window()
    sign_in(page, corp, account)
    expect(page.get_by_role("heading", name="You are not signed in")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text(f"{why} oidc:corp/{account}")
    expect(page.get_by_role("button", name="Sign in with Example Corp")).to_be_visible()
    assert corp.entries("SIGNED_IN") == []
    no_violations(page)


def test_the_code_leaves_the_address_and_is_worth_nothing_again(corp: Corp, window: Window) -> None:
    page, thief = window(), window()
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    sign_in(page, corp, "ana.1")
    expect(page.locator("#line")).to_have_text("live")
    assert page.evaluate("document.cookie") == ""
    (stolen,) = [one for one in seen if one.startswith(f"{corp.desk.url}/sign-in/corp?")]
    for browser in (thief, page):
        browser.goto(stolen)
        expect(browser.get_by_role("heading", name="You are not signed in")).to_be_visible()
        assert "code=" not in browser.url
    assert len(corp.entries("SIGNED_IN")) == 1


def test_who_turns_back_at_the_provider_is_told_so(corp: Corp, window: Window) -> None:
    page = window()
    go_to_provider(page, corp)
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("heading", name="You are not signed in")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The provider signed nobody in")


def test_a_passkey_is_bound_to_the_person_and_signs_answers_but_nobody_in(corp: Corp, window: Window) -> None:
    page = window()
    sign_in(page, corp, "ana.1")
    expect(page.locator("#line")).to_have_text("live")
    with_passkey(page, corp.desk)
    question = corp.desk.push(corp.desk.session())
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".approvals")).to_contain_text("1 of 2")
    assert load_question_now(corp.desk.gate, question).state == "open"
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator("#said")).to_contain_text("cannot sign you in")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.mark.parametrize("size", [(1280, 800), (360, 740)], ids=["desk", "phone"])
def test_the_sign_in_page_offers_the_provider_beside_the_link(
    corp: Corp, window: Window, size: tuple[int, int]
) -> None:
    page = window(viewport={"width": size[0], "height": size[1]})
    page.goto(corp.desk.url)
    button = page.get_by_role("button", name="Sign in with Example Corp")
    expect(button).to_be_visible()
    expect(page.get_by_text("sayso link")).to_be_visible()
    box = button.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    no_violations(page)
