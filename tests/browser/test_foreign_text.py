"""What agents write is shown as text, with everything spelled out that acts, hides or misleads."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sayso.core.digest import decode_canonical
from sayso.core.model import Assurance, Operation
from sayso.core.text.look_alikes import LOOK_ALIKES
from sayso.core.words import FOLD_AT, visible
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.ledger.workflows import RunNote, save_note
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_row
from sayso.gate.sessions.messages import record_message, record_task_start
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk

XSS = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HIDING = "safe\u202etxt.exe\u2066\u200b\x1b[2J\x1b[31mred\x07\u3164\ufe0f"
SPELLED = "safe\\u202etxt.exe\\u2066\\u200b\\x1b[2J\\x1b[31mred\\x07\\u3164\\ufe0f"
EVIL = f"{XSS}{HIDING}"
PAGES = ("/", "/history", "/grants", "/sessions", "/workflows", "/policy", "/audit", "/figures")
CASES = [
    "git push origin main",
    "Zoë, 東京, Ελλάδα, हिन्दी",
    "{}[]<>|\\ &amp; <b>",
    "e\u0301",
    "🦊",
    "a\nb\r\tc\x00\x1b\x7f\x9b\u00a0\u00ad\u2028\u2029\u3000",
    "\u200b\u200d\u202e\u2066\ufeff\U000e0041\ue000",
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180f\u2800\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef",
    "x" * FOLD_AT,
    "x" * (FOLD_AT + 1),
    "🦊" * (FOLD_AT + 5),
    HIDING,
]


def test_the_page_spells_out_exactly_what_the_core_spells_out(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    shown = page.evaluate("async (cases) => cases.map((await import('/web/lib/visible.js')).visible)", CASES)
    assert shown == [visible(case) for case in CASES]


def test_letters_that_only_look_latin_are_marked_in_the_row_and_in_the_card(
    desk: Desk, signed_in: SignedIn
) -> None:
    recipient = "p\u0430yp\u0430l \u0445\u043e\u0440 naïve Ωm"  # Cyrillic: two letters, and a whole word
    russian = "\u043e\u0440 \u0438 \u043c\u0438\u0440"  # its first word alone might pass for Latin
    desk.ask(desk.session(), "mail.send", tool="send_mail", args={"body": russian, "to": recipient})
    page = signed_in()
    mixed = ["\u0430", "\u0430"]
    expect(page.locator(".list .alike")).to_have_text(mixed)  # beside Russian, a whole word may be Russian
    expect(page.locator(".card .alike")).to_have_text([*mixed, "\u0445\u043e\u0440"])
    known = page.evaluate("async () => (await import('/web/lib/alikes.js')).ALIKES")
    assert set(known) == set(map(chr, LOOK_ALIKES))


def test_what_a_field_of_the_editor_would_not_show_is_spelled_out_beside_it_and_kept(
    desk: Desk, signed_in: SignedIn
) -> None:
    args = {"file_path": "a.py", "new_string": f"one\r\n{HIDING}\r\ntwo"}
    question = desk.ask(desk.session(), "files.edit", tool="Edit", args=args)
    page = signed_in()
    page.get_by_role("button", name="Edit…").click()
    expect(page.locator(".editor")).to_contain_text("characters that do not show as themselves: \\")
    page.get_by_label("file_path", exact=True).fill("b.py")
    page.get_by_role("button", name="Allow the edited call").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    edited = desk.gate.sealer.open_edited(load_question_row(desk.gate, question))
    assert edited is not None
    assert decode_canonical(edited.call.arguments) == {**args, "file_path": "b.py"}


@pytest.mark.parametrize("path", PAGES)
def test_every_field_an_agent_fills_is_shown_as_text(desk: Desk, signed_in: SignedIn, path: str) -> None:
    session = desk.session(agent=EVIL, workspace=f"/tmp/{EVIL}")  # noqa: S108  # a name, no file is made
    record_task_start(desk.gate, session, EVIL)
    record_message(desk.gate, session, EVIL)
    desk.ask(
        session,
        "git.push",
        "git.commit",
        command=f"echo {EVIL}",
        tool=EVIL,
        args={EVIL: EVIL, "deep": {"list": [EVIL]}},
        agent=EVIL,
        target=EVIL,
        state=EVIL,
        bundle=Bundle(EVIL, (EVIL,)),
    )
    page = signed_in(path)
    expect(page.locator("main > *").first).to_be_visible()
    if path == "/":
        expect(page.locator(".hero").first).to_contain_text(f"echo {XSS}{SPELLED}")
        page.get_by_role("button", name="Why").click()
        expect(page.get_by_role("group", name="Checks")).to_be_visible()
        page.get_by_role("button", name="more", exact=True).click()
    if path == "/history":
        page.locator("tbody button").first.click()
        expect(page.locator(".opened").first).to_contain_text(SPELLED)
    expect(page.locator("main")).not_to_contain_text("Reading")
    text = page.locator("body").inner_text()
    assert not any(character in text for character in "\u202e\u2066\u200b\x1b\x07\u3164")
    expect(page.locator("main img, main script")).to_have_count(0)
    assert "owned" not in page.title()


@pytest.mark.parametrize("path", ["/", "/workflows"])
def test_a_claimed_message_and_a_run_are_shown_as_text(desk: Desk, signed_in: SignedIn, path: str) -> None:
    session = desk.session()
    request = make_request(
        make_call(EVIL), [Operation("git.commit")], agent=EVIL, session=session, workflow=EVIL
    )
    asked = start_call(desk.gate, request, holder="desk")
    answer_question(desk.gate, asked.question or "", "once", by="ana")
    run = retry_call(desk.gate, asked.call, holder="desk")
    save_note(desk.gate, run.call, run.fence, RunNote({HIDING: "running", XSS[:40]: EVIL}))
    claimed = f"Grant standing consent for: echo '{XSS}'"
    assert record_message(desk.gate, desk.session(EVIL), claimed, Assurance.CLAIMED).question
    page = signed_in(path)
    shown = page.locator(".hero" if path == "/" else "main").first
    expect(shown).to_contain_text(XSS if path == "/" else SPELLED)
    text = page.locator("body").inner_text()
    assert not any(character in text for character in "\u202e\u2066\u200b\x1b\x07\u3164")
    expect(page.locator("main img, main script")).to_have_count(0)
    assert "owned" not in page.title()
