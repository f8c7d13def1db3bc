"""Marks that pile up and long gaps paint over nothing on the page, and push nothing out of sight."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from sayso.core.text.foreign import visible
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import open_first, wait_for_value

PHONE = {"width": 360, "height": 740}
PILE = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u030d" * 5
OVERPRINTED = "rm -rf ~/projects\n" + "\n".join(f"…{PILE}" * 8 for _ in range(4)) + "\necho done"
CASES = [
    f"e\u0301{PILE}x",
    "\u0301 \u0301\n\u0301\u200b\u0301\ufe0f\u0301",
    "हिन्दी ที่นี่ שָׁלוֹם e\u0301\u0323",
    "…\u20dd\u0903\u1ab0\u0489",
    "ls" + " " * 1_500 + "; rm -rf ~",
    "a" + "\n" * 900 + "b",
    "a" + "\n \t" * 5 + "b\n\n\nc",
    "a\t\t\tb   c\t\td",
    "{\n" + " " * 40 + "x\n" + " " * 41 + "y",
    " " * 40 + "x" + " " * 8 + "y" + " " * 9 + "z",
    "x" * 1_990 + " " * 40,
    "ls" + " " * 5_000 + "; rm -rf ~",
    "x" * 1_999 + "\n \t" * 900 + "b",
    "x" * 2_000 + " " * 90 + "b",
]
PILES = r"Math.max(0, ...(document.body.innerText.match(/\p{M}+/gu) ?? []).map((pile) => pile.length))"


def test_the_page_and_the_core_spell_the_same_marks_and_gaps(signed_in: SignedIn) -> None:
    page = signed_in()
    shown = page.evaluate("async (cases) => cases.map((await import('/web/lib/visible.js')).visible)", CASES)
    assert shown == [visible(case) for case in CASES]


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE], ids=["desk", "phone"])
def test_no_text_of_an_agent_paints_over_the_command_or_the_page(
    desk: Desk, signed_in: SignedIn, viewport: dict[str, int]
) -> None:
    desk.ask(desk.session(), "files.delete", command=OVERPRINTED)
    desk.ask(desk.session(), "files.edit", tool="archive", args={"path": f"a{PILE}", "note": f"…{PILE}"})
    page = signed_in(viewport=viewport)
    open_first(page)
    expect(page.locator(".hero")).to_contain_text("rm -rf ~/projects")
    wait_for_value(page, lambda: page.evaluate(PILES), 2)
    box = page.locator(".hero.foreign, .hero .foreign").first
    assert box.evaluate("e => getComputedStyle(e).overflowX") == "clip"
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.locator(".card-body").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    if viewport == PHONE:
        page.get_by_role("button", name="next ›").click()
        expect(page.locator(".card-head")).to_contain_text("archive")
        assert page.locator(".card-body").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    page.goto(desk.url + "/history")
    expect(page.locator("tbody")).to_contain_text("archive")
    wait_for_value(page, lambda: page.evaluate(PILES), 2)


def test_no_surface_tells_a_gap_smaller_than_it_is(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(
        desk.session(), "files.edit", tool="note", args={"path": "a.py", "text": "a" + " " * 5_000 + "b"}
    )
    page = signed_in()
    expect(page.locator(".card-body")).to_contain_text("a⟨5,000 spaces⟩")
    told = page.locator("body").inner_text()
    assert set(re.findall(r"⟨([\d,]+) spaces", told)) == {"5,000"}


def test_nothing_is_folded_away_because_a_gap_stands_before_it(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(desk.session(), "files.edit", command="ls" + " " * 5_000 + "&& rm -rf ~/projects")
    page = signed_in(viewport=PHONE)
    expect(page.locator(".hero")).to_contain_text("ls⟨5,000 spaces⟩&& rm -rf ~/projects")
    expect(page.get_by_role("button", name="Show all of it")).to_have_count(0)


def test_blank_lines_are_counted_and_what_follows_stands_below_them(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(desk.session(), "files.delete", command="ls" + "\n" * 300 + "rm -rf ~")
    page = signed_in(viewport=PHONE)
    expect(page.locator(".hero")).to_contain_text("ls⟨300 line ends⟩\nrm -rf ~", use_inner_text=True)
