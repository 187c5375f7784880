from django.db import models

from core.models import Author
from core.records import AppendOnly
from judges.models.cases import CaseSet


class HoldoutOpening(AppendOnly):
    """Somebody opened the holdout of a case set, to read it case by case. From then on it is no holdout: nothing
    decided on it is an independent check any more.
    """

    case_set = models.OneToOneField(CaseSet, models.PROTECT, related_name="holdout_opening")
    reason = models.TextField()
    actor = models.ForeignKey(Author, models.PROTECT, related_name="holdout_openings")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~models.Q(reason=""), name="a_holdout_is_opened_for_a_reason"),
        ]

    def __str__(self) -> str:
        return f"holdout of {self.case_set}, opened by {self.actor} at {self.at:%Y-%m-%d %H:%M} UTC"
