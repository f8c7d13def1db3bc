"""Passkeys in a real browser, with an authenticator that Chromium plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import CDPSession, Page, expect

from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.people.passkeys import list_passkeys
from sayso.gate.questions.wait import load_question_row
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import expect_open

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def device(page: Page) -> tuple[CDPSession, str]:
    """Give this browser an authenticator."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return session, str(made["authenticatorId"])


def with_passkey(page: Page, desk: Desk) -> tuple[CDPSession, str]:
    """Register a passkey on the page, as a person would."""
    made = device(page)
    page.goto(f"{desk.url}/passkeys")
    page.get_by_label("Name").fill("test desk")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("cell", name="test desk", exact=True)).to_be_visible()
    page.goto(desk.url)
    return made


def test_a_passkey_is_added_signs_in_and_is_removed(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    with_passkey(page, desk)
    assert [one.name for one in list_passkeys(desk.gate, "ana")] == ["test desk"]
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{desk.url}/passkeys")
    page.get_by_role("button", name="Remove: test desk").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()  # it was signed in by that passkey
    assert list_passkeys(desk.gate) == []


def test_an_answer_of_high_risk_is_signed_and_the_trail_proves_it(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    with_passkey(page, desk)
    question = desk.push(desk.session())
    expect(page.locator(".card")).to_contain_text("git push --force")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(f"[data-id='{question}']")).to_have_count(0)
    row = load_question_row(desk.gate, question)
    assert (row.answer, row.by) == ("once", "ana")
    with desk.gate.store.read() as tx:
        (entry,) = [one for one in tx.entries("main") if one.event == "ANSWERED"]
    assert b'"proof":{"authenticator_data"' in (entry.body or b"")
    assert verify_audit(desk.gate).clean


def test_a_signature_on_another_digest_is_refused_and_nothing_is_allowed(
    desk: Desk, signed_in: SignedIn
) -> None:
    page = signed_in()
    with_passkey(page, desk)
    session = desk.session()
    question = desk.push(session)
    other = desk.ask(session, "git.push_force", command="git push --force origin release")
    expect(page.locator(".list button")).to_have_count(2)
    page.route(
        f"**/v1/questions/{question}/challenge",
        lambda route: route.continue_(
            url=route.request.url.replace(question, other), post_data='{"answer":"once"}'
        ),
    )
    page.locator(f"[data-id='{question}']").click()
    expect(page.locator(".card")).to_contain_text("origin main")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator("#said")).to_contain_text("signed for something else")
    expect_open(desk, page, question)
    assert verify_audit(desk.gate).clean


def test_who_cannot_be_verified_signs_nothing(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    session, name = with_passkey(page, desk)
    session.send("WebAuthn.setUserVerified", {"authenticatorId": name, "isUserVerified": False})
    question = desk.push(desk.session())
    expect(page.locator(".card")).to_contain_text("git push --force")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator("#said")).to_contain_text("the passkey was not used")
    expect_open(desk, page, question)


def test_at_a_bare_address_the_page_says_where_passkeys_work(desk: Desk, window: Callable[..., Page]) -> None:
    page: Any = window()
    page.goto(desk.link().replace("localhost", "127.0.0.1"))
    expect(page.locator("#line")).to_have_text("live")
    page.goto(f"{desk.url.replace('localhost', '127.0.0.1')}/passkeys")
    expect(page.get_by_text("http://localhost:")).to_be_visible()
    expect(page.get_by_role("button", name="Add a passkey")).to_have_count(0)
