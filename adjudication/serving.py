"""Where a person's next case may lie: the queues with something open, and what of it is open to them.

As SQL, because it is asked at every answer: see `core/rows.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adjudication.models import Calibration, Queue, SlotKind
from core.models import Author, Project, Role
from core.rows import Joined, one_value
from judges.models.rubrics import Rubric

_QUEUES = Joined(q=Queue, r=Rubric, c=Calibration, practice=Queue, anchors=Queue)
# Every kind is named, so that the index leads to what is open, past all that is done.
_KINDS = ", ".join(f"'{kind}'" for kind in SlotKind.values)
_WAITING = f"""
SELECT {_QUEUES.columns}, COALESCE(b.rank, 0)
FROM adjudication_queue q
JOIN judges_rubric r ON r.id = q.rubric_id
LEFT JOIN adjudication_calibration c ON c.queue_id = q.id
LEFT JOIN adjudication_queue practice ON practice.id = c.practice_id
LEFT JOIN adjudication_queue anchors ON anchors.id = c.anchors_id
LEFT JOIN adjudication_bookmark b ON b.queue_id = q.id AND b.author_id = %(author)s
WHERE q.project_id = %(project)s AND q.purpose = 'settle' AND (
    EXISTS (SELECT 1 FROM adjudication_slot s WHERE s.queue_id = q.id AND s.kind IN ({_KINDS}) AND s.state = 'open')
    OR EXISTS (SELECT 1 FROM adjudication_slot s
        WHERE s.queue_id = c.anchors_id AND s.kind IN ({_KINDS}) AND s.state = 'open'))
ORDER BY q.id"""  # noqa: S608 -- from names of our own models


def queues_waiting(project: Project, author: Author) -> list[Queue]:
    """Queues with something open in them, or among the anchors hidden in them, each with `bookmark`: the rank that
    this person has come to."""
    found = []
    for queue, rubric, calibration, practice, anchors, rank in _QUEUES.ask(
        _WAITING, {"project": project.pk, "author": author.pk}
    ):
        queue.project, queue.rubric, queue.bookmark = project, rubric, rank
        Queue._meta.get_field("calibration").set_cached_value(queue, calibration)
        if calibration is not None:
            calibration.queue, calibration.practice, calibration.anchors = queue, practice, anchors
        found.append(queue)
    return found


# Asked of each slot by itself: as a join, PostgreSQL would read all that a person ever answered, to look at 300 slots.
_ONE_BY_ONE = "LIMIT 1 OFFSET 0"
# Which of the slots `s` a person may take. Nobody answers an item twice, or holds two slots of it.
_OPEN_TO = f"""
    s.queue_id = %(queue)s AND s.kind = %(kind)s AND s.state = 'open'
    AND NOT EXISTS (SELECT 1 FROM adjudication_lease l
        WHERE l.item_id = s.item_id AND l.author_id = %(author)s AND l.ended_at IS NULL {_ONE_BY_ONE})
    AND NOT EXISTS (SELECT 1 FROM adjudication_review r LEFT JOIN adjudication_withdrawal w ON w.review_id = r.id
        WHERE r.item_id = s.item_id AND r.author_id = %(author)s AND w.id IS NULL {_ONE_BY_ONE})
