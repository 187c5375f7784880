"""What an installation does when one of its processes dies: all of compose.yaml, with PostgreSQL and Valkey, for real.

    python -m benchmarks.faults                  every fault, one after another, each to its end: some ten minutes
    python -m benchmarks.faults --only broker    worker, child, look, export, web, broker or database

Four reviewers work on all the while; what they were told is held against what is stored after each fault. Nothing is
helped on: what is waited for comes by itself, or the run fails. Each line says how long that took.
"""

import argparse
import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from benchmarks.load import AUDIT, PROJECT, prepare
from benchmarks.people import Person, Told, at_once
from tests.house import GIVEN, HOST, House, house, until
from tests.services import Server, postgres_server

REVIEWERS = 4
CASES, AUDITED = 500, 4000  # of an intake that is killed, and of the audit that people work on: more than they do
PAUSE = 2.0  # seconds of a reviewer between two answers
ACCEPTED = 20  # reviews while the broker is away
REFUSED = 5  # requests while the database is away
PATIENCE = 900.0  # seconds for what has to come by itself
CANARY = "Patient Kowalska born 1961 said that"
CLEAN = (HTTPStatus.OK, HTTPStatus.NO_CONTENT, HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[fault.__name__ for fault in FAULTS])
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory(prefix="tertium-faults-") as name, postgres_server() as server:
        os.environ |= {"TERTIUM_VAR": name, "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ |= {"DATABASE_URL": server.url, "SECRET_KEY": GIVEN["SECRET_KEY"]}
        sessions = prepare(Path(name), REVIEWERS, 1, AUDITED, endless=True)
        with house(Path(name), server.url) as built:
            built.start("broker", "worker", "beat", "web")
            installation = Installation(built, server, sessions)
            for fault in FAULTS:
                if only in (None, fault.__name__):
                    installation.meet(fault)


class Installation:
    def __init__(self, built: House, server: Server, sessions: dict[str, list[str]]) -> None:
        self.house, self.server, self.sessions = built, server, sessions
        self.told = Told()
        self.sent = 0

    def person(self, role: str, number: int, told: Told | None = None) -> Person:
        origin = f"https://{HOST}"
        return Person(self.house.ports["web"], origin, self.sessions[role][number], self.told if told is None else told)

    def meet(self, fault: "Callable[[Installation], str]") -> None:
        began = time.monotonic()
        try:
            with self.reviewers():
                said = fault(self)
        except AssertionError:
            self.show()
            raise
        self.nothing_lost()
        print(f"{fault.__name__:<10} {said}; all of it {time.monotonic() - began:.0f} s", flush=True)

    def show(self) -> None:
        from audits.models import Job

        for job in asked(
            lambda: list(Job.objects.values("pk", "state", "attempt", "progress", "touched_at", "problems"))
        ):
            print(job)
        for name in self.house.processes:
            print(f"{name}: {self.house.log(name).read_text(errors='replace')[-3000:]}", flush=True)

    @contextlib.contextmanager
    def reviewers(self) -> Iterator[None]:
        """They answer, and send again what was not taken, until the block ends."""
        over = threading.Event()

        def work(person: Person) -> None:
            while not over.is_set():
                person.review(PROJECT, words=CANARY)
                over.wait(PAUSE)

        people = [self.person("reviewer", n) for n in range(REVIEWERS)]
        crowd = threading.Thread(target=at_once, args=(work, people))
        crowd.start()
        try:
            before = len(self.told.acknowledged)
            until(lambda: len(self.told.acknowledged) > before, "reviewers answer", PATIENCE)
            yield
        finally:
            over.set()
            crowd.join()

    def nothing_lost(self) -> None:
        from benchmarks.load import stored

        there = asked(lambda: stored(self.told.acknowledged))
        assert (there["lost"], there["doubled"]) == (0, 0), there
        for name in self.house.processes:
            assert CANARY not in self.house.log(name).read_text(errors="replace"), f"the log of {name} quotes a review"
        for text in self.told.refusals:
            assert "Traceback" not in text
            assert CANARY not in text
        seen = {int(status.split()[-1]) for status in self.told.statuses}
        assert seen <= {0, *CLEAN}, self.told.statuses

    def ask_intake(self) -> int:
        """Files that wait, and the job that will take them: its number."""
        from django.conf import settings
        from django.utils import timezone

        from audits.models import JobKind
        from audits.services.jobs import job_ask
        from audits.synthetic import synthetic_project
        from core.models import Author

        self.sent += 1
        token = f"{'t' * 20}{self.sent}"
        folder: Path = settings.VAR_DIR / "uploads" / token
        folder.parent.mkdir(exist_ok=True)
        made = settings.VAR_DIR / token
        synthetic_project(made, name=f"sent-{self.sent}", project=PROJECT, seed=str(100 + self.sent), number=CASES)
        shutil.move(made, folder)
        lead = Author.objects.filter(project__name=PROJECT, user__username="lead-0").get()
        asked = {"folder": token, "manifest": "manifest.yaml"}
        return job_ask(kind=JobKind.INTAKE, actor=lead, now=timezone.now(), asked=asked).pk

    def intake_under_way(self) -> int:
        job = asked(self.ask_intake)
        until(lambda: asked(lambda: _judgments(job) > 0), "the intake writes judgments", PATIENCE)
        return job

    def intake_done(self, job: int) -> str:
        began = time.monotonic()
        until(lambda: asked(lambda: _ended(job)), "the intake has ended", PATIENCE)
        took = time.monotonic() - began
        asked(lambda: _whole(job))
        return f"the intake was done once, {took:.0f} s later"

    def looks_caught_up(self) -> str:
        began, settled = time.monotonic(), asked(_settled)
        until(lambda: asked(_looked_at) >= settled, "a look at every settlement so far", PATIENCE)
        return f"looks had caught up {time.monotonic() - began:.0f} s later"


def asked(question: Callable[[], Any]) -> Any:
    """Ask the database over a line of one's own: it may have been away since the last question."""
    from django.db import connection

    try:
        return question()
    finally:
        connection.close()


def _judgments(job: int) -> int:
    from audits.models import Job
    from judges.models import Judgment

    running = Job.objects.filter(pk=job, state="running").exists()
    return Judgment.objects.filter(run__state="loading").count() if running else 0


def _ended(job: int) -> bool:
    from audits.models import Job

    return Job.objects.filter(pk=job, ended_at__isnull=False).exists()


def _whole(job: int) -> None:
    from audits.models import Audit, Job
    from judges.models import Artifact, Case, CaseSet, Judgment, Run

    done = Job.objects.get(pk=job)
    assert done.state == "done", (done.state, done.problems)
    assert done.audit is not None
    case_set = done.audit.comparison.case_set
    counts = [
        Case.objects.filter(case_set=case_set).count(),
        Artifact.objects.filter(case__case_set=case_set).count(),
        Judgment.objects.filter(artifact__case__case_set=case_set).count(),
    ]
    assert counts == [CASES, CASES, 3 * CASES - 1], counts
    assert not CaseSet.objects.filter(state="loading").exists()
    assert not Run.objects.filter(state="loading").exists()
    assert Audit.objects.filter(name=done.audit.name).count() == 1


def _settled() -> int:
    from audits.selectors import audit_find, settled_number

    return settled_number(audit_find(AUDIT))


def _looked_at() -> int:
    from audits.selectors import audit_find, last_look

    look = last_look(audit_find(AUDIT))
    return look.watermark if look else 0


def worker(there: Installation) -> str:
    """The worker with all its processes, in the middle of an intake."""
    job = there.intake_under_way()
    there.house.kill("worker")
    there.house.start("worker")
    return f"worker killed: {there.intake_done(job)}, {there.looks_caught_up()}"


def child(there: Installation) -> str:
    """One process of the worker's pool, as the kernel does it where memory runs out."""
    job = there.intake_under_way()
    for pid in there.house.children("worker"):
        os.kill(pid, signal.SIGKILL)
    return f"processes of the pool killed: {there.intake_done(job)}"


def look(there: Installation) -> str:
    from audits.models import Audit

    until(lambda: asked(lambda: Audit.objects.exclude(look_taker="").exists()), "a look is being computed", PATIENCE)
    there.house.kill("worker")
    there.house.start("worker")
    return f"worker killed during a look: {there.looks_caught_up()}"


def export(there: Installation) -> str:
    """What was being sent ends early, and shows it: a part never passes for the whole."""
    whole: list[int] = []
    cut = 0
    while not (cut and whole):
        for pid in there.house.children("web") if not cut else []:
            threading.Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()
        lines = _taken(there.person("lead", 0))
        cut += lines is None
        whole += [lines] if lines else []
    assert whole == sorted(whole)
    return f"processes of the web server killed: {cut} exports cut, and then one whole, of {whole[-1]} lines"


def _taken(lead: Person) -> int | None:
    """The lines of an export, or None where it broke off."""
    headers = {
        "Host": HOST,
        "X-Forwarded-Proto": "https",
        "Cookie": f"tertium_session={lead.cookies['tertium_session']}",
    }
    try:
        lead.line.request("GET", f"/p/{PROJECT}/audits/{AUDIT}/reviews.csv", headers=headers)
        answer = lead.line.getresponse()
        text = answer.read()
    except (OSError, HTTPException):
        return None
    assert answer.status == HTTPStatus.OK
    assert text.endswith(b"\n")
    return text.count(b"\n")


def web(there: Installation) -> str:
    """The web server with all its processes, while people answer."""
    for _ in range(3):
        there.house.kill("web")
        there.house.start("web")
        time.sleep(4)
    return "web server killed three times"


def broker(there: Installation) -> str:
    before = len(there.told.acknowledged)
    there.house.kill("broker")
    began = time.monotonic()
    until(lambda: len(there.told.acknowledged) - before >= ACCEPTED, "reviews are accepted without a broker", PATIENCE)
    away, accepted = time.monotonic() - began, len(there.told.acknowledged) - before
    there.house.start("broker")
    running = {name: process.poll() for name, process in there.house.processes.items()}
    assert set(running.values()) == {None}, running
    return f"broker away for {away:.0f} s, {accepted} reviews accepted meanwhile: {there.looks_caught_up()}"


def database(there: Installation) -> str:
    """Reviews, a look and an intake are under way; nothing but the database is started again."""
    job = there.intake_under_way()
    there.server.stop()
    began = time.monotonic()
    until(lambda: len(there.told.refusals) >= REFUSED, "requests are answered without a database", PATIENCE)
    there.server.start()
    away, refused = time.monotonic() - began, len(there.told.refusals)
    before = len(there.told.acknowledged)
    until(lambda: len(there.told.acknowledged) > before, "a review is accepted again", PATIENCE)
    said = f"database away for {away:.0f} s, {refused} requests answered 503"
    return f"{said}: {there.looks_caught_up()}, {there.intake_done(job)}"


FAULTS: list[Callable[[Installation], str]] = [worker, child, look, export, web, broker, database]


if __name__ == "__main__":
    main()
