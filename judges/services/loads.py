"""Loading in chunks: invisible while it runs, complete by one transaction, removed when it fails.

A short transaction per chunk lets reviewers' submits pass between them on SQLite's one writer.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from time import monotonic
from typing import Any, Protocol, TypeVar

from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from core.batches import batches
from core.errors import Problem, Refused
from core.models import Project
from core.pulse import DEAD_AFTER, pulse
from judges.intake.problems import Problems
from judges.intake.rows import CaseIndex
from judges.models import (
    Artifact,
    Case,
    CaseSet,
    Generator,
    Judgment,
    Mapping,
    Reader,
    Reading,
    Run,
    SystemVersion,
)
from judges.models.loads import Loaded, LoadState
from judges.progress import Progress, silent
from judges.services.keys import WrittenKeys
from judges.services.texts import IncomingTexts
from judges.services.writing import Writer

CHUNK = 2000
# Pages in memory: SQLite's own 2 MB are too few for the indexes that a load writes. Pages in the log before they are
# carried over to the file: with its own 1000, carrying over and waiting for the disk take an eighth of a load.
SQLITE_PRAGMAS = ("cache_size = -65536", "wal_autocheckpoint = 16000")
SELDOM = 100_000  # objects made until cycles are looked for; with Python's 700, a twentieth of a load went into that
SOON = 0.0005  # seconds; with Python's 0.005, writing waited longer for its turn than for the database
TOUCHED_EVERY = 1.0  # seconds, at most
BEING_LOADED = "is being loaded by another process, or one was killed within the last minute; try again later"
TAKEN_OVER = "the load was taken over or removed"
# What refers to something else comes before it.
LOADED: tuple[type[Loaded], ...] = (Run, SystemVersion, CaseSet, Generator, Reader, Mapping)


class FileRow(Protocol):
    """What every row of a file has: its number, and the case it is about."""

    @property
    def number(self) -> int: ...

    @property
    def case_id(self) -> str: ...


Row = TypeVar("Row", bound=FileRow)
Thing = TypeVar("Thing")
Target = TypeVar("Target", bound=Loaded)


class Load:
    """Everything that one intake brings. Its targets become visible together, or are removed together.

    Problems gather in `problems`: after the first, rows are still read and checked, and no longer written.
    """

    def __init__(self, *, project: Project, now: datetime, problems: Problems | None, index: CaseIndex) -> None:
        self.project = project
        self.now = now
        self.problems = Problems() if problems is None else problems
        self.conflicts = 0
        self.writer = Writer()
        self.texts = IncomingTexts(project, self.writer)
        self.keys = WrittenKeys(index)
        self.targets: list[Loaded] = []
        self._touched = 0.0

    def begin(self, model: type[Target], *, defaults: dict[str, Any] | None = None, **key: Any) -> Target:
        """What to load under, as `load_begin` gives it; both sides may ask for the same."""
        for target in self.targets:
            if isinstance(target, model) and all(getattr(target, name) == value for name, value in key.items()):
                return target
        # It may be long since the load began.
        touched = {"touched_at": timezone.now()}
        target = load_begin(model, now=self.now, defaults=(defaults or {}) | touched, **key)
        if target.state == LoadState.LOADING:
            self.targets.append(target)
        return target

    @property
    def faults(self) -> int:
        """Problems of what is given by itself, whatever is stored."""
        return self.problems.total - self.conflicts

    def conflict(self, problem: Problem) -> None:
        """A problem of what is given with what is stored."""
        self.conflicts += 1
        self.problems.add(problem)

    def touch(self) -> None:
        """Say, once in a while, that the load is alive. Part of each chunk's transaction: of two at a time the one that
        says it keeps the target until it is stored, and the other need not."""
        if monotonic() - self._touched > TOUCHED_EVERY:
            self._touched = monotonic()
            self._still_loading(touched_at=timezone.now())

    def beat(self) -> None:
        """The same between two chunks, which may be far apart, and from another thread. What was removed stays so."""
        for target in list(self.targets):
            loading = type(target)._default_manager.filter(pk=target.pk, state=LoadState.LOADING)
            loading.update(touched_at=timezone.now())

    def require(self, target: Loaded) -> None:
        """Refuse to write under what another load took over or removed. Part of each chunk's transaction."""
        if not type(target)._default_manager.filter(pk=target.pk, state=LoadState.LOADING).exists():
            raise Refused(Problem(TAKEN_OVER))

    def store_texts(self, progress: Progress = silent) -> None:
        if len(self.texts):
            for _ in progress("storing texts", self.texts.store(), len(self.texts)):
                pass

    def complete(self) -> None:
        """Make everything visible at once, and unalterable. Part of the caller's transaction, if it has one."""
        with transaction.atomic():
            self._still_loading(state=LoadState.COMPLETE)
        for target in self.targets:
            target.state = LoadState.COMPLETE

    def _still_loading(self, **change: Any) -> None:
        for model, targets in groupby(self.targets, key=type):
            keys = [target.pk for target in targets]
            loading = model._default_manager.filter(pk__in=keys, state=LoadState.LOADING)
            if loading.update(**change) != len(keys):
                raise Refused(Problem(TAKEN_OVER))

    def end(self) -> None:
        """Remove what was not completed."""
        self.writer.close()
        self.texts.close()
        while self.targets:
            load_remove(self.targets.pop())


