"""The part of a call that made it what is asked is marked where it stands; agent text cannot mark itself."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from sayso.core.model import Operation, Piece
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.start import start_call
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.test_pages import no_violations_in_any_theme

HIDDEN = "[marked: {}]"


def marked(desk: Desk, pieces: list[Piece], line: str | None = None, **args: object) -> None:
    """A call of which whoever read it says that these parts made it so."""
    call = make_call("shell", args, command=line)
    operation = Operation("git.push_force", because=tuple(pieces))
    request = make_request(call, [operation], session=desk.session())
    assert start_call(desk.gate, request, holder="desk").question is not None


def expect_marks(page: Page, *parts: str) -> None:
    """These parts are marked on the card, and no others."""
    expect(page.locator(".card")).to_be_visible()
    expect(page.locator("mark")).to_have_text([HIDDEN.format(one) for one in parts])


def test_the_path_that_leads_out_of_the_workspace_is_marked_and_the_rest_is_not(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.call(desk.session(), "write_file", {"path": "../notes.md", "text": "see ../notes.md"})
    page = signed_in()
    expect_marks(page, "../notes.md")
    expect(page.get_by_label("Argument path").locator("mark")).to_have_count(1)
    expect(page.locator(".why")).to_contain_text("Marked: what made it so.")
    no_violations_in_any_theme(page)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations_in_any_theme(page)


def test_a_mark_is_seen_without_colour(desk: Desk, signed_in: SignedIn) -> None:
    marked(desk, [Piece(None, "--force")], line="git push --force origin main")
    page = signed_in()
    expect_marks(page, "--force")
    shown = page.locator("mark").evaluate(
        "m => [getComputedStyle(m, '::before').content, getComputedStyle(m).borderBottomStyle]"
    )
    assert shown[0].startswith('"‹"')
    assert shown[1] == "solid"


def test_a_call_that_nobody_read_has_no_mark(desk: Desk, signed_in: SignedIn) -> None:
    desk.push(desk.session())
    page = signed_in()
    expect_marks(page)
    expect(page.locator(".why")).not_to_contain_text("Marked")


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("--force", "git push --force --force-with-lease", ["--force"]),
        ("a@x.example", "aa@x.example, a@x.example", ["a@x.example"]),
        ("one", "one, one", ["one", "one"]),
        ("x\u202ey", "a x\u202ey z", ["x\\u202ey"]),
        ("no such", "text", []),
        ("\U0001f600", "a\U0001f600\U0001f601", ["\U0001f600"]),
    ],
)
def test_a_part_is_found_in_the_raw_text(
    desk: Desk, signed_in: SignedIn, part: str, value: str, expected: list[str]
) -> None:
    marked(desk, [Piece("value", part)], value=value, other=value)
    page = signed_in()
    expect_marks(page, *expected)
    expect(page.get_by_label("Argument other").locator("mark")).to_have_count(0)


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("true", True, ["true"]),
        ("500", 500, ["500"]),
        ('a "b"', ["x", 'a "b"'], ['a \\"b\\"']),
        ("3", {"deep": {"number": 3, "other": 33}}, ["3"]),
    ],
)
def test_a_part_is_found_in_what_is_no_text(
    desk: Desk, signed_in: SignedIn, part: str, value: object, expected: list[str]
) -> None:
    marked(desk, [Piece("value", part)], value=value)
    expect_marks(signed_in(), *expected)


def test_a_part_of_an_argument_that_is_the_command_is_marked_in_the_command(
    desk: Desk, signed_in: SignedIn
) -> None:
    marked(desk, [Piece("command", "-rf")], line="rm -rf build", command="rm -rf build")
    page = signed_in()
    expect(page.get_by_label("Command").locator("mark")).to_have_count(1)


def test_markup_in_a_part_stays_text(desk: Desk, signed_in: SignedIn) -> None:
    evil = "<img src=x onerror=alert(1)></mark><mark>"
    marked(desk, [Piece("value", evil)], value=f"a {evil} b <mark>own</mark>")
    page = signed_in()
    expect_marks(page, evil)
    expect(page.locator(".card img")).to_have_count(0)


def test_a_part_behind_the_fold_is_announced_and_marked_once_unfolded(
    desk: Desk, signed_in: SignedIn
) -> None:
    marked(desk, [Piece("value", "danger")], value="calm " * 1000 + "danger")
    page = signed_in()
    expect_marks(page)
    expect(page.locator(".fold")).to_contain_text("A marked part is further down.")
    page.get_by_role("button", name="Show all of it").click()
    expect_marks(page, "danger")
