from django.db import models

from adjudication.models.queues import Item, SlotKind
from adjudication.models.work import Presentation
from core.models import Author
from core.records import AppendOnly
from judges.models.cases import Artifact

Passage = tuple[int | None, int, int, int]  # of a text quoted: artifact (None: the input), part, start, end


class Review(AppendOnly):
    """What one person answered about one item. A correction is a new revision; nothing is overwritten.

    `surplus` marks an answer that came after the item had all it needed: kept, outside the estimate.
    `presentation` says which output stood where; null for an answer that was not given at the desk.
    """

    item = models.ForeignKey(Item, models.PROTECT, related_name="reviews")
    author = models.ForeignKey(Author, models.PROTECT, related_name="reviews")
    revision = models.PositiveSmallIntegerField(default=1)
    kind = models.CharField(max_length=12, choices=SlotKind.choices, default=SlotKind.REVIEW)
    surplus = models.BooleanField(default=False)
    presentation = models.ForeignKey(Presentation, models.PROTECT, null=True, related_name="reviews")
    rationale = models.TextField(blank=True)
    seconds = models.PositiveIntegerField(null=True)  # active, while the page was in front; null if unknown
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "author", "revision"], name="one_review_per_revision"),
        ]
        indexes = [models.Index(fields=["author", "kind", "at"], name="review_by_author_kind_and_time")]

    def __str__(self) -> str:
        return f"{self.item} by {self.author}"


class Withdrawal(AppendOnly):
    """A person took an answer back. It stays as it was, and counts no more."""

    review = models.OneToOneField(Review, models.PROTECT, related_name="withdrawal")
    actor = models.ForeignKey(Author, models.PROTECT, related_name="withdrawals")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.review} withdrawn"


class Label(AppendOnly):
    """A review's answer for one artifact: a label of the scale, or null for *cannot judge*."""

    review = models.ForeignKey(Review, models.PROTECT, related_name="labels")
    artifact = models.ForeignKey(Artifact, models.PROTECT, related_name="labels")
    label = models.CharField(max_length=100, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "artifact"], name="one_label_per_artifact")]

    def __str__(self) -> str:
        return self.label or "cannot judge"


class ReviewReason(AppendOnly):
    """A desk reason code that a review gives."""

    review = models.ForeignKey(Review, models.PROTECT, related_name="reasons")
    code = models.CharField(max_length=60)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "code"], name="a_reason_once_per_review")]

    def __str__(self) -> str:
        return self.code


class Span(AppendOnly):
    """A passage that a review quotes: characters `start` up to `end` of the case's input (no artifact), or of a part
    of an artifact: its output is part 0, its evidence follows."""

    review = models.ForeignKey(Review, models.PROTECT, related_name="spans")
    artifact = models.ForeignKey(Artifact, models.PROTECT, null=True, related_name="spans")
    part = models.PositiveSmallIntegerField(default=0)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(start__lt=models.F("end")), name="a_span_has_characters"),
            models.UniqueConstraint(
                fields=["review", "artifact", "part", "start", "end"], name="a_span_once_per_review"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.start} to {self.end} of part {self.part}"
