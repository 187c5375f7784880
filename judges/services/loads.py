"""Loading in chunks: invisible while it runs, complete by one update, removed when it fails.

A short transaction per chunk lets reviewers' submits pass between them on SQLite's one writer.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Protocol, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Problem, Refused
from judges.intake.problems import Problems
from judges.models.loads import Loaded, LoadState

CHUNK = 2000
ABANDONED_AFTER = timedelta(minutes=5)
BEING_LOADED = "is being loaded by another process, or one was killed within the last 5 minutes; try again later"


class FileRow(Protocol):
    """What every row of a file has: its number, and the case it is about."""

    @property
    def number(self) -> int: ...

    @property
    def case_id(self) -> str: ...


Row = TypeVar("Row", bound=FileRow)
Thing = TypeVar("Thing")
Target = TypeVar("Target", bound=Loaded)


def chunks(rows: Iterable[Thing]) -> Iterator[list[Thing]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def load_begin(model: type[Target], *, now: datetime, defaults: dict[str, Any] | None = None, **key: Any) -> Target:
    """The row to load under, in state `loading`; or the one that is already complete.

    A load that another process is still writing is refused; what an abandoned one left is removed.
    """
    existing = model._default_manager.filter(**key).first()
    if existing is not None and existing.state == LoadState.COMPLETE:
        return existing
    if existing is not None:
        if now - existing.touched_at < ABANDONED_AFTER:
            raise Refused(Problem(f"{existing} {BEING_LOADED}"))
        load_remove(existing)
    try:
        with transaction.atomic():
            return model._default_manager.create(**key, **(defaults or {}), touched_at=now)
    except IntegrityError as error:
        raise Refused(Problem(f"this {model._meta.verbose_name} {BEING_LOADED}")) from error


@dataclass
class LoadCounts:
    """What a load did: rows made, and rows that were there already with the same content."""

    created: int = 0
    duplicate: int = 0


def load_rows(
    target: Loaded,
    rows: Iterable[Row],
    *,
    write: Callable[[list[Row]], None],
    given: Callable[[Row], str],
    stored: Callable[[list[str]], dict[str, str]],
    count: Callable[[], int],
    file: str,
) -> LoadCounts:
    """Write the rows chunk by chunk and complete the target; or, where it is complete, check that it holds
    exactly these. A load that fails leaves nothing.

    `write` stores a chunk. For the check, `given` hashes a row's content, `stored` gives the hashes that the
    target holds by case id, and `count` how many rows it holds.
    """
    if target.state == LoadState.COMPLETE:
        return _check_rows(target, rows, given, stored, count(), file)
    counts = LoadCounts()
    try:
        for chunk in chunks(rows):
            with transaction.atomic():
                load_touch(target)
                write(chunk)
            counts.created += len(chunk)
        load_complete(target)
    except BaseException:
        load_remove(target)
        raise
    return counts


def _check_rows(
    target: Loaded,
    rows: Iterable[Row],
    given: Callable[[Row], str],
    stored: Callable[[list[str]], dict[str, str]],
    count: int,
    file: str,
) -> LoadCounts:
    counts, problems = LoadCounts(), Problems()
    owner = f"{target._meta.verbose_name} {target}"
    for chunk in chunks(rows):
        there = stored([row.case_id for row in chunk])
        for row in chunk:
            if there.get(row.case_id) == given(row):
                counts.duplicate += 1
            else:
                problems.add(_conflict(owner, file, row, there.get(row.case_id), given(row)))
    # A part of what is there would pass for the whole.
    if not problems.total and counts.duplicate != count:
        what = f"{owner} is frozen with {count} rows, {counts.duplicate} given"
        problems.add(Problem(what, file=file, allowed="the same rows, or a new version"))
    problems.raise_if_any()
    return counts


def _conflict(owner: str, file: str, row: FileRow, stored: str | None, given: str) -> Problem:
    what = f"{owner} is frozen and has nothing for case {row.case_id}"
    if stored is not None:
        what = f"{owner} holds case {row.case_id} with other content (stored {stored[:12]}, given {given[:12]})"
    return Problem(what, file=file, row=row.number, allowed="the same content, or a new version")


def load_touch(target: Loaded) -> None:
    """Say that the load is alive. Part of each chunk's transaction."""
    _still_loading(target, touched_at=timezone.now())


def load_complete(target: Loaded) -> None:
    """Make everything loaded visible at once, and unalterable."""
    _still_loading(target, state=LoadState.COMPLETE)
    target.state = LoadState.COMPLETE


def _still_loading(target: Loaded, **change: Any) -> None:
    if type(target)._default_manager.filter(pk=target.pk, state=LoadState.LOADING).update(**change) != 1:
        raise Refused(Problem(f"the load of {target} was taken over or removed"))


def load_remove(target: Loaded) -> None:
    """Remove an unfinished load with all its rows, in chunks. A complete one is out of reach."""
    for relation in type(target)._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{relation.field.name: target})
        while ids := list(rows.values_list("pk", flat=True)[:CHUNK]):
            relation.related_model._base_manager.filter(pk__in=ids).delete()
    type(target)._default_manager.filter(pk=target.pk, state=LoadState.LOADING).delete()
