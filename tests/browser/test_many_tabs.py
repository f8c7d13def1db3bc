"""Many tabs at once: one stream of events for all of them, and "live" only where that is so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.wait import load_question_row
from sayso.policy import load_preset
from tests.browser.desk import PING, Desk
from tests.browser.reading import wait_awake

TABS = 8
PROGRAM = """
import sys
from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.service.http.state import ServiceSettings
from sayso.service.serve import Address, serve_gate

gate = open_gate(load_preset("coding"), sys.argv[1])
settings = ServiceSettings(ping=float(sys.argv[2]))
serve_gate(gate, Address(port=0), settings=settings, started=lambda at: print(at.page, flush=True))
"""
WITHOUT_WORKER = "delete window.SharedWorker"
WITHOUT_EITHER = f"{WITHOUT_WORKER}; Object.defineProperty(navigator, 'locks', {{ value: undefined }})"


@contextmanager
def served(folder: Path, ping: float = PING) -> Iterator[tuple[Desk, subprocess.Popen[str]]]:
    """A real service in a process of its own, with so many seconds between heartbeats, and a desk on it."""
    store = folder / "s.db"
    gate = open_gate(load_preset("coding"), store)
    command = [sys.executable, "-c", PROGRAM, str(store), str(ping)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        yield Desk(gate, process.stdout.readline().strip()), process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        gate.store.close()


def tabs_of(desk: Desk, first: Page, count: int = TABS) -> list[Page]:
    """So many tabs of one browser, all live."""
    first.goto(desk.link())
    expect(first.locator("#line")).to_have_text("live")
    tabs = [first]
    while len(tabs) < count:
        tab = first.context.new_page()
        tab.goto(desk.url)
        tabs.append(tab)
    for tab in tabs:
        expect(tab.locator("#line")).to_have_text("live")
    return tabs


def denied_in_each(gate: Gate, desk: Desk, tabs: list[Page]) -> None:
    session = desk.session()
    for number, tab in enumerate(tabs):
        asked = desk.edit(session, f"file{number}.py")
        row = f'.list [data-id="{asked}"]'
        for other in tabs:
            expect(other.locator(row)).to_have_count(1)
        tab.bring_to_front()
        tab.locator(row).click()  # the one denied before may still be shown here
        expect(tab.locator(".card")).to_contain_text(f"file{number}.py")
        wait_awake(tab)
        tab.keyboard.press("d")
        expect(tab.locator(row)).to_have_count(0)
        assert load_question_row(gate, asked).answer == "deny"
        for other in tabs:
            expect(other.locator(row).filter(has_not_text="denied by")).to_have_count(0)


@pytest.mark.parametrize("without", [None, WITHOUT_WORKER], ids=["shared worker", "one tab for all"])
def test_eight_tabs_all_hear_of_a_question_and_each_can_answer(
    tmp_path: Path, window: Callable[..., Page], without: str | None
) -> None:
    first = window(service_workers="allow")
    if without:
        first.context.add_init_script(without)
    with served(tmp_path) as (desk, process):
        tabs = tabs_of(desk, first)
        denied_in_each(desk.gate, desk, tabs)
        process.kill()
        for tab in tabs:
            expect(tab.locator("#line")).to_contain_text("connection lost")


@pytest.mark.parametrize("without", [None, WITHOUT_WORKER], ids=["shared worker", "one tab for all"])
def test_closing_the_tab_that_was_first_leaves_the_others_live(
    desk: Desk, window: Callable[..., Page], without: str | None
) -> None:
    first = window()
    if without:
        first.context.add_init_script(without)
    tabs = tabs_of(desk, first, 3)
    first.close()
    session = desk.session()
    for number, tab in enumerate(tabs[1:]):
        desk.edit(session, f"after{number}.py")
        for other in tabs[1:]:
            expect(other.locator(".list")).to_contain_text(f"after{number}.py")
        expect(tab.locator("#line")).to_have_text("live")


@pytest.mark.parametrize("without", [None, WITHOUT_WORKER], ids=["shared worker", "one tab for all"])
def test_many_tabs_have_one_stream_of_events(
    desk: Desk, window: Callable[..., Page], without: str | None
) -> None:
    first = window()
    if without:
        first.context.add_init_script(without)
    tabs_of(desk, first, 5)
    assert desk.running is not None
    assert desk.running.limits.waits == 1


def test_a_browser_that_can_share_nothing_listens_only_where_somebody_looks(
    desk: Desk, window: Callable[..., Page]
) -> None:
    page = window()
    page.context.add_init_script(WITHOUT_EITHER)
    tabs_of(desk, page, 1)
    assert desk.running is not None
    assert desk.running.limits.waits == 1
    hide(page, hidden=True)
    expect(page.locator("#line")).not_to_have_text("live")
    hide(page, hidden=False)
    expect(page.locator("#line")).to_have_text("live")


def hide(page: Page, *, hidden: bool) -> None:
    """What the page sees when somebody goes to another tab, or comes back."""
    page.evaluate(
        """(hidden) => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_service_that_hangs_is_not_called_live(tmp_path: Path, window: Callable[..., Page]) -> None:
    """Nothing closes the line: only the heartbeats are missing."""
    first = window(service_workers="allow")
    with served(tmp_path, ping=1.0) as (desk, process):
        tabs = tabs_of(desk, first, 2)
        process.send_signal(signal.SIGSTOP)
        try:
            for tab in tabs:
                expect(tab.locator("#line")).not_to_have_text("live")
        finally:
            process.send_signal(signal.SIGCONT)
        for tab in tabs:
            expect(tab.locator("#line")).to_have_text("live")


def test_a_request_without_an_answer_is_shown_after_two_seconds(
    desk: Desk, window: Callable[..., Page]
) -> None:
    page = window()
    tabs_of(desk, page, 1)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/v1/grants", hold)
    page.get_by_role("link", name="Grants").click()
    expect(page.locator("#line")).to_contain_text("no answer yet")
    held[0].continue_()
    expect(page.locator("#line")).to_have_text("live")


def test_a_browser_signed_out_in_one_tab_is_signed_out_in_all(
    desk: Desk, window: Callable[..., Page]
) -> None:
    tabs = tabs_of(desk, window(), 3)
    tabs[1].get_by_role("button", name="Sign out").click()
    for tab in tabs:
        expect(tab.locator("main")).to_contain_text("sayso link")
        expect(tab.locator("#line")).not_to_have_text("live")
    context: BrowserContext = tabs[0].context
    again = context.new_page()
    again.goto(desk.link())
    expect(again.locator("#line")).to_have_text("live")
