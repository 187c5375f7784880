"""An intake is all or nothing: whatever is wrong with it, whoever cancels it, and whenever its worker is killed."""

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from audits.manifest import load_manifest
from audits.models import Audit, Job, JobKind, JobState
from audits.services.jobs import SILENT_FOR, JobProgress, job_ask, job_take
from audits.services.opening import audit_open
from audits.services.uploads import upload_store
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from core.errors import InputError
from core.models import Author, Project, Role
from core.pulse import DEAD_AFTER
from core.services import operator_of
from judges.intake.columns import read_cases
from judges.intake.rows import CaseIndex
from judges.intake.specs import Layout
from judges.intake.streams import Meter
from judges.models import (
    Artifact,
    Case,
    CaseSet,
    Comparison,
    Generator,
    Judgment,
    Mapping,
    Reader,
    Reading,
    Rubric,
    Run,
    SystemVersion,
)
from judges.services import loads
from tests import factories
from tests.factories import NOW
from tests.services import database_url

BROUGHT = [
    Rubric,
    Mapping,
    Generator,
    Reader,
    CaseSet,
    Case,
    SystemVersion,
    Artifact,
    Run,
    Judgment,
    Reading,
    Comparison,
    Audit,
]
CASES = 60
CHUNK = 20
REAL_CASES = 3000  # more than a chunk

real_processes = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project("alpha")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic_project(tmp_path / "sent", name="swap", project="alpha", seed="5", number=CASES).parent


def left() -> dict[str, int]:
    """What there is of all that an intake can bring."""
    return {model.__name__: number for model in BROUGHT if (number := model._default_manager.count())}


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def intake(folder: Path, project: Project, **more: Any) -> Any:
    return audit_open(manifest=load_manifest(folder / "manifest.yaml"), actor=operator_of(project), now=NOW, **more)


def _bad_last_row(folder: Path) -> None:
    file = folder / "candidate.csv"
    file.write_text(file.read_text() + "nobody" + "," * file.read_text().splitlines()[0].count(",") + "\n")


@pytest.mark.database
def test_bad_last_row_of_the_last_file_leaves_nothing(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loads, "CHUNK", CHUNK)
    _bad_last_row(folder)
    with pytest.raises(InputError) as caught:
        intake(folder, project)
    assert [(problem.file, problem.row) for problem in caught.value.problems] == [("candidate.csv", CASES + 1)]
    assert left() == {}


@pytest.mark.database
def test_conflict_with_what_is_stored_publishes_no_rubric_mapping_or_generator(project: Project, folder: Path) -> None:
    intake(folder, project)
    before = left()
    change(folder / "manifest.yaml", "migration_id: swap", "migration_id: another")
    change(folder / "manifest.yaml", "name: right-answer", "name: other-rubric")
    change(folder / "manifest.yaml", "words@1", "words@2")
    change(folder / "manifest.yaml", "grader-large", "grader-huge")
    change(folder / "cases.tsv", "What is", "What really is")
    with pytest.raises(InputError, match=r"with other content \(stored [0-9a-f]{12}, given [0-9a-f]{12}\)"):
        intake(folder, project)
    assert left() == before


def test_conflicts_and_bad_rows_are_told_together(project: Project, folder: Path) -> None:
    intake(folder, project)
    change(folder / "manifest.yaml", "migration_id: swap", "migration_id: another")
    (folder / "guideline.md").write_text("Something else.")
    _bad_last_row(folder)
    with pytest.raises(InputError) as caught:
        intake(folder, project)
    assert [problem.key or problem.file for problem in caught.value.problems] == ["rubric.version", "candidate.csv"]


def test_case_that_the_stored_set_lacks_is_told_once(project: Project, folder: Path) -> None:
    intake(folder, project)
    change(folder / "manifest.yaml", "migration_id: swap", "migration_id: another")
    change(folder / "manifest.yaml", "pocket-calculator-2", "pocket-calculator-3")
    line = (folder / "cases.tsv").read_text().splitlines()[-1]
    case_id = line.split("\t")[0]
    change(folder / "cases.tsv", line, line.replace(case_id, "another-case"))
    with pytest.raises(InputError) as caught:
        intake(folder, project)
    told = [(problem.file, problem.row, problem.what.partition(" for case ")[0]) for problem in caught.value.problems]
    frozen = f"case set arithmetic 5-{CASES} is frozen and has nothing"
    assert told[0] == ("cases.tsv", CASES, frozen)
    assert {(file, what) for file, _, what in told[1:]} == {
        ("baseline.csv", "no case has this id"),
        ("candidate.csv", "no case has this id"),
        ("candidate-again.csv", "no case has this id"),
    }


