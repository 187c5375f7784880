"""What a case in hand is made of: the lease, what it shows, and what its holder has chosen or written.

As SQL, because it is asked at every answer: see `core/rows.py`.
"""

from typing import Any, TypeVar
from uuid import UUID

from django.db import connection

from adjudication.models import Draft, Item, ItemArtifact, KeyChoice, Lease, Presentation, Queue, Slot
from core.models import Author, Project
from core.rows import Joined, stored
from judges.models.cases import Artifact, Case
from judges.models.rubrics import Rubric

Own = TypeVar("Own", Presentation, Draft)

_LEASES = Joined(l=Lease, s=Slot, i=Item, c=Case, q=Queue, r=Rubric, p=Project, o=Presentation)
_LEASE = f"""
SELECT {_LEASES.columns}
FROM adjudication_lease l
JOIN adjudication_slot s ON s.id = l.slot_id
JOIN adjudication_item i ON i.id = l.item_id
JOIN judges_case c ON c.id = i.case_id
JOIN adjudication_queue q ON q.id = i.queue_id
JOIN judges_rubric r ON r.id = q.rubric_id
JOIN core_project p ON p.id = q.project_id
LEFT JOIN adjudication_presentation o ON o.item_id = i.id AND o.author_id = l.author_id
"""  # noqa: S608 -- from names of our own models


def lease_in_hand(author: Author, token: UUID) -> Lease | None:
    """Their own lease of this token, live or ended; nothing for anybody else's."""
    found = _leases("WHERE l.author_id = %(author)s AND l.token = %(token)s", author=author.pk, token=token)
    return found[0] if found else None


def leases_held(author: Author) -> list[Lease]:
    """What this person has taken, the latest first: an item that came back to them goes before the one they had
    begun, and what was only loaded ahead comes last."""
    condition = "WHERE l.author_id = %(author)s AND l.ended_at IS NULL ORDER BY l.ahead, l.taken_at DESC, l.id DESC"
    return _leases(condition, author=author.pk)


def lease_locked(lease: Lease) -> Lease:
    """The lease as it is now, locked until the commit behind its item and its slot, in this order: a claim that finds
    the slot by what it saw a moment ago holds it, and would wait for the lease to end. Nothing else is locked: a lock
    on the queue would let answers in only one by one from their very start."""
    lock = " FOR NO KEY UPDATE OF i, s, l" if connection.features.has_select_for_update else ""
    (found,) = _leases(f"WHERE l.id = %(id)s{lock}", id=lease.pk)
    return found


def _leases(condition: str, **values: Any) -> list[Lease]:
    found = []
    for row in _LEASES.ask(_LEASE + condition, stored(Lease, **values)):
        lease, slot, item, case, queue, rubric, project, presentation = row
        lease.slot, lease.item, item.presentation = slot, item, presentation
        slot.item = item
        item.case, item.queue = case, queue
        queue.rubric, queue.project = rubric, project
        found.append(lease)
    return found


_SLOTS = Joined(s=Slot, i=Item, c=Case)
_SLOT = f"""
SELECT {_SLOTS.columns}
FROM adjudication_slot s
JOIN adjudication_item i ON i.id = s.item_id
JOIN judges_case c ON c.id = i.case_id
WHERE s.id = %(id)s"""  # noqa: S608 -- as above


def slot_with_case(pk: int) -> Slot:
    ((slot, item, case),) = _SLOTS.ask(_SLOT, {"id": pk})
    slot.item, item.case = item, case
    return slot


_SHOWN = Joined(s=ItemArtifact, a=Artifact)
_SHOW = f"""
SELECT {_SHOWN.columns}
FROM adjudication_itemartifact s JOIN judges_artifact a ON a.id = s.artifact_id
WHERE s.item_id = %(item)s ORDER BY s.id"""  # noqa: S608 -- as above


def shown_of(item: Item) -> list[Artifact]:
    """The artifacts that the item shows, asked for once."""
    if not hasattr(item, "artifacts"):
        item.artifacts = [artifact for _, artifact in _SHOWN.ask(_SHOW, {"item": item.pk})]
    return list(item.artifacts)


def presentation_of(item: Item, author: Author) -> Presentation | None:
    """How it was laid before this person. What was once found is not asked for again: it never changes."""
    known: Presentation | None = getattr(item, "presentation", None)
    if known is None or known.author_id != author.pk:
        known = item.presentation = _own(Presentation, item, author)
    return known


def draft_of(item: Item, author: Author) -> Draft | None:
    return _own(Draft, item, author)


def _own(model: type[Own], item: Item, author: Author) -> Own | None:
    """The one record of this kind that a person has of an item."""
    statement = f"SELECT * FROM {model._meta.db_table} WHERE item_id = %s AND author_id = %s"  # noqa: S608 -- as above
    return next(iter(model._default_manager.raw(statement, [item.pk, author.pk])), None)


def key_choice_of(author: Author) -> KeyChoice:
    """The keys that this person uses; those of the house where they have chosen none."""
    statement = "SELECT * FROM adjudication_keychoice WHERE author_id = %s"
    return next(iter(KeyChoice.objects.raw(statement, [author.pk])), None) or KeyChoice(author=author)