@contextmanager
def loading(
    *, project: Project, now: datetime, problems: Problems | None = None, index: CaseIndex | None = None
) -> Iterator[Load]:
    """A load that ends with the block: removed where it fails, and where nobody completed it. `index` counts the cases
    of the files that it reads."""
    load = Load(project=project, now=now, problems=problems, index=CaseIndex() if index is None else index)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for pragma in SQLITE_PRAGMAS:
                cursor.execute(f"PRAGMA {pragma}")
    try:
        with pulse(load.beat), _interpreter_at_work():
            yield load
    finally:
        load.end()


@contextmanager
def _interpreter_at_work() -> Iterator[None]:
    """Rows refer to nothing that refers to them, and are gone with their chunk: cycles are sought seldom. And a thread
    that has heard from its database has soon its turn."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(SELDOM, *threshold[1:])
    sys.setswitchinterval(SOON)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)


@contextmanager
def part_of(load: Load | None, *, project: Project, now: datetime) -> Iterator[Load]:
    """The load given, which goes on; or one of its own, complete when the block ends."""
    if load is not None:
        yield load
        return
    with loading(project=project, now=now) as own:
        yield own
        own.problems.raise_if_any()
        own.store_texts()
        own.complete()


def load_begin(model: type[Target], *, now: datetime, defaults: dict[str, Any] | None = None, **key: Any) -> Target:
    """The row to load under, in state `loading`; or the one that is already complete.

    A load that another process is still writing is refused; what an abandoned one left is removed.
    """
    existing = model._default_manager.filter(**key).first()
    if existing is not None and existing.state == LoadState.COMPLETE:
        return existing
    if existing is not None:
        if now - existing.touched_at < DEAD_AFTER:
            raise Refused(Problem(f"{existing} {BEING_LOADED}"))
        loads_abandoned_remove(now=now)
    try:
        with transaction.atomic():
            return model._default_manager.create(**key, **({"touched_at": now} | (defaults or {})))
    except IntegrityError as error:
        raise Refused(Problem(f"this {model._meta.verbose_name} {BEING_LOADED}")) from error


@dataclass
class LoadCounts:
    """What a load did: rows made, and rows that were there already with the same content."""

    created: int = 0
    duplicate: int = 0


def load_rows(
    load: Load,
    target: Loaded,
    rows: Iterable[Row],
    *,
    prepare: Callable[[list[Row]], Callable[[], None]],
    given: Callable[[Row], str],
    stored: Callable[[list[str]], dict[str, str]],
    count: Callable[[], int],
    file: str,
) -> LoadCounts:
    """Write the rows chunk by chunk under the target; or, where it is complete, check that it holds exactly these.

    `prepare` checks a chunk and does what needs no transaction; what it gives back writes the chunk. For the
    check, `given` hashes a row's content, `stored` gives the hashes that the target holds by case id, and
    `count` how many rows it holds.
    """
    if target.state == LoadState.COMPLETE:
        return _check_rows(load, target, rows, given, stored, count(), file)
    counts = LoadCounts()
    for chunk in batches(rows, CHUNK):
        write = prepare(chunk)
        if load.problems.total:
            continue
        load.writer.write(partial(_write_chunk, load, target, write))
        counts.created += len(chunk)
        if load.texts.full:
            load.store_texts()
    load.writer.finish()
    return counts


def _write_chunk(load: Load, target: Loaded, write: Callable[[], None]) -> None:
    load.require(target)
    load.touch()
    write()


def _check_rows(
    load: Load,
    target: Loaded,
    rows: Iterable[Row],
    given: Callable[[Row], str],
    stored: Callable[[list[str]], dict[str, str]],
    count: int,
    file: str,
) -> LoadCounts:
    counts, before = LoadCounts(), load.problems.total
    owner = f"{target._meta.verbose_name} {target}"
    for chunk in batches(rows, CHUNK):
        there = stored([row.case_id for row in chunk])
        for row in chunk:
            if there.get(row.case_id) == given(row):
                counts.duplicate += 1
            else:
                load.conflict(_conflict(owner, file, row, there.get(row.case_id), given(row)))
    # A part of what is there would pass for the whole.
    if load.problems.total == before and counts.duplicate != count:
        what = f"{owner} is frozen with {count} rows, {counts.duplicate} given"
        load.conflict(Problem(what, file=file, allowed="the same rows, or a new version"))
    return counts


def _conflict(owner: str, file: str, row: FileRow, stored: str | None, given: str) -> Problem:
    what = f"{owner} is frozen and has nothing for case {row.case_id}"
    if stored is not None:
        what = f"{owner} holds case {row.case_id} with other content (stored {stored[:12]}, given {given[:12]})"
    return Problem(what, file=file, row=row.number, allowed="the same content, or a new version")


def loads_abandoned_remove(*, now: datetime) -> int:
    """Remove what killed loads left: nobody sees it, and nobody goes on with it."""
    removed = 0
    for model in LOADED:
        left = model._default_manager.filter(state=LoadState.LOADING, touched_at__lt=now - DEAD_AFTER)
        for target in left:
            load_remove(target)
            removed += 1
    return removed


def load_remove(target: Loaded) -> None:
    """Remove an unfinished target with its rows, in chunks. A complete one is out of reach."""
    loading = type(target)._default_manager.filter(pk=target.pk, state=LoadState.LOADING)
    if not loading.exists():
        return
    if isinstance(target, Run):
        _remove_rows(Judgment.objects.filter(run=target), Reading, "judgment__in")
    elif isinstance(target, SystemVersion):
        _remove_rows(Artifact.objects.filter(system_version=target))
    elif isinstance(target, CaseSet):
        _remove_rows(Case.objects.filter(case_set=target))
    elif isinstance(target, Reader):
        # No index finds them, which every load would pay for: they were written last, and so are come upon first.
        _remove_rows(Reading.objects.filter(reader=target).order_by("-pk"))
    loading._raw_delete(using=loading.db)


def _remove_rows(rows: models.QuerySet[Any], below: type[models.Model] | None = None, parent: str = "") -> None:
    while ids := list(rows.values_list("pk", flat=True)[:CHUNK]):
        with transaction.atomic():
            if below is not None:
                deeper = below._base_manager.filter(**{parent: ids})
                deeper._raw_delete(using=deeper.db)
            chunk = rows.model._base_manager.filter(pk__in=ids)
            chunk._raw_delete(using=chunk.db)
