"""Opening queues and filling them."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from adjudication.models import Item, ItemArtifact, ItemState, Queue, QueuePurpose, Slot
from core.models import Project
from judges.models.cases import Case
from judges.models.rubrics import Rubric


@dataclass(frozen=True)
class NewItem:
    """A case to be judged: its artifacts, its place in the serving order (None: never served), and how
    many independent answers it needs."""

    case: int
    artifacts: tuple[int, ...]
    rank: int | None
    answers: int = 1


@transaction.atomic
def queue_open(*, project: Project, name: str, rubric: Rubric, purpose: QueuePurpose = QueuePurpose.SETTLE) -> Queue:
    return Queue.objects.get_or_create(project=project, name=name, purpose=purpose, defaults={"rubric": rubric})[0]


@transaction.atomic
def items_add(*, queue: Queue, items: Iterable[NewItem]) -> dict[int, Item]:
    """Add items with their slots, all or none. Those there already are kept, and come back too, by case."""
    wanted = {item.case: item for item in items}
    present = {item.case_id: item for item in queue.items.filter(case__in=wanted)}
    new = [item for case, item in wanted.items() if case not in present]
    questions = dict(Case.objects.filter(pk__in=[item.case for item in new]).values_list("pk", "input_hash"))
    rows = Item.objects.bulk_create(
        Item(queue=queue, case_id=item.case, question=questions[item.case], rank=item.rank) for item in new
    )
    ItemArtifact.objects.bulk_create(
        ItemArtifact(item=row, artifact_id=artifact)
        for row, item in zip(rows, new, strict=True)
        for artifact in item.artifacts
    )
    served = [(row, item) for row, item in zip(rows, new, strict=True) if item.rank is not None]
    # One that was only ever imported is served from now on, unless its labels have settled it already.
    ranked = [row for row in present.values() if row.rank is None and wanted[row.case_id].rank is not None]
    for row in ranked:
        row.rank = wanted[row.case_id].rank
    Item.objects.bulk_update(ranked, ["rank"], batch_size=500)
    served += [(row, wanted[row.case_id]) for row in ranked if row.state == ItemState.OPEN]
    _slots_add(queue, served)
    return present | {row.case_id: row for row in rows}


def _slots_add(queue: Queue, served: list[tuple[Item, NewItem]]) -> None:
    Slot.objects.bulk_create(
        Slot(item=row, n=n, queue=queue, rank=item.rank) for row, item in served for n in range(1, item.answers + 1)
    )
