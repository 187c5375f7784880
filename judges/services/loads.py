"""Loading in chunks: invisible while it runs, complete by one update, removed when it fails.

A short transaction per chunk lets reviewers' submits pass between them on SQLite's one writer.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Problem, Refused
from judges.models.loads import Loaded, LoadState

CHUNK = 2000
ABANDONED_AFTER = timedelta(minutes=5)

Row = TypeVar("Row")
Target = TypeVar("Target", bound=Loaded)


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
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
            raise Refused(Problem(f"{existing} is being loaded by another process; try again when it has ended"))
        load_remove(existing)
    try:
        with transaction.atomic():
            return model._default_manager.create(**key, **(defaults or {}), touched_at=now)
    except IntegrityError as error:
        raise Refused(Problem(f"{model._meta.verbose_name} is being loaded by another process")) from error


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
