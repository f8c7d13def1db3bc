"""History, sessions and the inbox as people read them: one story a call, a way back from a stop, a filter."""

from __future__ import annotations

import re
from contextlib import closing
from http.client import HTTPConnection

import httpx
from playwright.sync_api import expect

from sayso.core.model import Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.people.tokens import issue_token
from sayso.gate.questions.answer import answer_question, edit_and_allow
from sayso.gate.questions.wait import load_question_row
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import texts
from tests.browser.test_pages import PHONE, no_violations, no_violations_in_any_theme


def asked_and_run(desk: Desk, session: str, path: str = "src/parse.py") -> str:
    """Asked, polled three times, approved, run: the call."""
    call = make_call("Edit", {"file_path": path}, folder="/home/ana/sayso-demo", target=path)
    request = make_request(call, [Operation("files.edit")], session=session, agent="claude-code")
    attempt = start_call(desk.gate, request, holder="desk")
    for _ in range(3):
        assert retry_call(desk.gate, attempt.call, holder="desk").state == "pending"
    assert answer_question(desk.gate, attempt.question or "", "once", by="ana", reason="fine by me").yours
    started = retry_call(desk.gate, attempt.call, holder="desk")
    end_call(desk.gate, attempt.call, started.fence, "succeeded")
    return attempt.call


