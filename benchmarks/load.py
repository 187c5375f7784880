"""Everything at once on one machine: reviewers, an intake, an export and leads who watch, over real processes.

    python -m benchmarks.load                    PostgreSQL and Valkey: 100 reviewers for 120 s beside 100,000 rows
    python -m benchmarks.load --sqlite           the default installation, as `make run` starts it
    python -m benchmarks.load --seconds 10 --reviewers 20 --rows 4000      to see that it works
    python -m benchmarks.load --viewers          10, 50 and 100 leads at one live monitor, and what a poll costs

Each reviewer answers as fast as the server brings cases, or thinks for about `--think` seconds first. Clients run in
two processes beside the server, and take part of its machine. Rows are those of all files of the intake, which a lead
sends through the page; the export is the audit's reviews, again and again. What is stored is then held against what
the reviewers were told: a review that was acknowledged and is not there is lost, one that is there twice is doubled.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.people import Person, Told, at_once, reviewer, watcher

PROJECT, AUDIT = "bench", "live"
CASES = 6000  # all of them drawn
WATCHED_EVERY = 1.0  # seconds, as the page does it
CLIENTS = 2  # processes
VIEWERS = (10, 50, 100)
VIEWED = 20.0  # seconds
LONGEST = 3600.0  # seconds that an intake may take
FORK_FREE = multiprocessing.get_context("spawn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--reviewers", type=int, default=100)
    parser.add_argument("--leads", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--think", type=float, default=0)
    parser.add_argument("--most", type=int, default=-1, help="requests of each reviewer; -1: any number")
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--viewers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tertium-load-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        os.environ |= {"TERTIUM_VAR": name, "DJANGO_SETTINGS_MODULE": "config.settings"}
        origin, start = stack.enter_context(installed(folder, sqlite=options.sqlite))
        sessions = prepare(folder, options.reviewers, max(VIEWERS) if options.viewers else options.leads + 1)
        roots = start()
        if options.viewers:
            figures = viewers(Crowd(roots["web"][0], origin, sessions), roots)
        else:
            figures = load(Crowd(roots["web"][0], origin, sessions), roots, folder, options)
    print(json.dumps({"benchmark": "load", "database": "SQLite" if options.sqlite else "PostgreSQL", **figures}))


Roots = dict[str, tuple[int, int]]  # of each part of the installation: its port, or 0, and its process


@contextlib.contextmanager
def installed(folder: Path, *, sqlite: bool) -> Iterator[tuple[str, Callable[[], Roots]]]:
    """An installation whose database is there; what starts the rest gives back its ports and processes."""
    from tests.house import GIVEN, HOST, house
    from tests.services import postgres_server

    with contextlib.ExitStack() as stack:
        if sqlite:
            yield "http://localhost", lambda: stack.enter_context(embedded(folder))
            return
        server = stack.enter_context(postgres_server())
        # The same key, so that sessions made here are good there.
        os.environ |= {"DATABASE_URL": server.url, "SECRET_KEY": GIVEN["SECRET_KEY"]}
        built = stack.enter_context(house(folder, server.url))

        def start() -> Roots:
            built.start("broker", "worker", "beat", "web")
            there = {name: (built.ports.get(name, 0), process.pid) for name, process in built.processes.items()}
            return there | {"database": (0, server.pid)}

        yield f"https://{HOST}", start


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Roots]:
    from celery import Celery

    from config.embedded import await_web, embedded_broker, embedded_web, embedded_worker
    from tests.house import free_port

    port = free_port()
    with (
        embedded_broker(folder) as broker,
        embedded_worker(folder, broker=broker) as node,
        embedded_web(folder, port=port, environment={"REDIS_URL": broker}) as web,
    ):
        await_web(folder, web, port)
        with Celery(broker=broker, set_as_current=False) as client:
            worker = client.control.inspect([node], timeout=10).stats()[node]["pid"]
        yield {"web": (port, web.pid), "worker": (0, worker)}


def prepare(
    folder: Path, reviewers: int, leads: int, cases: int = CASES, endless: bool = False
) -> dict[str, list[str]]:
    """An audit of which every case is drawn, and the sessions of its people. `endless`: no look is its last."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.utils import timezone

    from audits.manifest import load_manifest
    from audits.services.opening import audit_open
    from audits.services.registering import audit_extend, audit_register
    from audits.synthetic import synthetic_project
    from core.models import Project, Role
    from core.services import member_add, operator_at

    call_command("migrate", verbosity=0)
    now = timezone.now()
    actor = operator_at(project=PROJECT, now=now)
    manifest = synthetic_project(folder / "in", name=AUDIT, project=PROJECT, seed="1", number=cases)
    if endless:
        manifest.write_text(manifest.read_text().replace("policy: monitored", "policy: anytime"))
    audit = audit_open(manifest=load_manifest(manifest), actor=actor, now=now).audit
    audit_register(audit=audit, actor=actor, now=now)
    sizes = dict(audit.strata.values_list("name", "size"))
    audit_extend(audit=audit, labels=sizes, actor=actor, now=now)
    project = Project.objects.get(name=PROJECT)
    sessions: dict[str, list[str]] = {}
    for role, number in ((Role.REVIEWER, reviewers), (Role.LEAD, leads)):
        for n in range(number):
            author = member_add(project=project, username=f"{role}-{n}", role=role)
            client = Client()
            client.force_login(author.user)
            sessions.setdefault(role, []).append(client.cookies["tertium_session"].value)
    connection.close()
    return sessions


