"""People at their browsers, as far as a server can tell, many to a process: each waits for an answer before it asks on.

What they were told is kept apart from what is stored: whoever tries an installation compares the two.
"""

import http.client
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

PATIENCE = 120.0  # seconds for one answer
MARK = re.compile(rb"\?seen=([0-9a-f]+)")
FORM = re.compile(rb'hx-post="([^"]*/review/[0-9a-f-]{36})"[^>]*data-draft-url')


@dataclass
class Told:
    """What the people of one process met: seconds by kind of request, answers by status, leases said to be answered."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)  # the first words of answers of 5xx

    def add(self, other: "Told") -> None:
        for kind, seconds in other.seconds.items():
            self.seconds.setdefault(kind, []).extend(seconds)
        for status, number in other.statuses.items():
            self.statuses[status] = self.statuses.get(status, 0) + number
        self.acknowledged += other.acknowledged
        self.refusals += other.refusals


class Person:
    """A browser of somebody who is signed in, behind a proxy that speaks TLS."""

    def __init__(self, port: int, origin: str, session: str, told: Told) -> None:
        self.origin, self.told = origin, told
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.cookies = {"tertium_session": session}
        self.address = self.ahead = ""

    def ask(self, kind: str, method: str, path: str, body: bytes = b"", content: str = "") -> tuple[int, bytes]:
        """Status and text; status 0 where no answer came."""
        scheme, _, host = self.origin.partition("://")
        headers = {
            "Host": host,
            "X-Forwarded-Proto": scheme,
            "X-Forwarded-For": "192.0.2.7",
            "Origin": self.origin,
            "Referer": f"{self.origin}/",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
        }
        if method == "POST":
            headers |= {"Content-Type": content or "application/x-www-form-urlencoded", "HX-Request": "true"}
            headers |= {"X-CSRFToken": self.cookies.get("tertium_csrf", "")}
        began = time.perf_counter()
        try:
            status, text = self._exchange(method, path, body, headers)
        except (OSError, http.client.HTTPException):
            status, text = 0, b""
            self.line.close()
        self.told.seconds.setdefault(kind, []).append(time.perf_counter() - began)
        key = f"{kind} {status}"
        self.told.statuses[key] = self.told.statuses.get(key, 0) + 1
        if status >= http.client.INTERNAL_SERVER_ERROR:
            self.told.refusals.append(text.decode(errors="replace"))
        return status, text

    def _exchange(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            self.line.request(method, path, body, headers)
            answer = self.line.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            # A kept connection that the server has closed meanwhile: a browser opens another.
            self.line.close()
            self.line.request(method, path, body, headers)
            answer = self.line.getresponse()
        text = answer.read()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            if found := re.match(r"(\w+)=([^;]*)", cookie):
                self.cookies[found[1]] = found[2]
        return answer.status, text

    def review(self, project: str, label: str = "1", words: str = "a thought") -> bool:
        """Answer the case in hand, or open the desk where none is. False where there is nothing to do."""
        if not self.address:
            status, text = self.ask("desk", "GET", f"/p/{project}/review")
            self._show(text)
            return status != http.client.OK or bool(self.address)
        fields = {"only": label, "rationale": words, "seconds": "5", "ahead": self.ahead[-36:]}
        status, text = self.ask("review", "POST", self.address, urlencode(fields).encode())
        if status in (http.client.OK, http.client.NO_CONTENT):
            self.told.acknowledged.append(self.address[-36:])
            self._show(text)
        elif 0 < status < http.client.INTERNAL_SERVER_ERROR:
            self.address = self.ahead = ""  # refused: the lease is another's by now, or the case is settled
        return True  # where the server is away, the same is sent again

    def _show(self, text: bytes) -> None:
        """The case in hand is the one that had been loaded ahead, or the first on the page."""
        cases = [found.decode() for found in FORM.findall(text)]
        known = [self.ahead, *cases] if b'id="answer"' in text else []
        self.address, self.ahead = ([*[case for case in known if case][-2:], "", ""])[:2]

    def watch(self, project: str, audit: str, seen: str) -> str:
        """One poll of the monitor; what the page has seen after it."""
        status, text = self.ask("monitor", "GET", f"/p/{project}/audits/{audit}/monitor/live?seen={seen}")
        found = MARK.search(text)
        return found[1].decode() if status == http.client.OK and found else seen


def reviewer(person: Person, project: str, think: float, until: float, most: int) -> None:
    """Answer case after case, until the time is over or there have been so many requests."""
    chance = random.Random(person.cookies["tertium_session"])
    time.sleep(chance.random() * min(think, 5))
    while most and time.time() < until and person.review(project):
        most -= 1
        time.sleep(chance.uniform(0.5, 1.5) * think)
        if not person.address:
            time.sleep(0.2)


def watcher(person: Person, project: str, audit: str, every: float, until: float) -> None:
    seen = ""
    while time.time() < until:
        began = time.perf_counter()
        seen = person.watch(project, audit, seen)
        time.sleep(max(0.0, every - (time.perf_counter() - began)))


def at_once(work: Callable[..., None], people: list[Person], *arguments: Any) -> None:
    """Each in a thread of its own; they wait nearly all the time."""
    threads = [threading.Thread(target=work, args=(person, *arguments)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for person in people:
        person.line.close()
