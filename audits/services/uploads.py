"""Files on their way in: kept in a folder of their own until a worker has taken them."""

import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from audits.exports.tables import lines_write
from audits.manifest.files import INSIDE, name_fault
from audits.manifest.guessing import MANIFESTS
from audits.models import Audit, Job, JobKind
from audits.selectors import require_registered
from audits.services.jobs import OPEN, job_ask, job_cancel
from core.errors import InputError, Problem
from core.models import Author, Project
from judges.holdouts import require_open

MANIFEST = "manifest.yaml"
PREVIEW = "-preview-"  # between the project's number and a random name
PREVIEW_NAME = re.compile(r"[0-9]+-preview-[A-Za-z0-9_-]{20,}")
UPLOAD_KEPT = 24 * 60 * 60  # seconds, where no job waits for it
KEPT = 30 * 24 * 60 * 60  # seconds
FOLDER_NAME = re.compile(r"[A-Za-z0-9_-]{20,}")


def too_large(size: int) -> Problem | None:
    """What is wrong with an upload, or with the files of a manifest, of this many bytes; in page and command alike."""
    limit = settings.UPLOAD_LIMIT
    if size <= limit:
        return None
    return Problem("the upload is too large", value=f"{size:,} bytes", allowed=f"at most {limit:,} bytes")


def require_within_limit(paths: Iterable[Path]) -> None:
    """The same for files that a command reads from where they lie."""
    if problem := too_large(sum(path.stat().st_size for path in set(paths))):
        raise InputError(problem)


def intake_ask(
    *,
    manifest: UploadedFile | None,
    files: Sequence[UploadedFile],
    actor: Author,
    now: datetime,
    good_rows: bool = False,
) -> Job:
    """Keep what was sent, and ask for its intake, of all rows or of the good ones. What no job knows of is not kept."""
    if manifest is None:
        raise InputError(Problem("no manifest was sent", key="manifest", allowed="the YAML file of the audit"))
    folder = upload_store([manifest, *files])
    try:
        asked = {"folder": folder, "manifest": str(manifest.name), "good_rows": good_rows}
        return job_ask(kind=JobKind.INTAKE, actor=actor, now=now, asked=asked)
    except BaseException:
        upload_remove(folder)
        raise


def anchors_ask(*, file: UploadedFile | None, card: UploadedFile | None, actor: Author, now: datetime) -> Job:
    """Keep a file of an anchor set, with its card if there is one, and ask for it to be taken in."""
    if file is None:
        raise InputError(Problem("no file was sent", key="file", allowed="a file of an anchor set"))
    folder = upload_store([file, *([card] if card else [])])
    try:
        asked = {"folder": folder, "file": str(file.name), "card": str(card.name) if card else ""}
        return job_ask(kind=JobKind.TAKE_ANCHORS, actor=actor, now=now, asked=asked)
    except BaseException:
        upload_remove(folder)
        raise


def labels_ask(*, audit: Audit, files: Sequence[UploadedFile], scope: str, actor: Author, now: datetime) -> Job:
    """Keep label files, in their order, and ask for them to be taken in."""
    require_registered(audit)
    folder = upload_store(files)
    try:
        asked = {"folder": folder, "files": [str(file.name) for file in files], "scope": scope}
        return job_ask(kind=JobKind.LABELS, audit=audit, actor=actor, now=now, asked=asked)
    except BaseException:
        upload_remove(folder)
        raise


def preview_store(*, files: Sequence[UploadedFile], project: Project) -> str:
    """Keep files that a lead looks at before there is a manifest, for a day."""
    if not files:
        raise InputError(Problem("no file was sent", key="files", allowed="the files that hold cases and verdicts"))
    return upload_store(files, token=f"{project.pk}{PREVIEW}{secrets.token_urlsafe(18)}")


def preview_paths(token: str, project: Project) -> list[Path]:
    """The files of a preview of this project; none where there is no such preview."""
    if not token.startswith(f"{project.pk}{PREVIEW}") or not FOLDER_NAME.fullmatch(token):
        return []
    folder = upload_folder(token)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def preview_open(*, token: str, text: str, actor: Author, now: datetime, good_rows: bool = False) -> Job:
    """Ask for the intake of a preview's files by this manifest."""
    name = next((path.name for path in preview_paths(token, actor.project) if path.suffix in MANIFESTS), MANIFEST)
    (upload_folder(token) / name).write_text(text, encoding="utf-8")
    asked = {"folder": token, "manifest": name, "good_rows": good_rows}
    return job_ask(kind=JobKind.INTAKE, actor=actor, now=now, asked=asked)


