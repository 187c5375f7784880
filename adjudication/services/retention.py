"""Retention: raw texts go, hashes stay. What people said, and every number, is left as it is."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from adjudication.models import Item, ItemState
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author, Project
from judges.retention import texts_only_before
from judges.services.texts import texts_drop, texts_measure

TEXTS_DROPPED = "adjudication.texts-dropped"


@dataclass(frozen=True)
class Retention:
    """What dropping the texts of loads before a moment would do. `undecided` counts, by queue, the items without a
    decision that would lose a text which people still have to read."""

    before: datetime
    hashes: frozenset[str]
    texts: int
    size: int
    undecided: dict[str, int]

    def words(self, *, dropped: bool) -> str:
        done = "are dropped" if dropped else "would be dropped"
        return f"{self.texts:,} texts ({self.size:,} bytes) loaded before {self.before:%Y-%m-%d} {done}"

    @property
    def undecided_words(self) -> list[str]:
        return [f"undecided items that lose one: {number:,} in {queue}" for queue, number in self.undecided.items()]

    def as_dict(self) -> dict[str, Any]:
        whole = {"before": self.before.isoformat(), "texts": self.texts, "bytes": self.size}
        return {**whole, "undecided_items": self.undecided}


def day_of(text: str) -> datetime:
    """The beginning of a day, in UTC."""
    try:
        found = date.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(Problem("no day", key="before", value=text, allowed="as in 2026-11-30")) from error
    return datetime(found.year, found.month, found.day, tzinfo=UTC)


def retention_find(*, project: Project, before: datetime) -> Retention:
    hashes = texts_only_before(project, before)
    texts, size = texts_measure(project=project, hashes=hashes)
    return Retention(before, frozenset(hashes), texts, size, _undecided(project, hashes) if texts else {})


def retention_apply(
    *, project: Project, found: Retention, actor: Author, now: datetime, despite_undecided: bool = False
) -> int:
    """Drop what was found; how many texts went. The log comes first: what was dropped is never without an entry."""
    if found.undecided and not despite_undecided:
        waiting = ", ".join(f"{number} in {queue}" for queue, number in found.undecided.items())
        raise Refused(
            Problem(f"people still have to read some of these texts: undecided items, {waiting}", key="--before")
        )
    if not found.texts:
        return 0
    event_record(name=TEXTS_DROPPED, actor=actor, now=now, payload=found.as_dict())
    return texts_drop(project=project, hashes=found.hashes)


def _undecided(project: Project, hashes: set[str]) -> dict[str, int]:
    undecided = Item.objects.filter(queue__project=project).exclude(state=ItemState.SETTLED)
    items = undecided.order_by("queue__name", "pk")
    losing: dict[str, set[int]] = {}
    for pk, queue, question in items.values_list("pk", "queue__name", "case__input_hash").iterator():
        if question in hashes:
            losing.setdefault(queue, set()).add(pk)
    for pk, queue, parts in items.values_list("pk", "queue__name", "shown__artifact__parts").iterator():
        if any(sha256 in hashes for _, sha256 in parts or []):
            losing.setdefault(queue, set()).add(pk)
    return {queue: len(found) for queue, found in losing.items()}
