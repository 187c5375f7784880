"""How soon the desk's pages answer, on the embedded default, behind many cases.

    python -m benchmarks.desk --quick                 2,000 cases, under a minute, to see that it works
    python -m benchmarks.desk                         100,000 cases

Makes a queue of that many open items in a folder of its own, of which one reviewer has answered a share, starts the
web server that `make run` starts, and asks as a browser does, over one kept connection. Prints, in milliseconds to
the first byte, the median and the 95th percentile, and the bytes of each answer. The last line holds each page's
median as a ratio to that of the draft, the lightest request.
"""

import argparse
import http.client
import os
import re
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

FULL, QUICK = 100_000, 2000
CHUNK = 2000
ROUNDS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=FULL)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} cases")
    parser.add_argument("--answered", type=float, default=0.2, help="share that the reviewer has answered already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TERTIUM_VAR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        import django

        django.setup()
        session = prepare(QUICK if options.quick else options.cases, options.answered)
        measure(Path(folder), session)


def prepare(cases: int, answered: float) -> str:
    """The world, and the session of its reviewer."""
    from django.core.management import call_command
    from django.test import Client
    from django.utils import timezone

    from adjudication.models import Item, Label, Lease, LeaseEnd, Review, Slot
    from adjudication.services.queues import NewItem, items_add, queue_open
    from core.models import Role
    from core.services import member_add, project_ensure
    from judges.intake.rows import ArtifactRow, CaseRow
    from judges.intake.specs import RubricSpec, ScaleLabel
    from judges.services.cases import artifacts_load, case_set_load
    from judges.services.publishing import rubric_publish

    call_command("migrate", verbosity=0)
    now = timezone.now()
    project = project_ensure(name="bench", now=now)
    author = member_add(project=project, username="reviewer", role=Role.REVIEWER)
    member_add(project=project, username="colleague", role=Role.REVIEWER)
    scale = (ScaleLabel("fail", 0.0), ScaleLabel("pass", 1.0))
    rubric = rubric_publish(project=project, spec=RubricSpec("r", "1", "Is it right?", scale))
    started = time.monotonic()
    case_set, _ = case_set_load(
        project=project,
        name="cases",
        version="1",
        rows=(CaseRow(n, f"c{n}", f"question {n}", {}, "", "") for n in range(cases)),
        partition="development",
        file="cases.csv",
        now=now,
    )
    rows = (ArtifactRow(n, f"c{n}", f"answer {n} " + "words " * 100, ()) for n in range(cases))
    system, _ = artifacts_load(case_set=case_set, system_version="v1", rows=rows, file="cases.csv", now=now)
    queue = queue_open(project=project, name="q", rubric=rubric)
    pairs = list(system.artifacts.order_by("pk").values_list("case", "pk"))
    for start in range(0, cases, CHUNK):
        chunk = enumerate(pairs[start : start + CHUNK], start + 1)
        items_add(queue=queue, items=[NewItem(case, (artifact,), rank, 2) for rank, (case, artifact) in chunk])
    # Answered once, and waiting for the second person: the queue is scanned past these.
    mine = list(Item.objects.filter(queue=queue, rank__lte=cases * answered).order_by("rank"))
    for start in range(0, len(mine), CHUNK):
        items = mine[start : start + CHUNK]
        slots = {slot.item_id: slot for slot in Slot.objects.filter(item__in=items, n=1)}
        reviews = Review.objects.bulk_create(Review(item=item, author=author, at=now) for item in items)
        Label.objects.bulk_create(
            Label(review=review, artifact_id=pairs[item.rank - 1][1], label="pass")
            for review, item in zip(reviews, items, strict=True)
        )
        ended = {"author": author, "taken_at": now, "expires_at": now, "ended_at": now, "end": LeaseEnd.SUBMITTED}
        Lease.objects.bulk_create(Lease(slot=slots[item.pk], item=item, **ended) for item in items)
        Slot.objects.filter(pk__in=[slot.pk for slot in slots.values()]).update(state="done")
    print(f"{cases} items, {len(mine)} answered by the reviewer, made in {time.monotonic() - started:.0f} s")
    client = Client()
    client.force_login(author.user)
    return client.cookies["tertium_session"].value


def measure(var: Path, session: str) -> None:
    from config.embedded import await_web, embedded_broker, embedded_web

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with embedded_broker(var) as broker, embedded_web(var, port=port, environment={"REDIS_URL": broker}) as web:
        await_web(var, web, port)
        browser = Browser(port, session)
        browser.ask("GET", "/p/bench/review")  # the first answer of a process compiles templates
        browser.ask("GET", "/p/bench/work")
        medians = {}
        medians["my work"] = report("my work", lambda: browser.ask("GET", "/p/bench/work"))
        medians["review"] = report("review, reloaded", lambda: browser.ask("GET", "/p/bench/review"))
        medians["draft"] = report(
            "draft saved", lambda: browser.send("/draft", {"rationale": "half a thought", "seconds": "5"})
        )
        medians["answer"] = report(
            "answer saved, next case", lambda: browser.send("", {"only": "1", "rationale": "a thought"})
        )
        ratios = ", ".join(f"{what} {took / medians['draft']:.1f}" for what, took in medians.items())
        print(f"median, as a ratio to saving a draft: {ratios}")


class Browser:
    def __init__(self, port: int, session: str) -> None:
        self.line = http.client.HTTPConnection("localhost", port)
        self.cookies = {"tertium_session": session}
        self.page = ""

    def ask(self, method: str, path: str, data: dict[str, str] | None = None) -> tuple[float, int]:
        """Seconds to the first byte, and how many bytes came."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if data is not None:
            headers |= {
                "Content-Type": "application/x-www-form-urlencoded",
                "X-CSRFToken": self.cookies["tertium_csrf"],
                "HX-Request": "true",
            }
        started = time.perf_counter()
        self.line.request(method, path, urlencode(data) if data is not None else None, headers)
        answer = self.line.getresponse()
        took = time.perf_counter() - started
        body = answer.read()
        assert answer.status in (200, 204), (answer.status, body[:300])
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, value = re.match(r"(\w+)=([^;]*)", cookie).groups()  # type: ignore[union-attr]
            self.cookies[name] = value
        if b'id="answer"' in body:
            self.page = body.decode()
        return took, len(body)

    def send(self, action: str, data: dict[str, str]) -> tuple[float, int]:
        token = re.search(r'hx-post="(/p/bench/review/[0-9a-f-]{36})"[^>]*data-draft-url', self.page)
        assert token is not None
        return self.ask("POST", token[1] + action, data)


def report(what: str, ask: Callable[[], tuple[float, int]]) -> float:
    """Ask many times, print, and give the median back, in milliseconds."""
    answers = [ask() for _ in range(ROUNDS)]
    times = sorted(1000 * took for took, _ in answers)
    sizes = statistics.median(size for _, size in answers)
    print(
        f"{what:<26} median {statistics.median(times):6.1f} ms, 95 % {times[int(0.95 * ROUNDS)]:6.1f} ms, {sizes} bytes"
    )
    return statistics.median(times)


if __name__ == "__main__":
    main()
