"""A real browser against a real server: Debian's Chromium, or the one that Playwright keeps."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect
from pytest_django.live_server_helper import LiveServer

from core.models import Author

# Playwright's own loop runs in this thread; the tests here are as synchronous as all others.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ALONE = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
QUIET = ["--disable-component-update", "--disable-sync"]
expect.set_options(timeout=15_000)  # a wait ends when it is met; only a slow machine needs this long
POLICY = "Content Security Policy"
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="session")
def browser_type_launch_args(playwright: Playwright, browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    if CHROMIUM is None and not Path(playwright.chromium.executable_path).exists():
        pytest.skip("no Chromium: apt-get install --no-install-recommends chromium, or playwright install chromium")
    where = {"executable_path": CHROMIUM} if CHROMIUM else {}
    return {**browser_type_launch_args, **where, "args": ["--no-sandbox", *ALONE, *QUIET]}


Open = Callable[..., Page]


@pytest.fixture
def open_as(browser: Browser, live_server: LiveServer) -> Iterator[Open]:
    """`open_as(author, path, **context)`: a browser of that person's own, signed in, at a page. What any page
    complains of (an error of a script, something that the policy refused) fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(author: Author | None, path: str, **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(20_000)
        contexts.append(context)
        if author is not None:
            context.add_cookies([session_cookie(author, live_server.url)])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if POLICY in said.text else None)
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def session_cookie(author: Author, url: str) -> Any:
    client = Client()
    client.force_login(author.user)
    return {"name": "tertium_session", "value": client.cookies["tertium_session"].value, "url": url}


def barriers(page: Page) -> list[str]:
    """What axe finds that keeps people out: rule and place."""
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:120]}" for rule in found if rule["impact"] in SERIOUS]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
