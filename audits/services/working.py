"""What a worker does for a job."""

import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.db import InterfaceError, OperationalError

from adjudication.models import QueuePurpose
from adjudication.services.retention import day_of, retention_apply, retention_find
from audits.exports.tables import csv_lines
from audits.manifest import load_manifest
from audits.manifest.refusals import COLUMNS, NONE_REFUSED, find_refusals
from audits.models import AnchorSet, Audit, Job, JobKind
from audits.packets.making import packet_write
from audits.services.anchoring import known_set_from_anchors
from audits.services.anchorsets import anchor_set_make, anchor_set_take
from audits.services.importing import reviews_import
from audits.services.jobs import (
    ATTEMPTS,
    SILENT_FOR,
    JobProgress,
    JobStopped,
    job_broken,
    job_done,
    job_refused,
    job_take,
    job_touch,
)
from audits.services.opening import audit_open
from audits.services.registering import audit_extend, audit_register
from audits.services.uploads import packet_keep, refused_keep, upload_folder, upload_let_go
from core.errors import InputError
from core.pulse import pulse

log = logging.getLogger(__name__)

LONGEST_OUTCOME: int = Job._meta.get_field("outcome").max_length or 0
AWAY = (OperationalError, InterfaceError)  # the database restarts, or somebody has it for too long

Clock = Callable[[], datetime]


def job_run(*, job: int, clock: Clock) -> None:
    """Do a job that waits, to its end: its audit, or all its problems. One that somebody else has is left alone."""
    taken = job_take(job=job, now=clock())
    if taken is None:
        return
    done = False
    try:
        with pulse(lambda: job_touch(job=taken, now=clock())):
            audit = WORK[JobKind(taken.kind)](taken, clock)
        ended = done = job_done(job=taken, audit=audit, now=clock())
    except JobStopped:
        log.info("%s was cancelled, or is done by another worker", taken)
        return
    except InputError as error:
        log.info("%s refused: %s", taken, error)
        ended = job_refused(job=taken, error=error, now=clock())
    except Exception as error:
        if isinstance(error, AWAY) and taken.attempt < ATTEMPTS:
            log.warning("%s begins again once it has been silent for %s: %s", taken, SILENT_FOR, error)
            return
        log.exception("%s broke", taken)
        ended = job_broken(job=taken, now=clock())
    if ended and "folder" in taken.asked:
        upload_let_go(job=taken, done=done)


def _intake(job: Job, clock: Clock) -> Audit:
    folder = upload_folder(job.asked["folder"])
    manifest = load_manifest(folder / job.asked["manifest"], flat=True)
    progress = JobProgress(job)
    refusals = find_refusals(manifest, progress) if job.asked.get("good_rows") else NONE_REFUSED
    opened = audit_open(
        manifest=manifest,
        actor=job.actor,
        now=clock(),
        progress=progress,
        opened=progress.opened,
        refusals=refusals,
    )
    if refusals.rows:
        refused_keep(job=job, lines=csv_lines(COLUMNS, refusals.lines()))
    return opened.audit


def _register(job: Job, clock: Clock) -> Audit:
    assert job.audit is not None
    audit_register(audit=job.audit, actor=job.actor, now=clock())
    return job.audit


def _extend(job: Job, clock: Clock) -> Audit:
    assert job.audit is not None
    audit_extend(audit=job.audit, labels=job.asked["labels"], actor=job.actor, now=clock())
    return job.audit


def _make_anchors(job: Job, clock: Clock) -> Audit:
    assert job.audit is not None
    anchor_set_make(audit=job.audit, **job.asked, actor=job.actor, now=clock(), progress=JobProgress(job))
    return job.audit


def _take_anchors(job: Job, clock: Clock) -> None:
    folder = upload_folder(job.asked["folder"])
    card = folder / job.asked["card"] if job.asked["card"] else None
    path = folder / job.asked["file"]
    anchor_set_take(path=path, card=card, actor=job.actor, now=clock(), progress=JobProgress(job), by_job=True)


def _labels(job: Job, clock: Clock) -> Audit:
    assert job.audit is not None
    folder = upload_folder(job.asked["folder"])
    paths = [folder / name for name in job.asked["files"]]
    report = reviews_import(
        audit=job.audit, paths=paths, scope=job.asked["scope"], actor=job.actor, now=clock(), by_job=True
    )
    job.outcome = f"{report.words}."
    return job.audit


def _packet(job: Job, clock: Clock) -> Audit:
    audit, now, progress = job.audit, clock(), JobProgress(job)
    assert audit is not None

    def write(path: Path) -> None:
        packet_write(audit=audit, path=path, actor=job.actor, now=now, progress=progress)

    packet_keep(job=job, write=write)
    return audit


def _known_set(job: Job, clock: Clock) -> None:
    asked = dict(job.asked)
    anchor_set = AnchorSet.objects.select_related("project").get(project=job.project, pk=asked.pop("anchor_set"))
    purpose = QueuePurpose(asked.pop("purpose"))
    made = known_set_from_anchors(anchor_set=anchor_set, purpose=purpose, actor=job.actor, now=clock(), **asked)
    job.outcome = f"{made.words}."


def _retention(job: Job, clock: Clock) -> None:
    drop = job.asked["drop"]
    found = retention_find(project=job.project, before=day_of(job.asked["before"]))
    if drop:
        despite = job.asked["despite_undecided"]
        retention_apply(project=job.project, found=found, actor=job.actor, now=clock(), despite_undecided=despite)
    job.outcome = "; ".join([found.words(dropped=drop), *found.undecided_words])[:LONGEST_OUTCOME]


WORK: dict[JobKind, Callable[[Job, Clock], Audit | None]] = {
    JobKind.INTAKE: _intake,
    JobKind.REGISTER: _register,
    JobKind.EXTEND: _extend,
    JobKind.MAKE_ANCHORS: _make_anchors,
    JobKind.TAKE_ANCHORS: _take_anchors,
    JobKind.LABELS: _labels,
    JobKind.PACKET: _packet,
    JobKind.KNOWN_SET: _known_set,
    JobKind.RETENTION: _retention,
}
