from django.db import models

from audits.models.audits import Audit, Registration
from core.records import AppendOnly


class Look(AppendOnly):
    """One computed estimate at a moment: labels in, intervals out. All looks together are the width curve.

    `watermark` is the number of the last settlement it has seen, `registration` the last sample: cases drawn
    later may have been settled before. `result` is the whole estimate with its
    method, policy and code version; the columns beside it are for lists and curves.
    """

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="looks")
    registration = models.ForeignKey(Registration, models.PROTECT, related_name="looks")
    watermark = models.PositiveIntegerField()
    at = models.DateTimeField()
    code_version = models.CharField(max_length=40)
    labels = models.PositiveIntegerField()  # settled, in the prefixes that count
    point = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    final = models.BooleanField(default=False)
    result = models.JSONField()
    secondary = models.JSONField(null=True)  # secondary estimates, at a look at which the audit may stop
    slices = models.JSONField(null=True)  # the estimand by slice, at a look at which the audit may stop
    reruns = models.JSONField(null=True)  # what further runs cost against the labels, at such a look
    remaining = models.JSONField(null=True)  # the sizing of what is left; null where the plan has no target

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "registration", "watermark"], name="one_look_per_watermark"),
        ]

    def __str__(self) -> str:
        return f"{self.audit} after {self.watermark} settlements"
