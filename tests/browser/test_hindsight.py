"""On the page: suggestions with their evidence, a proposal made of one, and a draft replayed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sayso.gate.open import open_gate
from sayso.gate.proposals.file_proposal import list_proposals
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk, serving
from tests.browser.test_pages import no_violations
from tests.support.answers import answer_question
from tests.support.gates import KEY

FILE = """\
sayso: 1
domains:
  tests: {autonomous: [], requires_approval: [run], blocked: []}
"""
FREE = FILE.replace("[], requires_approval: [run]", "[run], requires_approval: []")
EVIL = "<b>bold</b>\u202e"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    own = tmp_path / "config" / "sayso"
    own.mkdir(parents=True)
    (own / "policy.yaml").write_text(FILE)
    with closing(MemoryStore()) as store, serving(open_gate(load_text(FILE), store, key=KEY)) as made:
        yield made


def test_a_suggestion_becomes_a_proposal_with_one_touch(
    desk: Desk, signed_in: SignedIn, tmp_path: Path
) -> None:
    session = desk.session(EVIL)
    for number in range(3):
        question = desk.ask(session, "tests.run", args={"n": number}, agent=EVIL)
        answer_question(desk.gate, question, "deny", by=EVIL)
    page = signed_in("/policy")
    page.get_by_role("button", name="Look for suggestions").click()
    one = page.locator("section", has=page.get_by_role("heading", name="Suggestions")).locator("li")
    expect(one).to_contain_text("denied 3 of 3 times in 30 days: tests.run")
    expect(one).to_contain_text("would have loosened 0 and tightened 3")
    one.locator("summary").click()
    expect(one).to_contain_text("blocked: [run]")
    expect(page.locator("main b")).to_have_count(0)
    no_violations(page)
    page.get_by_role("button", name="Make a proposal").click()
    expect(page.locator("#said")).to_contain_text("Filed proposal p_")
    (made,) = list_proposals(desk.gate)
    assert (made.state, made.reason) == ("proposed", "denied 3 of 3 times in 30 days: tests.run")
    assert (tmp_path / "config" / "sayso" / "policy.yaml").read_text() == FILE


def test_a_draft_is_replayed_over_the_past(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(desk.session(), "tests.run", args={"text": EVIL}, agent=EVIL)
    page = signed_in("/policy")
    page.get_by_label("Draft").fill(FREE)
    page.get_by_role("button", name="Replay 30 days").click()
    line = page.locator(".changes .loosened")
    expect(line.locator("strong")).to_have_text("loosened once")
    expect(line).to_contain_text("ask → allow (ask → autonomous)")
    line.locator("summary").click()
    expect(page.locator("main b")).to_have_count(0)
    no_violations(page)


def test_commands_in_our_own_sentences_are_shown_as_code_and_not_between_backticks(
    desk: Desk, signed_in: SignedIn, tmp_path: Path
) -> None:
    (tmp_path / "config" / "sayso" / "policy.yaml").unlink()
    session = desk.session("`evil`")
    for number in range(3):
        question = desk.ask(session, "tests.run", args={"n": number}, agent="`evil`")
        answer_question(desk.gate, question, "deny", by="`evil`")
    page = signed_in("/policy")
    page.get_by_role("button", name="Look for suggestions").click()
    one = page.locator("section", has=page.get_by_role("heading", name="Suggestions")).locator("li")
    expect(one.locator("p", has_text="No proposal")).to_have_text(
        "No proposal: no policy file of your own is in force (sayso policy status says more)."
    )
    expect(one.locator("code")).to_have_text(["sayso policy status"])
    expect(one).to_contain_text("`evil`")  # what an agent wrote is never styled
