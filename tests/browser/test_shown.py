"""A call is shown as what it is, and nothing of it is left out or passes for something else."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.test_pages import no_violations, no_violations_in_any_theme

OLD = "def parse(text):\n\treturn text\n# end"
NEW = "def parse(text):\n\ttext = text.strip()\n\treturn text\n# \u202eend"


def test_a_change_is_shown_as_the_lines_that_go_and_come_with_nothing_hidden(
    desk: Desk, signed_in: SignedIn
) -> None:
    args = {"new_string": NEW, "old_string": OLD, "replace_all": True, "file_path": "src/parse.py"}
    desk.ask(desk.session(), "files.edit", tool="Edit", args=args)
    page = signed_in()
    expect(page.locator(".diff .removed")).to_have_text(["removed: - # end"])
    expect(page.locator(".diff .added")).to_have_text(
        ["added: + →\ttext = text.strip()↵", "added: + # \\u202eend"]
    )
    expect(page.locator(".arguments dt").first).to_have_text("file_path")
    expect(page.locator(".arguments")).to_contain_text("replace_all")
    no_violations_in_any_theme(page)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations_in_any_theme(page)


def test_a_change_too_long_to_compare_is_shown_whole_and_folded(desk: Desk, signed_in: SignedIn) -> None:
    args = {"file_path": "a.py", "old_string": "a\n" * 1_500, "new_string": "b"}
    desk.ask(desk.session(), "files.edit", tool="Edit", args=args)
    page = signed_in()
    expect(page.locator(".diff")).to_have_count(0)
    expect(page.get_by_label("Argument old_string")).to_be_visible()
    expect(page.locator(".card")).to_contain_text("The first 2,000 of 3,000 characters.")


def test_nested_values_are_a_tree_in_which_text_never_passes_for_a_number(
    desk: Desk, signed_in: SignedIn
) -> None:
    args: dict[str, Any] = {
        "options": {"count": "5", "limit": 5, "on": "true", "list": ["a\u200bb", None, {}], "gap": " x"}
    }
    args["options"] |= {"lie": "a\nlimit: 99", "limit\u3164": 7, "k\u0301\u0301\u0301": 8, "on line": 9}
    desk.ask(desk.session(), "files.edit", tool="tune", args=args)
    page = signed_in()
    tree = page.get_by_label("Argument options")
    for part in ('count: "5"', "limit: 5", 'on: "true"', "1: a\\u200bb", "2: null", "3: {}", 'gap: " x"'):
        expect(tree).to_contain_text(part)
    expect(tree).to_contain_text("lie: a\\nlimit: 99")
    for named in ("limit\\u3164: 7", "k\u0301\u0301\\u0301: 8", '"on line": 9'):
        expect(tree).to_contain_text(named)
    no_violations(page)


def test_the_recipient_of_a_message_stands_before_its_text(desk: Desk, signed_in: SignedIn) -> None:
    args = {"body": "Hello\nthere", "format": "plain", "subject": "Friday", "to": "ana@example.org"}
    desk.ask(desk.session(), "email.send", tool="send_mail", args=args)
    page = signed_in()
    expect(page.locator(".arguments dt")).to_have_text(["to", "subject", "body", "format"])
    expect(page.get_by_label("Argument body")).to_have_text("Hello↵\nthere")


def test_the_diff_of_a_proposal_that_is_asked_about_has_lines(desk: Desk, signed_in: SignedIn) -> None:
    diff = "--- a/lessons.md\n+++ b/lessons.md\n@@ -1 +1 @@\n-be brief\n+be thorough\u202e\n"
    proposal = {"root": "memory", "diff": diff, "undo": "reverse", "reason": "true"}
    desk.ask(desk.session(), "files.edit", tool="propose", args={"proposal": proposal})
    page = signed_in()
    shown = page.get_by_label("Argument proposal › diff")
    expect(shown).to_contain_text("-be brief↵\n+be thorough\\u202e↵", use_inner_text=True)
    expect(page.locator(".arguments dt", has_text="proposal ›")).to_have_count(4)
    expect(page.get_by_label("Argument proposal › reason")).to_have_text('"true"')
    no_violations(page)
