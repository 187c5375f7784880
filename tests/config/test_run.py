"""`make run`, as somebody who has just copied the project meets it."""

import contextlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.core.management.base import CommandError

from config.management.commands import run

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds, on a machine that does something else as well


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(var: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command, once it has said where it is; it is stopped as by Ctrl-C, and has to stop."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-u", "manage.py", "run", "--port", str(port)],
        cwd=ROOT,
        env=kept | {"TERTIUM_VAR": str(var)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if "accounts.txt" in line:
            break
    try:
        yield process, lines
    finally:
        process.send_signal(signal.SIGINT)
        try:
            lines += process.communicate(timeout=PATIENCE)[0].splitlines()
        finally:
            process.kill()
        assert process.returncode == 0


def signed_in(port: int, username: str, password: str) -> tuple[urllib.request.OpenerDirector, str]:
    """A browser of theirs, and where signing in leads."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    form = opener.open(f"http://localhost:{port}/login", timeout=PATIENCE).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
    assert token is not None
    data = urlencode({"username": username, "password": password, "csrfmiddlewaretoken": token[1]}).encode()
    return opener, str(opener.open(f"http://localhost:{port}/login", data, timeout=PATIENCE).url)


def accounts(var: Path) -> dict[str, str]:
    lines = (var / "accounts.txt").read_text().splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def test_first_run_makes_a_project_that_people_can_sign_in_to(tmp_path: Path) -> None:
    port, var = free_port(), tmp_path / "var"
    with running(var, port) as (_, lines):
        assert f"Tertium runs at http://localhost:{port}    (Ctrl-C stops it)" in lines
        people = accounts(var)
        assert list(people) == ["owner", "lead", "reviewer-1", "reviewer-2", "reviewer-3", "adjudicator"]
        assert len(set(people.values())) == 6
        assert stat.S_IMODE((var / "accounts.txt").stat().st_mode) == 0o600
        browser, page = signed_in(port, "reviewer-2", people["reviewer-2"])
        assert page.endswith("/p/demonstration/work")
        # The API counts requests in the broker that the command started.
        desk = browser.open(f"http://localhost:{port}/api/v1/projects/demonstration/desk", timeout=PATIENCE)
        assert json.load(desk)["reviews"] > 0
        assert "not counted" not in (var / "web.log").read_text()
    assert lines[-1] == "Stopped. Everything is kept: make run starts it again."
    assert not (var / "valkey.sock").exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port))

    started = time.monotonic()
    with running(var, port) as (_, again):
        took = time.monotonic() - started
        assert accounts(var) == people
        assert not any(password in "\n".join(again) for password in people.values())
        assert signed_in(port, "adjudicator", people["adjudicator"])[1].endswith("/p/demonstration/work")
    # 2 s on an idle machine with two cores; here other tests may run beside it.
    assert took < 20


def test_taken_port_is_said_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            CommandError, match=f"^port {port} is taken by another program, .*make run PORT={port + 1}$"
        ):
            run._refuse(port, tmp_path)


@pytest.mark.parametrize("port", [0, 80, 65536])
def test_impossible_port_is_refused(tmp_path: Path, port: int) -> None:
    with pytest.raises(CommandError, match=f"^port {port} cannot be used; allowed: 1024 to 65535$"):
        run._refuse(port, tmp_path)


def test_folder_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write anywhere
    with pytest.raises(CommandError, match="cannot be written to: name another one for the data, as in: make run"):
        run._refuse(free_port(), tmp_path)


def test_setting_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environment = {"PATH": os.environ["PATH"], "TERTIUM_VAR": str(tmp_path / "file" / "var")}
    command = [sys.executable, "manage.py", "run"]
    start = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (start.returncode, len(start.stderr.splitlines())) == (2, 1)
    assert start.stderr.startswith("the folder ")
