from django.db import models

from core.models import Project
from core.records import FixedFields
from judges.models.cases import Artifact, Case
from judges.models.rubrics import Rubric


class QueuePurpose(models.TextChoices):
    SETTLE = "settle"
    PRACTICE = "practice"
    ANCHORS = "anchors"


class Queue(FixedFields):
    """The pile of items that belong together: one rubric, one serving order. Why an item is in it, the
    desk cannot know.

    Items of the purpose `settle` get their label here. Those of the others have one already: people practise on
    them, or are measured by them where they lie hidden among the items of another queue, and nothing is settled.

    `settled` counts the settlements made so far. It is raised in each settlement's own transaction, so
    that the numbers follow the order of commits, which row ids on PostgreSQL do not.
    """

    # What people are asked stays what it was when the first case was laid before them.
    fixed = ("rubric_id",)
    fixed_when = "EXISTS (SELECT 1 FROM adjudication_item i WHERE i.queue_id = OLD.id)"
    fixed_since = "since its first case"

    project = models.ForeignKey(Project, models.PROTECT, related_name="queues")
    name = models.CharField(max_length=100)
    rubric = models.ForeignKey(Rubric, models.PROTECT, related_name="queues")
    purpose = models.CharField(max_length=10, choices=QueuePurpose.choices, default=QueuePurpose.SETTLE)
    settled = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "purpose", "name"], name="one_queue_per_purpose_and_name"),
            models.CheckConstraint(condition=models.Q(purpose__in=QueuePurpose.values), name="queue_purpose_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class ItemState(models.TextChoices):
    OPEN = "open"
    CONFLICT = "conflict"
    SETTLED = "settled"


class Item(models.Model):
    """One case open for human judgment: an artifact, or a pair of artifacts, under the queue's rubric.

    `rank` is its place in the serving order; null for an item whose labels are only ever imported. `question` repeats
    the hash of the case's input: whose question somebody has met is asked of the few items, not of all cases, among
    which an index over hashes, in no order, would cost every load of a million an eighth of its time.
    """

    queue = models.ForeignKey(Queue, models.PROTECT, related_name="items")
    case = models.ForeignKey(Case, models.PROTECT, related_name="items")
    question = models.CharField(max_length=64)
    rank = models.PositiveIntegerField(null=True)
    state = models.CharField(max_length=10, choices=ItemState.choices, default=ItemState.OPEN)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "case"], name="one_item_per_case_in_a_queue"),
            models.UniqueConstraint(fields=["queue", "rank"], name="one_item_per_rank_in_a_queue"),
            models.CheckConstraint(condition=models.Q(state__in=ItemState.values), name="item_state_is_known"),
            models.CheckConstraint(condition=~models.Q(question=""), name="an_item_has_the_question_of_its_case"),
        ]
        indexes = [
            models.Index(fields=["queue", "state"], name="item_by_state"),
            models.Index(fields=["question"], name="item_by_question"),
        ]

    def __str__(self) -> str:
        return f"item {self.pk}"


class ItemArtifact(models.Model):
    """An artifact that an item shows."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="shown")
    artifact = models.ForeignKey(Artifact, models.PROTECT, related_name="shown_in")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "artifact"], name="an_artifact_once_per_item")]

    def __str__(self) -> str:
        return f"{self.artifact} in {self.item}"


class SlotKind(models.TextChoices):
    REVIEW = "review"
    ADJUDICATION = "adjudication"
    PRACTICE = "practice"
    ANCHOR = "anchor"  # a hidden one: for the person who answers, a review like any other


class SlotState(models.TextChoices):
    OPEN = "open"
    DONE = "done"
    WITHDRAWN = "withdrawn"  # the item was settled, or handed to the adjudicator, without this answer


class Slot(models.Model):
    """One of the answers an item needs. It is not a person's: who holds it now is the live lease.

    `queue` and `rank` repeat the item's, so that the next slot is found by one index. A slot that was
    skipped or abandoned is `urgent`: it goes first to the next person, because it holds up the settled prefix.
    """

    item = models.ForeignKey(Item, models.CASCADE, related_name="slots")
    n = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=12, choices=SlotKind.choices, default=SlotKind.REVIEW)
    state = models.CharField(max_length=10, choices=SlotState.choices, default=SlotState.OPEN)
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="slots")
    rank = models.PositiveIntegerField()
    urgent = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "n"], name="one_slot_per_number"),
            models.CheckConstraint(condition=models.Q(state__in=SlotState.values), name="slot_state_is_known"),
            models.CheckConstraint(condition=models.Q(kind__in=SlotKind.values), name="slot_kind_is_known"),
        ]
        indexes = [
            models.Index(fields=["queue", "kind", "state", "-urgent", "rank", "n"], name="slot_in_serving_order"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.n} of {self.item}"
