"""Two people approve one call on their pages: each sees how far it is, while they look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Locator, Page, expect

from sayso.gate.open import open_gate
from sayso.gate.questions.wait import load_question_now
from sayso.store.memory.store import MemoryStore
from tests.browser.conftest import SignedIn, Watch
from tests.browser.desk import Desk, serving
from tests.support.gates import KEY
from tests.support.teams import team_policy

HELD_FOR = 2_500


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
    expect(approvals(ana)).to_contain_text("1 of 2")
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
