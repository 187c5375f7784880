from django.db import models
from django.db.models import Q

from adjudication.models.queues import Item, Queue
from adjudication.models.reviews import Review
from core.models import Author
from core.records import AppendOnly
from judges.models.cases import Artifact


class KnownAnswer(AppendOnly):
    """The settled label of an artifact that an item shows, to practise on or to be measured by. `rationale` is
    what those wrote whose label it is; `source` says which audit or file it came from."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="known_answers")
    artifact = models.ForeignKey(Artifact, models.PROTECT, related_name="known_answers")
    label = models.CharField(max_length=100)
    rationale = models.TextField(blank=True)
    source = models.CharField(max_length=200)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="known_answers")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "artifact"], name="one_known_answer_per_artifact"),
        ]

    def __str__(self) -> str:
        return f"{self.artifact}: {self.label}"


class Calibration(AppendOnly):
    """What a queue asks of its reviewers beside its own items, fixed before the first of them was served: a
    practice set to finish first, and one hidden anchor among about `every` cases. `salt` decides where; it is
    known to nobody."""

    queue = models.OneToOneField(Queue, models.PROTECT, related_name="calibration")
    practice = models.ForeignKey(Queue, models.PROTECT, null=True, related_name="practised_for")
    anchors = models.ForeignKey(Queue, models.PROTECT, null=True, related_name="hidden_in")
    every = models.PositiveSmallIntegerField(null=True)
    salt = models.CharField(max_length=32)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(anchors__isnull=True, every__isnull=True)
                # Said twice: a comparison with nothing is not false, and a check lets it pass.
                | Q(anchors__isnull=False, every__isnull=False, every__gte=1),
                name="hidden_anchors_have_a_rate",
            ),
            models.CheckConstraint(
                condition=Q(practice__isnull=False) | Q(anchors__isnull=False), name="a_calibration_asks_for_something"
            ),
        ]

    def __str__(self) -> str:
        return f"calibration of {self.queue}"


class LabelDispute(AppendOnly):
    """Somebody who practised on a case holds that its label on record is wrong, and says why. It changes nothing
    by itself: a lead reads it."""

    review = models.OneToOneField(Review, models.PROTECT, related_name="dispute")
    code = models.CharField(max_length=60)
    words = models.TextField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.review} disputes the label on record"
