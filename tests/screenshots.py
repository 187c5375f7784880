"""`python -m tests.screenshots [FOLDER]`: the pictures of the README, of a demonstration that is made for them.

Runs the whole product in a folder of its own, signs in as each person and takes a picture of each page.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE = {"viewport": {"width": 1280, "height": 760}}
TALL = {"viewport": {"width": 1280, "height": 1100}}
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
DARK = {**WIDE, "color_scheme": "dark"}


@dataclass(frozen=True)
class Picture:
    name: str
    person: str
    path: str
    context: dict[str, Any]
    keys: Sequence[str] = ()
    wait_for: str = "main"


PICTURES = (
    Picture("review", "reviewer-1", "review", WIDE, ("2",)),
    Picture("review-phone", "reviewer-1", "review", PHONE),
    Picture("settle-dark", "adjudicator", "review", DARK),
    Picture("monitor", "lead", "audits/grader-swap/monitor", TALL, wait_for="img[src*=chart]"),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as var, sync_playwright() as playwright:
        port = _free_port()
        server = _start(Path(var), port)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            accounts = dict(line.split()[:2] for line in (Path(var) / "accounts.txt").read_text().splitlines())
            for picture in PICTURES:
                page = _signed_in(browser, f"http://localhost:{port}", picture, accounts[picture.person])
                page.screenshot(path=folder / f"{picture.name}.png")
                page.context.close()
        finally:
            browser.close()
            server.send_signal(signal.SIGINT)
            server.wait()


def _start(var: Path, port: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "manage.py", "run", "--port", str(port)]
    environment = os.environ | {"TERTIUM_VAR": str(var)}
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    next(line for line in server.stdout if "accounts.txt" in line)
    return server


def _signed_in(browser: Browser, base: str, picture: Picture, password: str) -> Page:
    page = browser.new_context(base_url=base, **picture.context).new_page()
    page.goto("/login")
    page.locator("#id_username").fill(picture.person)
    page.locator("#id_password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/p/**")
    page.goto(f"/p/demonstration/{picture.path}")
    page.wait_for_selector(picture.wait_for, timeout=60_000)  # the worker computes what the page then shows
    for key in picture.keys:
        page.keyboard.press(key)
    if picture.keys:
        page.wait_for_timeout(1000)  # a draft is saved meanwhile
    return page


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "img")