def intake_cancel(*, job: Job, actor: Author, now: datetime) -> None:
    """End an intake that waits or runs, and let go of its files: a worker that still reads them has nothing to lose."""
    job_cancel(job=job, actor=actor, now=now)
    upload_remove(job.asked["folder"])


def upload_let_go(*, job: Job, done: bool) -> None:
    """Remove what was sent for an intake that has ended. Files of a preview stay for their day where it did not
    succeed: the manifest can be mended on the preview's page."""
    token = job.asked["folder"]
    if done or not PREVIEW_NAME.fullmatch(token):
        upload_remove(token)


def refused_keep(*, job: Job, lines: Iterable[str]) -> None:
    """Keep the list of the rows that an intake left out, for who asked for it."""
    path = refused_path(job)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines_write(path, "csv", lines)


def packet_ask(*, audit: Audit, actor: Author, now: datetime) -> Job:
    """Ask for the handoff packet of an audit; a worker makes it, and it is kept to be downloaded."""
    require_open(require_registered(audit).comparison)
    return job_ask(kind=JobKind.PACKET, audit=audit, actor=actor, now=now)


def packet_name(job: Job) -> str:
    """What a browser saves it as."""
    assert job.audit is not None
    return f"{job.audit.name.replace('/', '-')}-packet.zip"


def packet_path(job: Job) -> Path:
    """Where the packet of a job is kept, once it is whole."""
    root: Path = settings.VAR_DIR / "packets"
    return root / f"{job.pk}.zip"


def packet_keep(*, job: Job, write: Callable[[Path], object]) -> None:
    """Keep what `write` makes, in one move when it is whole."""
    path = packet_path(job)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    try:
        write(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def refused_path(job: Job) -> Path:
    root: Path = settings.VAR_DIR / "refused"
    return root / f"{job.pk}.csv"


def upload_store(files: Sequence[UploadedFile], token: str = "") -> str:
    """Write the files under a random name below VAR_DIR/uploads; the folder's name comes back.

    A name is refused by the rule that refuses it in a manifest. Nothing is kept where one is refused.
    """
    problems = list(_name_problems(files))
    if problems:
        raise InputError(problems)
    token = token or secrets.token_urlsafe(18)
    folder = _root() / token
    folder.mkdir(mode=0o700, parents=True)
    try:
        for file in files:
            with (folder / str(file.name)).open("xb") as target:
                for chunk in file.chunks():
                    target.write(chunk)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return token


def upload_folder(token: str) -> Path:
    if not FOLDER_NAME.fullmatch(token):
        raise ValueError(f"not the name of an upload: {token!r}")
    return _root() / token


def upload_remove(token: str) -> None:
    shutil.rmtree(upload_folder(token), ignore_errors=True)


def kept_files_sweep(*, now: datetime) -> None:
    """Remove after a day what was sent and no job waits for: previews, and what a killed process left behind; and after
    a month packets and lists of refused rows."""
    wanted = {asked.get("folder") for asked in Job.objects.filter(state__in=OPEN).values_list("asked", flat=True)}
    for folder in _older(_root(), UPLOAD_KEPT, now):
        if folder.name not in wanted:
            shutil.rmtree(folder, ignore_errors=True)
    for kept in ("packets", "refused"):
        for file in _older(settings.VAR_DIR / kept, KEPT, now):
            file.unlink(missing_ok=True)


def _older(folder: Path, seconds: int, now: datetime) -> Iterator[Path]:
    for path in folder.glob("*"):
        with suppress(FileNotFoundError):  # another worker was here first
            if now.timestamp() - path.stat().st_mtime > seconds:
                yield path


def _root() -> Path:
    root: Path = settings.VAR_DIR / "uploads"
    return root


def _name_problems(files: Sequence[UploadedFile]) -> list[Problem]:
    names = [str(file.name) for file in files]
    faults = [Problem(fault, file=name, allowed=INSIDE) for name in names if (fault := name_fault(name))]
    twice = sorted({name for name in names if names.count(name) > 1})
    return faults + [Problem("sent twice under one name", file=name, allowed="each file once") for name in twice]
