"""Kill -9 between any two statements of a worker or a web server: the next one ends the work, and nothing is twice."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from adjudication.models import Lease, Review
from adjudication.services.leases import slot_claim
from audits.models import Audit, ChangeChart, Job, JobKind, JobState, Look, LookChart
from audits.services.jobs import ATTEMPTS, SILENT_FOR, job_ask
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from audits.tasks import job_due, jobs_sweep, look_due, looks_sweep
from config import celery_app
from core.models import Project, Role, WebhookMessage
from core.pulse import DEAD_AFTER
from core.tasks import answers_sweep, sessions_clear, webhook_due, webhooks_sweep
from core.webhooks import webhook_make
from judges.models import Artifact, Case, CaseSet, Judgment, Reading, Run
from tests import factories
from tests.factories import NOW
from tests.killing import killed_at
from tests.receiving import Receiver, receiver

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

LATER = timedelta(seconds=1)
INTAKE = 40  # cases
INTAKE_STATEMENTS, LOOK_STATEMENTS, CLAIM_STATEMENTS = 41, 7, 3  # between two deaths


def at(now: datetime) -> Callable[[], datetime]:
    return lambda: now


@pytest.fixture
def project(transactional_db: None) -> Project:
    return factories.make_project("alpha")


def registered(project: Project, cases: int = 8) -> Audit:
    verdicts = {f"c{n}": ("Yes", "No" if n % 2 else "Yes") for n in range(cases)}
    audit = factories.make_audit(factories.make_swap(project, verdicts))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


def test_look_whose_worker_was_killed_is_made_once_by_the_next(project: Project) -> None:
    audit, ann, now = registered(project, 40), factories.make_person(project, "ann"), NOW
    for settled in count(1):
        now += timedelta(hours=1)
        factories.answer(audit.queue, ann, now=now)
        work = partial(looks_bring_up_to_date, audit=audit)
        died = killed_at(LOOK_STATEMENTS * (settled - 1), partial(work, clock=at(now)))
        work(clock=at(now + DEAD_AFTER + LATER))
        assert list(Look.objects.order_by("pk").values_list("watermark", flat=True)) == list(range(1, settled + 1))
        if not died:
            break
    assert settled > 3
    assert Audit.objects.get().look_taker == ""


class Sent:
    """The files of an intake, under a name of its own."""

    def __init__(self, folder: Path, project: Project) -> None:
        self.folder, self.lead = folder, factories.make_person(project, "lea", Role.LEAD)

    def ask(self, number: int) -> Job:
        token = f"{'t' * 20}{number}"
        (settings.VAR_DIR / "uploads").mkdir(parents=True, exist_ok=True)
        made = synthetic_project(
            self.folder / token, name=f"a{number}", project="alpha", seed=str(number), number=INTAKE
        )
        shutil.move(made.parent, settings.VAR_DIR / "uploads" / token)
        asked = {"folder": token, "manifest": made.name}
        return job_ask(kind=JobKind.INTAKE, actor=self.lead, now=timezone.now(), asked=asked)


@pytest.fixture
def sent(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sent:
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path / "var")
    return Sent(tmp_path, project)


def brought() -> dict[str, int]:
    """How many rows of each kind, all of them visible."""
    for model in (CaseSet, Run):
        assert set(model._default_manager.values_list("state", flat=True)) <= {"complete"}
    return {model.__name__: model._base_manager.count() for model in (CaseSet, Case, Artifact, Run, Judgment, Reading)}


def test_intake_whose_worker_was_killed_is_done_once_by_the_next(sent: Sent) -> None:
    job_run(job=sent.ask(0).pk, clock=timezone.now)
    whole = brought()
    assert whole["Case"] == INTAKE
    for number in count(1):
        job = sent.ask(number)
        died = killed_at(INTAKE_STATEMENTS * (number - 1) + 1, partial(job_run, job=job.pk, clock=timezone.now))
        later = timezone.now() + SILENT_FOR + LATER
        job_run(job=job.pk, clock=at(later))
        job.refresh_from_db()
        assert (job.state, job.audit and job.audit.name) == (JobState.DONE, f"a{number}"), job.problems
        assert brought() == {name: (number + 1) * rows for name, rows in whole.items()}
        if not died:
            break
    assert number > 3
    assert list((settings.VAR_DIR / "uploads").iterdir()) == []


def test_job_that_ends_its_worker_each_time_is_given_up(sent: Sent) -> None:
    job, now = sent.ask(1), timezone.now()
    for _ in range(ATTEMPTS):
        assert killed_at(20, partial(job_run, job=job.pk, clock=at(now)))
        now = max(now, timezone.now()) + SILENT_FOR + LATER  # it said by the machine's clock that it was alive
    job_run(job=job.pk, clock=at(now))
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.BROKEN, ATTEMPTS)


def test_lease_that_ran_out_goes_to_one_person_though_the_web_server_was_killed_on_the_way(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    people = [factories.make_person(project, name) for name in ("ann", "bob")]
    now = NOW
    factories.claim(queue, people[0], now)
    for statement in count(step=CLAIM_STATEMENTS):
        now += timedelta(hours=1)
        died = killed_at(statement, partial(slot_claim, queue=queue, actor=people[1], now=now))
        live = Lease.objects.filter(ended_at=None)
        assert live.count() <= 1
        if not died:
            break
        assert slot_claim(queue=queue, actor=people[0], now=now) is not None
    assert statement > 3
    assert live.get().author == people[1]
    assert Review.objects.count() == 0


TASKS = [
    look_due,
    job_due,
    jobs_sweep,
    looks_sweep,
    sessions_clear,
    answers_sweep,
    webhook_due,
    webhooks_sweep,
]


def all_at_once(calls: list[tuple[Any, dict[str, Any]]]) -> None:
    """In threads with connections of their own: what draws charts keeps threads itself, and survives no fork."""
    start = Barrier(len(calls), timeout=60)

    def call(task: Any, arguments: dict[str, Any]) -> None:
        start.wait()
        try:
            task(**arguments)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        for done in [pool.submit(call, task, arguments) for task, arguments in calls]:
            done.result()


@pytest.fixture
def told() -> Iterator[Receiver]:
    with receiver() as one:
        yield one


def tables() -> dict[str, int]:
    return {model.__name__: model._base_manager.count() for model in (Look, Audit, Case, Judgment)}


def test_tasks_that_run_at_once_and_again_do_it_once(sent: Sent, project: Project, told: Receiver) -> None:
    ours = {name for name in celery_app.tasks if name.split(".")[0] in ("core", "judges", "adjudication", "audits")}
    assert ours == {task.name for task in TASKS}
    assert {(task.acks_late, task.reject_on_worker_lost) for task in TASKS} == {(True, True)}

    audit, ann = registered(project), factories.make_person(project, "ann")
    factories.answer(audit.queue, ann)
    job = sent.ask(1)
    kinds = ["look.computed", "import.finished"]
    webhook, _ = webhook_make(url=told.url, kinds=kinds, actor=factories.operator(audit), now=NOW)
    named = {
        look_due: {"queue": audit.queue.pk, "number": 1},
        job_due: {"job": job.pk},
        webhook_due: {"endpoint": webhook.pk},
    }
    everything = [(task, named.get(task, {})) for task in TASKS]
    all_at_once(everything * 2)
    once = {"Look": 1, "Audit": 2, "Case": 8 + INTAKE, "Judgment": 2 * 8 + 3 * INTAKE - 1}
    assert tables() == once
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.DONE, 1)
    for task, arguments in everything * 2:
        task(**arguments)
    assert tables() == once
    assert Counter(Look.objects.values_list("audit", "watermark")) == {(audit.pk, 1): 1}
    assert (LookChart.objects.count(), ChangeChart.objects.count()) == (1, 2)
    assert Counter(told.ids) == {message.name: 1 for message in WebhookMessage.objects.all()}
    assert len(told.ids) == len(kinds)
