"""A browser, and a service with somebody signed in. No Chromium: a failure in CI, a loud skip elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.browser.desk import Desk, serving
from tests.browser.reading import PATIENCE, follow_reads, wait_drawn, wait_settled
from tests.support.gates import KEY, no_settings

__all__ = ["KEY", "no_settings"]

BROWSERS = ("chromium", "chromium-browser")
SHELL = "chromium-headless-shell"
"""The same engine without windows, menus and extensions around it: half the work for each test."""
EVERYTHING = "SAYSO_ALL" in os.environ
"""The whole browser, and in every test the service worker that it keeps the page with."""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SLOW_BROWSER = float(os.environ.get("SLOW_BROWSER", "1"))
"""How many times slower the pages run: shows which tests need a fast machine."""
NEEDED = "Chromium is needed to test the page: apt-get install chromium, or CHROMIUM=/path/to/it"

SignedIn = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file of tests: while Playwright is there, an event loop runs, and no other test can run one."""
    names = BROWSERS if EVERYTHING else (SHELL, *BROWSERS)
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NEEDED)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


class Watch:
    """The time of the service, which a test can hold: then no machine is too slow for a fast answer."""

    def __init__(self) -> None:
        self._held: float | None = None

    def __call__(self) -> float:
        return time.time() if self._held is None else self._held

    @contextmanager
    def held(self) -> Iterator[None]:
        self._held = time.time()
        yield
        self._held = None


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def desk(watch: Watch) -> Iterator[Desk]:
    with (
        closing(MemoryStore(clock=watch)) as store,
        serving(open_gate(load_preset("coding"), store, key=KEY)) as desk,
    ):
        yield desk


@pytest.fixture
def window(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A new browser of somebody. An error in the page's own code fails the test.

    Unless a test asks for it, or with SAYSO_ALL, no service worker loads every file of the page once more.
    """
    contexts, errors = [], []
    usual = {
        "viewport": {"width": 1280, "height": 800},
        "service_workers": "allow" if EVERYTHING else "block",
    }

    def opened(**settings: Any) -> Page:
        context = browser.new_context(**{**usual, **settings})
        contexts.append(context)
        page = context.new_page()
        if SLOW_BROWSER > 1:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW_BROWSER})
        follow_reads(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def signed_in(desk: Desk, window: Callable[..., Page]) -> SignedIn:
    """Somebody signed in, on this page; it is drawn, and reads nothing any more.

    At the inbox a link signs in, as people do it; elsewhere that was before, and one page less is loaded.
    """

    def opened(path: str = "/", name: str = "ana", **settings: Any) -> Page:
        page = window(**settings)
        if path != "/":
            sign_in(desk, page, name)
        page.goto(desk.link(name) if path == "/" else desk.url + path)
        wait_drawn(page)
        wait_settled(page)
        return page

    return opened


def sign_in(desk: Desk, page: Page, name: str) -> None:
    """Give this browser the cookie and the key of somebody who signed in before."""
    code = desk.link(name).partition("#")[2]
    told = page.context.request.post(f"{desk.url}/sign-in", data={"code": code}, headers={"Origin": desk.url})
    assert told.ok, told.text()
    key = json.dumps(told.json()["page"])
    page.add_init_script(f"""if (location.protocol === "http:")
        sessionStorage.kept ||= localStorage.setItem("sayso-page", {key}) ?? "once";""")
