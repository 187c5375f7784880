from django.db import models
from django.db.models import Q

from adjudication.models.queues import Item, Queue
from core.models import Author
from core.records import AppendOnly
from judges.models.cases import Artifact


class SettlementHow(models.TextChoices):
    SINGLE = "single"
    UNANIMOUS = "unanimous"
    ADJUDICATED = "adjudicated"
    IMPORTED = "imported"
    REUSED = "reused"
    UNDERSPECIFIED = "underspecified"


class Settlement(AppendOnly):
    """The decision on an item, and how it came about. `number` is its place among its queue's
    settlements, in the order in which they were committed."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="settlements")
    revision = models.PositiveSmallIntegerField(default=1)
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="settlements")
    number = models.PositiveIntegerField()
    how = models.CharField(max_length=20, choices=SettlementHow.choices)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="settlements")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "revision"], name="one_settlement_per_revision"),
            models.UniqueConstraint(fields=["queue", "number"], name="one_settlement_per_number"),
            models.CheckConstraint(condition=Q(how__in=SettlementHow.values), name="settlement_how_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.item} settled: {self.how}"


class Reference(AppendOnly):
    """The settled human label of one artifact. An underspecified artifact has none."""

    settlement = models.ForeignKey(Settlement, models.PROTECT, related_name="references")
    artifact = models.ForeignKey(Artifact, models.PROTECT, related_name="references")
    label = models.CharField(max_length=100)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["settlement", "artifact"], name="one_reference_per_artifact")]

    def __str__(self) -> str:
        return self.label