class Crowd:
    """The people of an installation, from two processes of their own."""

    def __init__(self, port: int, origin: str, sessions: dict[str, list[str]]) -> None:
        self.port, self.origin, self.sessions = port, origin, sessions

    def person(self, role: str, number: int, told: Told) -> Person:
        return Person(self.port, self.origin, self.sessions[role][number], told)

    def work(self, seconds: float, think: float, leads: int, most: int = -1) -> Told:
        """Reviewers work, and that many leads watch, until the time is over or each has done so much."""
        reviewers, end = self.sessions.get("reviewer", []), time.time() + seconds
        parts = [
            (self.port, self.origin, reviewers[n::CLIENTS], self.sessions["lead"][:leads][n::CLIENTS], think, end, most)
            for n in range(CLIENTS)
        ]
        told = Told()
        with FORK_FREE.Pool(CLIENTS) as pool:
            for part in pool.map(_part_of_the_crowd, parts, chunksize=1):
                told.add(part)
        return told


def _part_of_the_crowd(part: tuple[int, str, list[str], list[str], float, float, int]) -> Told:
    port, origin, reviewers, leads, think, end, most = part
    told = Told()
    threads = [
        threading.Thread(target=at_once, args=(work, [Person(port, origin, one, told) for one in some], *arguments))
        for work, some, arguments in (
            (reviewer, reviewers, (PROJECT, think, end, most)),
            (watcher, leads, (PROJECT, AUDIT, WATCHED_EVERY, end if most < 0 else time.time() + 1)),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def load(crowd: Crowd, roots: Roots, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from audits.synthetic import synthetic_project

    sent = synthetic_project(folder / "sent", name="beside", project=PROJECT, seed="2", number=options.rows // 4).parent
    beside, intake, exports = Told(), Intake(crowd, sent), Exports(crowd)
    over = threading.Event()
    memory = Memory(roots)
    threads = [threading.Thread(target=work, args=(over,)) for work in (memory.watch, intake.run, exports.run)]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    told = crowd.work(options.seconds, options.think, options.leads, options.most)
    seconds = time.perf_counter() - began
    over.set()
    for thread in threads:
        thread.join()
    beside.add(intake.told)
    beside.add(exports.told)
    figures = {
        "seconds": round(seconds, 1),
        "reviews_a_second": round(len(told.acknowledged) / seconds, 1),
        **{kind: spread(told.seconds.get(kind, [])) for kind in ("review", "monitor")},
        "statuses": dict(sorted((told.statuses | beside.statuses).items())),
        "intake": intake.figures(),
        "export": exports.figures(),
        "memory_mib": memory.most,
        **stored(told.acknowledged),
    }
    told.add(beside)
    wrong = {status: number for status, number in told.statuses.items() if int(status.split()[-1]) // 100 not in (2, 3)}
    figures["errors"] = wrong
    for name, figure in figures.items():
        print(f"{name:<18} {figure}", flush=True)
    return figures


def spread(seconds: list[float]) -> dict[str, float]:
    """Milliseconds."""
    if not seconds:
        return {}
    ordered = sorted(1000 * one for one in seconds)
    high = ordered[int(0.95 * (len(ordered) - 1))]
    figures = {"p50": statistics.median(ordered), "p95": high, "worst": ordered[-1]}
    return {"n": len(ordered)} | {name: round(figure, 1) for name, figure in figures.items()}


def stored(acknowledged: list[str]) -> dict[str, Any]:
    """What the database has, beside what people were told."""
    from django.db.models import Count

    from adjudication.models import Lease, LeaseEnd, Review
    from audits.models import Look

    answered = {str(token) for token in Lease.objects.filter(end=LeaseEnd.SUBMITTED).values_list("token", flat=True)}
    twice = Review.objects.values("item", "author").annotate(n=Count("pk")).filter(n__gt=1).count()
    held = Lease.objects.filter(ended_at=None).values("slot").annotate(n=Count("pk")).filter(n__gt=1).count()
    return {
        "acknowledged": len(set(acknowledged)),
        "stored": Review.objects.count(),
        "lost": len(set(acknowledged) - answered),
        "doubled": twice + held + Review.objects.count() - len(answered),
        "looks": Look.objects.count(),
    }


class Intake:
    """A lead sends files through the page, and looks at the job until it has ended."""

    def __init__(self, crowd: Crowd, folder: Path) -> None:
        self.told = Told()
        self.lead, self.folder = crowd.person("lead", -1, self.told), folder
        self.seconds: float | None = None

    def run(self, over: threading.Event) -> None:
        self.lead.ask("form", "GET", f"/p/{PROJECT}/audits/new")
        began = time.perf_counter()
        content, body = multipart(self.folder, self.lead.cookies["tertium_csrf"])
        self.lead.ask("upload", "POST", f"/p/{PROJECT}/audits/new", body, content)
        # It may take longer than the reviewers work.
        while not self._ended() and time.perf_counter() - began < LONGEST:
            time.sleep(1)
        self.seconds = time.perf_counter() - began
        self.lead.line.close()

    def _ended(self) -> bool:
        from django.db import connection

        from audits.models import Job

        try:
            return Job.objects.filter(ended_at__isnull=False).exists()
        finally:
            connection.close()

    def figures(self) -> dict[str, Any]:
        from audits.models import Job
        from judges.models import Artifact, Case, Judgment

        rows = {model.__name__: model._default_manager.count() for model in (Case, Artifact, Judgment)}
        state = Job.objects.values_list("state", flat=True).first()
        return {"seconds": round(self.seconds or 0, 1), "state": state, "rows stored in all": rows}


def multipart(folder: Path, token: str) -> tuple[str, bytes]:
    parts = [("csrfmiddlewaretoken", "", token.encode())]
    for path in sorted(folder.iterdir()):
        name = "manifest" if path.name == "manifest.yaml" else "files"
        parts.append((name, f'; filename="{path.name}"', path.read_bytes()))
    body = b"".join(
        f'--b0b0b0\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"
        for name, file, content in parts
    )
    return "multipart/form-data; boundary=b0b0b0", body + b"--b0b0b0--\r\n"


class Exports:
    """A lead takes all reviews away, again and again."""

    def __init__(self, crowd: Crowd) -> None:
        self.told = Told()
        self.lead = crowd.person("lead", -1, self.told)
        self.lines = 0

    def run(self, over: threading.Event) -> None:
        while not over.is_set():
            _, text = self.lead.ask("export", "GET", f"/p/{PROJECT}/audits/{AUDIT}/reviews.csv")
            self.lines = text.count(b"\n")
            over.wait(1)
        self.lead.line.close()

    def figures(self) -> dict[str, Any]:
        return spread(self.told.seconds.get("export", [])) | {"lines of the last": self.lines}


class Memory:
    """The most that each part had at once, in MiB: what several processes share counts once (Linux)."""

    def __init__(self, roots: Roots) -> None:
        self.roots = {name: pid for name, (_, pid) in roots.items()}
        self.most = dict.fromkeys(self.roots, 0)

    def watch(self, over: threading.Event) -> None:
        while not over.wait(2):
            below = family(self.roots)
            for name, pids in below.items():
                self.most[name] = max(self.most[name], sum(proportional(pid) for pid in pids) // 1024)


def family(roots: dict[str, int]) -> dict[str, set[int]]:
    """Each process with all that it has started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    members = {name: {pid} for name, pid in roots.items()}
    for pids in members.values():
        while more := {pid for pid, parent in parents.items() if parent in pids} - pids:
            pids |= more
    return members


def proportional(pid: int) -> int:
    with contextlib.suppress(OSError):
        if found := re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE):
            return int(found[1])
    return 0


def viewers(crowd: Crowd, roots: Roots) -> dict[str, Any]:
    """Leads at one monitor while somebody settles cases: what a poll costs, and what is computed for them."""
    figures: dict[str, Any] = {}
    reviewers = crowd.sessions.pop("reviewer")[:1]
    for number in VIEWERS:
        crowd.sessions["reviewer"] = reviewers
        before, looks = spent(roots["web"][1]), stored([])["looks"]
        told = crowd.work(VIEWED, think=2, leads=number)
        polls = len(told.seconds["monitor"])
        figures[f"{number} leads"] = {
            **spread(told.seconds["monitor"]),
            "polls_a_second": round(polls / VIEWED, 1),
            "cpu_ms_a_poll": round(1000 * (spent(roots["web"][1]) - before) / polls, 1),
            "new": told.statuses.get("monitor 200", 0),
            "settlements": len(told.acknowledged),
            "looks computed": stored([])["looks"] - looks,
            "errors": {status: n for status, n in told.statuses.items() if int(status.split()[-1]) // 100 != 2},
        }
        print(f"{number} leads: {figures[f'{number} leads']}", flush=True)
    return figures


def spent(server: int) -> float:
    """Seconds of processor that a server's processes have used so far (Linux)."""
    ticks = 0
    for pid in family({"server": server})["server"]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
