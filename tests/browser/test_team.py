"""Two people approve one call on their pages: each sees how far it is, while they look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Locator, Page, expect

from sayso.gate.open import open_gate
from sayso.gate.people.team_view import load_team_view
from sayso.gate.questions.wait import load_question_now
from sayso.store.memory.store import MemoryStore
from tests.browser.conftest import SignedIn, Watch
from tests.browser.desk import Desk, serving
from tests.support.gates import KEY
from tests.support.teams import team_policy

HELD_FOR = 2_500
LABELLED = """([text, label]) => [...document.querySelectorAll("td")].some(
  (cell) => cell.textContent === text && getComputedStyle(cell, "::before").content === label)"""


@pytest.fixture
def desk(watch: Watch) -> Iterator[Desk]:
    """The usual desk, with a team."""
    with (
        closing(MemoryStore(clock=watch)) as store,
        serving(open_gate(team_policy(), store, key=KEY)) as made,
    ):
        yield made


def hold_allow(page: Page) -> None:
    button = page.get_by_role("button", name="Hold to allow once")
    expect(button).to_be_enabled()
    button.click(delay=HELD_FOR)


def approvals(page: Page) -> Locator:
    return page.locator(".approvals")


def test_approvals_of_others_appear_while_a_question_is_read(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.ask(desk.session(), "bank.pay", tool="pay", args={"amount": 5})
    ana, bo = signed_in(name="ana"), signed_in(name="bo")
    expect(approvals(bo)).to_contain_text("0 of 2, waits for finance: ana, bo or cy")
    hold_allow(ana)
    expect(approvals(bo)).to_contain_text("1 of 2, waits for finance: bo or cy (approved: ana)")
    expect(approvals(ana)).to_contain_text("An allow from you does not count: ana has approved this")
    expect(ana.get_by_role("button", name="Hold to allow once")).to_have_count(0)
    assert load_question_now(desk.gate, question).state == "open"
    hold_allow(bo)
    expect(bo.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_now(desk.gate, question).state == "answered"


def test_whoever_approved_can_still_deny_until_the_others_have_approved(
    desk: Desk, signed_in: SignedIn
) -> None:
    question = desk.ask(desk.session(), "bank.pay", tool="pay", args={"amount": 5})
    ana = signed_in(name="ana")
    hold_allow(ana)
    expect(approvals(ana)).to_contain_text("1 of 2")
    ana.get_by_role("button", name="Deny").click()
    expect(ana.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_now(desk.gate, question).state == "answered"


def test_nobody_is_offered_a_yes_that_would_be_refused(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.ask(desk.session(), "bank.pay", tool="pay", args={"amount": 5})
    ed = signed_in(name="ed")
    expect(approvals(ed)).to_contain_text("ed is not among those who have to approve this")
    expect(ed.locator(".yeses button")).to_have_count(0)
    ed.keyboard.press("a")
    expect(ed.locator(".hint")).to_contain_text("ed is not among those who have to approve this")
    ed.get_by_role("button", name="Deny").click()
    expect(ed.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_now(desk.gate, question).answer == "deny"


def test_the_glass_is_broken_on_the_page_with_a_reason_and_everybody_sees_it(
    desk: Desk, signed_in: SignedIn
) -> None:
    question = desk.ask(desk.session(), "bank.pay", tool="pay", args={"amount": 5})
    di, ana = signed_in(name="di"), signed_in("/people", name="ana")
    expect(ana.get_by_text("Nobody broke the glass")).to_be_visible()
    di.get_by_role("button", name="Break the glass…").click()
    allow = di.get_by_role("button", name="Allow alone")
    di.get_by_label("Why? At least 10 characters.").fill("a b c d e f")
    expect(allow).to_have_attribute("aria-disabled", "true")
    allow.click(force=True)
    assert load_question_now(desk.gate, question).state == "open"
    di.get_by_label("Why? At least 10 characters.").fill("the site is down")
    allow.click()
    expect(di.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_now(desk.gate, question).by == "di"
    expect(ana.get_by_role("cell", name="the site is down")).to_be_visible()


def test_esc_leaves_the_glass_whole(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.ask(desk.session(), "bank.pay", tool="pay", args={"amount": 5})
    di = signed_in(name="di")
    di.get_by_role("button", name="Break the glass…").click()
    di.get_by_label("Why? At least 10 characters.").fill("the site is down")
    di.keyboard.press("Escape")
    expect(di.get_by_role("dialog")).to_have_count(0)
    expect(di.get_by_role("button", name="Break the glass…")).to_be_visible()
    assert load_question_now(desk.gate, question).state == "open"


def test_people_delegate_on_the_page_and_end_it(desk: Desk, signed_in: SignedIn) -> None:
    ana = signed_in("/people", name="ana")
    expect(ana.get_by_text("You are ana.")).to_be_visible()
    ana.get_by_label("Who", exact=True).select_option("ed")
    ana.get_by_label("For how long").select_option("1")
    ana.get_by_label("In", exact=True).select_option("bank")
    ana.get_by_role("button", name="Let them stand in").click()
    expect(ana.get_by_role("row", name="ed for ana bank up to HIGH")).to_be_visible()
    (made,) = load_team_view(desk.gate).delegations
    assert (made.giver, made.to, made.domain, made.highest.word) == ("ana", "ed", "bank", "high")
    desk.ask(desk.session(), "bank.pay", tool="pay", args={"amount": 5})
    ed = signed_in(name="ed")
    hold_allow(ed)
    expect(approvals(ed)).to_contain_text("1 of 2, waits for finance: bo or cy (approved: ed)")
    ana.get_by_role("button", name="End: ed for ana").click()
    expect(ana.get_by_text("Nobody stands in for anybody")).to_be_visible()
    assert load_team_view(desk.gate).delegations == ()


def test_who_is_nobody_of_the_team_can_delegate_nothing(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in("/people", name="mallory")
    expect(page.get_by_text("The policy names nobody for your sign-in")).to_be_visible()
    expect(page.get_by_role("button", name="Let them stand in")).to_have_count(0)


def test_on_a_phone_the_groups_of_somebody_have_a_label(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in(name="ana")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{desk.url}/people")
    expect(page.get_by_role("cell", name="finance, leads")).to_be_visible()
    page.wait_for_function(LABELLED, arg=["finance, leads", '"Groups "'])
