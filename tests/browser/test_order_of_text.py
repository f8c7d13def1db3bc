"""Letters written from right to left change the order of nothing: a command stands as it runs."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from sayso.gate.questions.answer import answer_question
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk

COMMANDS = [
    "א /etc/passwd && cp key backup/ && rm ב",
    "rm א/home/ana ב/tmp && echo ok",
    "pay ١٢ / ٣٤ to ana",
    "echo \U0001e900 rm -rf \U0001e901 done",
    "אבג && rm x ; ls",
]

PLACES = """(element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".hidden")) continue;
    for (const word of node.data.matchAll(/\\S+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      found.push([word[0], Math.round(box.top / 8), box.left]);
    }
  }
  return found;
}"""


def in_order(page: Page, place: str) -> None:
    """Every word stands to the right of the one before it, or on a line below."""
    words = page.locator(place).first.evaluate(PLACES)
    assert len(words) > 3
    for (_, top, left), (word, next_top, next_left) in pairwise(words):
        assert next_top > top or next_left > left - 1, (place, word, words)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_shown_in_the_order_in_which_it_runs(
    desk: Desk, signed_in: SignedIn, command: str
) -> None:
    question = desk.ask(desk.session(), "git.push_force", command=command)
    page = signed_in()
    expect(page.locator(".card .hero")).to_have_text(command)
    in_order(page, ".card .hero")
    in_order(page, ".list .call")
    answer_question(desk.gate, question, "deny", by="bo", reason=command)
    page.goto(f"{desk.url}/history")
    expect(page.locator("button.call")).to_have_count(1)
    in_order(page, "button.call .quoted")
    page.locator("button.call").first.click()
    expect(page.locator(".past .foreign").first).to_have_text(command)
    in_order(page, ".past .foreign")


FIELD = """(area) => {
  const { direction, unicodeBidi } = getComputedStyle(area);
  return [direction, unicodeBidi];
}"""


@pytest.mark.parametrize("place", [".editor textarea", ".reason"])
def test_a_field_shows_every_character_in_its_order(desk: Desk, signed_in: SignedIn, place: str) -> None:
    desk.ask(desk.session(), "files.edit", tool="Edit", args={"file_path": COMMANDS[0]}, target="a.py")
    page = signed_in()
    page.get_by_role("button", name="Edit…").click()
    assert page.locator(place).first.evaluate(FIELD) == ["ltr", "isolate-override"]
