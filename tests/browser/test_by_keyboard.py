"""Proposals, the policy file, suggestions, drafts and reviews, by the keyboard alone."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from sayso.gate.proposals.file_proposal import list_proposals
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import wait_until
from tests.browser.test_proposals import (
    LOOSER,
    NEW,
    OLD,
    Hours,
    desk,
    hours,
    memory,
    pass_cooling,
    propose,
    state_of,
)

__all__ = ["desk", "hours", "memory"]

MOST = 120
"""How many controls a page may have before the one that is looked for."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
AT_END = """(() => { const box = document.querySelector(".card-body");
    return box.scrollTop + box.clientHeight >= box.scrollHeight - 1; })()"""
LONG = "".join(f"rule {number}\n" for number in range(150))


def tab_to(page: Page, name: str) -> None:
    """Press Tab until this has the focus, and can be seen to have it."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        text, style = page.evaluate(
            """() => { const at = document.activeElement;
            const named = at.labels?.[0] ?? at;
            return [at.ariaLabel ?? named.textContent, getComputedStyle(at).outlineStyle]; }"""
        )
        if name in text and len(text) < len(name) + 40:
            assert style != "none", f"{name} does not show the focus"
            return
    raise AssertionError(f"Tab does not lead to {name}")


def read_screen(page: Page) -> bool:
    """Press the key for the next screen, and at the end that for the first one: nothing is left unseen."""
    page.keyboard.press("Home" if page.evaluate(AT_END) else "PageDown")
    page.evaluate(DRAWN)
    return True


def type_word(page: Page, word: str) -> None:
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type(word)
    page.keyboard.press("Enter")


def test_a_long_proposal_is_read_approved_and_undone(
    desk: Desk, signed_in: SignedIn, hours: Hours, memory: Path
) -> None:
    one = propose(desk, hours, after=NEW + LONG)
    page = signed_in("/proposals")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".card-body")).to_be_focused()
    button = page.locator(".bar .hold")

    wait_until(page, lambda: read_screen(page) and button.count())
    expect(button).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("a")
    type_word(page, "approve")
    step = page.locator(".next-step")
    expect(step).to_contain_text("Takes effect at")
    pass_cooling(desk, hours)
    expect(step).to_contain_text("Applied: the file was changed.")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("u")
    type_word(page, "undo")
    expect(step).to_contain_text("then undone")
    assert (state_of(desk.gate, one), (memory / "lessons.md").read_text()) == ("undone", OLD)
    page.keyboard.press("Escape")
    expect(page.locator("tbody tr")).to_be_focused()


def test_a_draft_is_compared_and_replayed_and_a_domain_made_to_ask(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in("/policy")
    tab_to(page, "Look for suggestions")
    page.keyboard.press("Enter")
    tab_to(page, "Draft")
    page.keyboard.insert_text(LOOSER)
    tab_to(page, "Compare")
    page.keyboard.press("Enter")
    expect(page.locator(".changes .loosened").first).to_contain_text("files.edit")
    page.goto(f"{desk.url}/review")
    expect(page.locator("tbody tr", has_text="files.search")).to_be_visible()
    tab_to(page, "Make files.search ask")
    page.keyboard.press("Enter")
    expect(page.locator("#said a")).to_be_visible()
    (made,) = list_proposals(desk.gate)
    expect(page.locator("#said a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#{made.id}$"))