def test_three_polls_and_one_approval_are_one_row_that_opens_to_its_story(
    desk: Desk, signed_in: SignedIn
) -> None:
    asked_and_run(desk, desk.session())
    page = signed_in("/history")
    rows = page.locator("tbody tr[tabindex]")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("Edit src/parse.py")
    expect(rows.first).to_contain_text("allowed once")
    expect(rows.first).to_contain_text("ended well")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".story li strong")).to_have_text(["Asked", "Allowed once", "Started", "Ended well"])
    expect(page.locator(".story")).to_contain_text("by ana")
    expect(page.locator(".story")).to_contain_text("fine by me")
    expect(page.locator("main")).not_to_contain_text("pending")
    no_violations_in_any_theme(page)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations_in_any_theme(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_an_edit_is_shown_with_before_and_after(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    question = desk.edit(session, "before.py")
    call = make_call("Edit", {"file_path": "after.py"}, folder="/home/ana/sayso-demo", target="after.py")
    edited = make_request(call, [Operation("files.edit")], session=session, agent="claude-code")
    assert edit_and_allow(desk.gate, question, edited, by="ana").yours
    page = signed_in("/history")
    page.get_by_role("button", name="after.py").click()
    expect(page.locator(".story .edit")).to_contain_text("before.py")
    expect(page.locator(".story .edit")).to_contain_text("after.py")
    no_violations(page)


def test_a_denied_call_never_says_pending(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.edit(desk.session())
    answer_question(desk.gate, question, "deny", by="ben", reason="not now")
    page = signed_in("/history")
    row = page.locator("tbody tr[tabindex]")
    expect(row).to_contain_text("denied")
    page.get_by_role("button", name="src/parse.py").click()
    expect(page.locator(".story")).to_contain_text("by ben")
    expect(page.locator("main")).not_to_contain_text("pending")
    expect(page.locator("main")).not_to_contain_text("waits for an answer")


def test_search_finds_what_ran(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for name in ("one.py", "needle.py", "three.py"):
        asked_and_run(desk, session, name)
    page = signed_in("/history")
    rows = page.locator("tbody tr[tabindex]")
    expect(rows).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("needle")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("needle.py")


def test_rows_that_differ_look_different(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for name in ("a", "b"):
        args = {"text": "the same long text " * 20, "to": f"{name}@example.org"}
        desk.ask(session, "mail.send", tool="send", args=args)
    page = signed_in()
    rows = page.locator(".list .call")
    first, second = texts(rows, 2)
    assert first != second
    assert "a@example.org" in first


def test_grants_for_different_calls_look_different(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for name in ("first.py", "second.py"):
        answer_question(desk.gate, desk.edit(session, name), "once", by="ana")
    page = signed_in("/grants")
    first, second = texts(page.locator("tbody tr td.wide"), 2)
    assert "first.py" in first + second
    assert first != second


def test_the_inbox_is_filtered_as_one_types(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for name in ("parser.py", "lexer.py", "tests.py"):
        desk.edit(session, name)
    page = signed_in()
    rows = page.locator(".list button[data-id]")
    expect(rows).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("LEX")
    expect(rows).to_have_count(1)
    expect(page.locator(".card")).to_contain_text("lexer.py")
    no_violations(page)
    page.keyboard.type(" nothing like it")
    expect(page.get_by_text("No question matches the filter")).to_be_visible()
    no_violations(page)
    page.get_by_role("searchbox").fill("")
    expect(rows).to_have_count(3)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(rows).to_have_count(3)


def test_the_filter_finds_what_is_on_later_pages_too(desk: Desk, signed_in: SignedIn) -> None:
    for number in range(3):
        session = desk.session()
        for index in range(20):
            desk.edit(session, f"f{number}-{index}.py")
    page = signed_in()
    expect(page.get_by_role("button", name=re.compile("50 like this"))).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("f2-19.py")
    expect(page.locator(".list button[data-id]")).to_have_count(1)


def test_those_whose_agent_waits_come_first_and_one_that_left_is_not_said_to_wait(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.edit(desk.session(), "old.py")
    secret, _ = issue_token(desk.gate, "agent", "helper", by="ana")
    with httpx.Client(base_url=desk.url, headers={"Authorization": f"Bearer {secret}"}) as agent:
        call = agent.post("/v1/calls", json={"tool": "Edit", "args": {"file_path": "/srv/new.py"}}).json()
        page = signed_in()
        rows = page.locator(".list button[data-id]")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("old.py")
        expect(page.locator(".list")).not_to_contain_text("waits")
        with closing(HTTPConnection(agent.base_url.host, agent.base_url.port)) as waiting:
            path = f"/v1/calls/{call['operation_id']}?wait=600"
            waiting.request("GET", path, headers=dict(agent.headers))
            expect(rows.first).to_contain_text("new.py")
            expect(rows.first).to_contain_text("agent waits")
            expect(rows.first).to_contain_text("helper")
    expect(page.locator(".list")).to_contain_text("agent left")
    expect(page.locator(".list")).not_to_contain_text("agent waits")
    expect(rows.first).to_contain_text("old.py")
    rows.last.click()
    card = page.locator(".clocks")
    expect(card).to_contain_text(re.compile(r"the agent left \d+ s ago"))
    expect(card).to_contain_text("a yes lets it try again for 10 minutes")


def test_a_stopped_session_can_be_let_go_on(desk: Desk, signed_in: SignedIn) -> None:
    desk.session("one")
    desk.session("two")
    page = signed_in("/sessions")
    page.get_by_role("button", name="Stop one").click()
    expect(page.locator(".mark", has_text="stopped")).to_have_count(1)
    no_violations(page)
    page.get_by_role("button", name="Let one go on").click()
    expect(page.locator(".mark", has_text="stopped")).to_have_count(0)
    expect(page.get_by_role("button", name="Stop one")).to_be_visible()


def test_stopping_all_says_what_it_clears_asks_once_and_has_a_way_back(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session("one")
    desk.session("two")
    give_grant(desk.gate, session, operation="files.edit", by="ana")
    question = desk.edit(desk.session("three"), "x.py")
    page = signed_in("/sessions")
    page.get_by_role("button", name="Stop all agents").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 sessions")
    expect(dialog).to_contain_text("1 grant")
    expect(dialog).to_contain_text("1 open question")
    no_violations_in_any_theme(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert len(list_grants(desk.gate, session)) == 1
    page.get_by_role("button", name="Stop all agents").click()
    dialog.get_by_role("button", name="Stop all").click()
    expect(page.locator(".mark", has_text="stopped")).to_have_count(3)
    assert list_grants(desk.gate, session) == []
    assert load_question_row(desk.gate, question).state == "cancelled"
    page.get_by_role("button", name="Let all go on").click()
    expect(page.locator(".mark", has_text="stopped")).to_have_count(0)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations_in_any_theme(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_session_is_at_work_only_where_that_is_known(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session("worker")
    desk.session("idler")
    call = make_call("Edit", {"file_path": "a"}, folder="/home/ana/sayso-demo", target="a")
    request = make_request(call, [Operation("files.edit")], session=session, agent="worker")
    asked = start_call(desk.gate, request, holder="desk")
    answer_question(desk.gate, asked.question or "", "once", by="ana")
    started = retry_call(desk.gate, asked.call, holder="desk")
    assert started.runs
    page = signed_in("/sessions")
    expect(page.locator("tr", has_text="worker")).to_contain_text("at work")
    expect(page.locator("tr", has_text="idler")).not_to_contain_text("at work")
    expect(page.locator("tr", has_text="idler")).to_contain_text("ago")
    end_call(desk.gate, started.call, started.fence, "succeeded")
    expect(page.locator("tr", has_text="worker")).not_to_contain_text("at work")