"""  # noqa: S608 -- from the constants above alone
_SKIPPED = f"""EXISTS (SELECT 1 FROM adjudication_skip k
    WHERE k.item_id = s.item_id AND k.author_id = %(author)s {_ONE_BY_ONE})"""  # noqa: S608 -- as above
_HELD = f"""EXISTS (SELECT 1 FROM adjudication_lease h
    WHERE h.slot_id = s.id AND h.ended_at IS NULL {_ONE_BY_ONE})"""  # noqa: S608 -- as above
_LOADED = "EXISTS (SELECT 1 FROM adjudication_lease h WHERE h.slot_id = s.id AND h.ended_at IS NULL AND h.ahead)"
# Nobody answers an item twice: of its open slots only the one that is served first is a case for a person.
_FIRST_OF_ITEM = f"""NOT EXISTS (SELECT 1 FROM adjudication_slot f
    WHERE f.item_id = s.item_id AND f.kind = s.kind AND f.state = 'open'
        AND (f.urgent > s.urgent OR f.urgent = s.urgent AND f.n < s.n)
        AND NOT EXISTS (SELECT 1 FROM adjudication_lease h
            WHERE h.slot_id = f.id AND h.ended_at IS NULL {_ONE_BY_ONE}) {_ONE_BY_ONE})"""  # noqa: S608 -- as above
# Settling is for whoever never reviewed the item, even where they took that answer back.
_MAY_SETTLE = """NOT EXISTS (SELECT 1 FROM adjudication_review r
    WHERE r.item_id = s.item_id AND r.author_id = %(author)s AND r.kind = 'review')"""
# An adjudicator may review while another one remains who could settle a conflict there, and never an item whose
# answers they have seen.
_ADJUDICATORS = """(SELECT a.id FROM core_author a
    JOIN core_membership m ON m.project_id = a.project_id AND m.user_id = a.user_id
    WHERE a.project_id = %(project)s AND m.role = 'adjudicator')"""
_MAY_REVIEW = f"""(SELECT COUNT(*) FROM {_ADJUDICATORS} adjudicators) > 1
    AND NOT EXISTS (SELECT 1 FROM adjudication_review r WHERE r.item_id = s.item_id AND r.author_id IN {_ADJUDICATORS})
    AND NOT EXISTS (SELECT 1 FROM adjudication_lease l
        WHERE l.item_id = s.item_id AND l.ended_at IS NULL AND l.author_id IN {_ADJUDICATORS})
    AND NOT EXISTS (SELECT 1 FROM adjudication_lease l JOIN adjudication_slot o ON o.id = l.slot_id
        WHERE l.item_id = s.item_id AND l.author_id = %(author)s AND o.kind = 'adjudication')"""  # noqa: S608 -- from the constants above alone


@dataclass(frozen=True)
class Place:
    """Where a person's next slot may lie: those open to them of one kind in one queue, not passed on by them and held
    by nobody unless it says otherwise. `urgent` and `beyond` are parts of the serving order; None: all of it."""

    queue: Queue
    author: Author
    role: Role
    kind: SlotKind = SlotKind.REVIEW
    urgent: bool | None = None
    beyond: int = 0
    skipped: bool = False
    loaded_by_another: bool = False

    def first(self, *, locked: bool) -> int | None:
        """The slot that comes first in serving order; `locked`: the first that nobody else has locked."""
        lock = " FOR UPDATE OF s SKIP LOCKED" if locked else ""
        found = self._ask(f"SELECT s.id {self._from()} ORDER BY s.urgent DESC, s.rank, s.n LIMIT 1{lock}")
        return None if found is None else int(found)

    def count(self, at_most: int) -> int:
        """So many cases, not slots."""
        cases = f"SELECT 1 {self._from()} AND {_FIRST_OF_ITEM} LIMIT {at_most:d}"
        counted = f"SELECT COUNT(*) FROM ({cases}) counted"  # noqa: S608 -- as above
        return int(self._ask(counted) or 0)

    def _from(self) -> str:
        conditions = [_OPEN_TO, _SKIPPED if self.skipped else f"NOT {_SKIPPED}"]
        conditions.append(_LOADED if self.loaded_by_another else f"NOT {_HELD}")
        if self.role == Role.ADJUDICATOR:
            conditions.append(_MAY_REVIEW if self.kind == SlotKind.REVIEW else _MAY_SETTLE)
        if self.urgent is not None:
            conditions += ["s.urgent = %(urgent)s", "s.rank >= %(beyond)s"]
        return f"FROM adjudication_slot s WHERE {' AND '.join(conditions)}"

    def _ask(self, statement: str) -> Any:
        values = {"queue": self.queue.pk, "author": self.author.pk, "project": self.queue.project_id}
        values |= {"kind": self.kind.value, "urgent": self.urgent, "beyond": self.beyond}
        return one_value(statement, values)


def places_onward(queue: Queue, author: Author, role: Role, *kinds: SlotKind) -> Iterator[Place]:
    """A queue's serving order from where a person has come to: of each kind what holds things up, then the rest."""
    for kind in kinds or kinds_for(role):
        yield Place(queue, author, role, kind, urgent=True)
        yield Place(queue, author, role, kind, urgent=False, beyond=queue.bookmark)  # type: ignore[attr-defined]


def kinds_for(role: Role) -> tuple[SlotKind, ...]:
    """What somebody in this role is served, in this order."""
    return (SlotKind.ADJUDICATION, SlotKind.REVIEW) if role == Role.ADJUDICATOR else (SlotKind.REVIEW,)