@pytest.mark.database
def test_readings_of_a_new_reader_over_an_old_run_go_with_their_load(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake(folder, project)
    before = left()
    change(folder / "manifest.yaml", "migration_id: swap", "migration_id: another")
    change(folder / "manifest.yaml", "words@1", "words@2")
    change(folder / "manifest.yaml", '"supported": pass', '"supported": fail')
    seen: list[int] = []

    def broken(*_: Any, **__: Any) -> None:
        seen.append(Reading.objects.count())
        raise ConnectionResetError

    with monkeypatch.context() as patch:
        patch.setattr("judges.services.comparisons.summary_made", broken)
        with pytest.raises(ConnectionResetError):
            intake(folder, project)
    assert seen[0] > before["Reading"]
    assert left() == before
    assert intake(folder, project).audit.name == "another"


# Cancelling.


@pytest.fixture
def lead(project: Project) -> Author:
    return factories.make_person(project, "lea", Role.LEAD)


class _Sent:
    """A file as a browser sends it."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name

    def chunks(self) -> Iterator[bytes]:
        yield self.path.read_bytes()


@pytest.fixture
def job(lead: Author, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """An intake that waits, with its files."""
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path / "var")
    token = upload_store([_Sent(path) for path in sorted(folder.iterdir())])  # type: ignore[arg-type]
    return job_ask(kind=JobKind.INTAKE, actor=lead, now=NOW, asked={"folder": token, "manifest": "manifest.yaml"})


def uploads() -> list[Path]:
    return list((settings.VAR_DIR / "uploads").iterdir())


def _on_its_page(job: Job, lead: Author) -> None:
    client = Client()
    client.force_login(lead.user)
    assert "Cancel this intake" in client.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    answer = client.post(f"/p/alpha/jobs/{job.pk}/cancel")
    assert (answer.status_code, answer["Location"]) == (302, f"/p/alpha/jobs/{job.pk}")
    page = client.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert "Cancelled. No audit was opened" in page
    assert "Cancel this intake" not in page


def _by_command(job: Job, lead: Author) -> None:
    call_command("cancel_intake", str(job.pk))


@pytest.mark.parametrize("cancel", [_on_its_page, _by_command])
def test_intake_that_waits_is_cancelled(job: Job, lead: Author, cancel: Callable[[Job, Author], None]) -> None:
    cancel(job, lead)
    assert uploads() == []
    job_run(job=job.pk, clock=lambda: NOW)
    assert (Job.objects.get().state, left()) == (JobState.CANCELLED, {})


@pytest.mark.database
@pytest.mark.parametrize("model", [Case, Artifact, Judgment])
@pytest.mark.parametrize("cancel", [_on_its_page, _by_command])
def test_intake_that_runs_ends_within_a_chunk_and_leaves_nothing(
    job: Job,
    lead: Author,
    model: type[Any],
    cancel: Callable[[Job, Author], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loads, "CHUNK", CHUNK)
    monkeypatch.setattr("audits.services.jobs.CHUNK", CHUNK)
    written = loads.load_rows.__globals__["Load"].touch
    numbers: list[int] = []

    def touch(load: loads.Load) -> None:
        written(load)
        number = model.objects.count()
        if number and not numbers:
            cancel(job, lead)
        if number:
            numbers.append(number)

    monkeypatch.setattr(loads.Load, "touch", touch)
    job_run(job=job.pk, clock=lambda: NOW)
    assert numbers == [CHUNK]
    assert (Job.objects.get().state, left(), uploads()) == (JobState.CANCELLED, {}, [])


def test_page_shows_how_many_rows_are_done_of_how_many(job: Job, lead: Author) -> None:
    taken = job_take(job=job.pk, now=NOW)
    assert taken is not None
    rows = JobProgress(taken)("judgments of baseline", iter(range(1250)), 5000)
    assert len(list(rows)) == 1250
    client = Client()
    client.force_login(lead.user)
    page = client.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert "judgments of baseline: 1,250 of 5,000 rows" in page
    assert '<progress max="5000" value="1250"' in page


@pytest.mark.parametrize("packed", [False, True])
def test_page_shows_how_much_of_the_cases_is_read_before_their_number_is_known(
    job: Job, lead: Author, folder: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BEHAVIOUR 25."""
    monkeypatch.setattr("audits.services.jobs.CHUNK", 500)
    lines = [f"q{number:04},What?,{'so ' * 40}\n" for number in range(2000)]
    content = "case_id,question,answer\n" + "".join(lines)
    path = folder / "cases.csv"
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    source = load_manifest(folder / "manifest.yaml").case_source
    source = replace(source, file="cases.csv", format="csv", slices={}, layout=Layout(files=("cases.csv",)))
    taken = job_take(job=job.pk, now=NOW)
    assert taken is not None
    meter = Meter([path])
    client = Client()
    client.force_login(lead.user)
    shown = []
    rows = read_cases(path, source, CaseIndex(), meter=meter)
    for number, _ in enumerate(JobProgress(taken)("cases", rows, None, meter), 1):
        if number % 500 == 0:
            page = client.get(f"/p/alpha/jobs/{job.pk}").content.decode()
            shown += re.findall(r'<progress max="([0-9]+)" value="([0-9]+)"', page)
    size = path.stat().st_size
    assert [int(most) for most, _ in shown] == [size] * 4
    done = [int(value) for _, value in shown]
    assert done == sorted(done)
    assert all(packed or abs(value / size - part) < 0.1 for value, part in zip(done, (0.25, 0.5, 0.75, 1), strict=True))
    page = client.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert f"cases: 2,000 rows, {size:,} of {size:,} bytes" in page


# Being killed.

WORK = """
import django; django.setup()
from audits.tasks import job_due
job_due(job={job})
"""


def worker_at(job: Job) -> "subprocess.Popen[bytes]":
    """A process that does the job as a worker does, on the database of this test."""
    environment = os.environ | {
        "DATABASE_URL": database_url(connection.settings_dict),
        "TERTIUM_VAR": str(settings.VAR_DIR),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    return subprocess.Popen([sys.executable, "-c", WORK.format(job=job.pk)], env=environment, cwd=settings.BASE_DIR)


def until(there: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert process.poll() is None, "the worker ended before"
        assert time.monotonic() < deadline
        time.sleep(0.005)


class TestRealProcess:
    pytestmark = real_processes

    @pytest.fixture
    def number(self) -> int:
        return REAL_CASES

    @pytest.fixture
    def folder(self, tmp_path: Path, number: int) -> Path:
        return synthetic_project(tmp_path / "sent", name="swap", project="alpha", seed="5", number=number).parent

    @pytest.mark.parametrize("model", [Case, Judgment])
    def test_job_whose_worker_was_killed_is_done_once_by_the_next(self, job: Job, model: type[Any]) -> None:
        process = worker_at(job)
        until(model.objects.exists, process)
        process.send_signal(signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
        assert CaseSet.objects.filter(state="complete").count() == 0
        assert (Audit.objects.count(), Comparison.objects.count(), Rubric.objects.count()) == (0, 0, 0)
        later = timezone.now() + SILENT_FOR + timedelta(seconds=1)
        job_run(job=job.pk, clock=lambda: later)
        job.refresh_from_db()
        assert (job.state, job.attempt, job.audit.name) == (JobState.DONE, 2, "swap")
        assert left() == {
            "Rubric": 1,
            "Mapping": 2,
            "Generator": 2,
            "Reader": 2,
            "CaseSet": 1,
            "Case": REAL_CASES,
            "SystemVersion": 1,
            "Artifact": REAL_CASES,
            "Run": 3,  # the candidate twice
            "Judgment": 3 * REAL_CASES - 1,  # a judge did not run on one case
            "Reading": 3 * REAL_CASES - 1,
            "Comparison": 1,
            "Audit": 1,
        }
        for brought in loads.LOADED:
            assert set(brought._default_manager.values_list("state", flat=True)) == {"complete"}
        assert uploads() == []

    def test_what_a_killed_worker_left_of_a_cancelled_job_is_swept_away(self, job: Job, lead: Author) -> None:
        process = worker_at(job)
        until(Judgment.objects.exists, process)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        _by_command(job, lead)
        assert left()["Case"] == REAL_CASES
        assert loads.loads_abandoned_remove(now=timezone.now()) == 0  # it may still be alive
        loads.loads_abandoned_remove(now=timezone.now() + DEAD_AFTER + timedelta(seconds=1))
        assert (left(), uploads()) == ({}, [])

    @pytest.mark.parametrize("number", [4 * REAL_CASES])  # so many that answers come in between on a busy machine too
    def test_submits_beside_a_load_wait_less_than_a_second(self, job: Job, project: Project) -> None:
        queue = factories.make_queue(project, 2000)
        ann = factories.make_person(project, "ann")
        process = worker_at(job)
        until(lambda: Case.objects.filter(case_set__name="arithmetic").exists(), process)
        waits: list[float] = []
        while process.poll() is None:
            lease = factories.claim(queue, ann, _now())
            started = time.monotonic()
            factories.submit(lease, now=_now())
            waits.append(time.monotonic() - started)
        assert (process.returncode, Job.objects.get().state) == (0, JobState.DONE)
        assert len(waits) > 10
        print(f"{len(waits)} submits, the longest took {max(waits):.3f} s")
        assert max(waits) < 1


def _now() -> datetime:
    return timezone.now()


def test_load_of_a_job_that_another_worker_took_over_is_left_to_that(job: Job) -> None:
    """Nothing of a live load is removed by a second start of the same job."""
    taken = job_take(job=job.pk, now=NOW)
    assert taken is not None
    job_run(job=job.pk, clock=lambda: NOW)
    assert (Job.objects.get().state, Job.objects.get().attempt) == (JobState.RUNNING, 1)
