from django.db import models

from audits.models.audits import Audit
from audits.models.looks import Look
from core.records import AppendOnly


class DraftSizing(AppendOnly):
    """What a draft's plan asks for, computed when the audit is opened: the plan page must not count pairs.

    `strata` lists {name, size, labels} in order; the widths and `saving` are null for a plan without a target,
    and all is empty where `problems` says why the plan cannot be drawn.
    """

    audit = models.OneToOneField(Audit, models.PROTECT, related_name="sizing")
    strata = models.JSONField()
    half_width = models.FloatField(null=True)  # the plan's target
    projected = models.FloatField(null=True)  # half-width expected at these labels
    without_judge = models.PositiveIntegerField(null=True)
    saving = models.FloatField(null=True)
    problems = models.JSONField(default=list)
    code_version = models.CharField(max_length=40)

    def __str__(self) -> str:
        return f"sizing of {self.audit}"


class Outlook(models.Model):
    """What the worker prepares for the pages beside a look: the chart up to it, and the labels still needed.

    A cache: it can be made again from the looks and labels, and only the last look of an audit keeps one.
    `strata` lists {name, labels, more}: totals that reach the target, and how many of them are not settled yet.
    """

    look = models.OneToOneField(Look, models.CASCADE, related_name="outlook")
    chart = models.TextField(blank=True)
    state = models.CharField(max_length=20)  # "ok", "reached" or "cannot tell yet"; "no target" without one
    reason = models.TextField(blank=True)
    strata = models.JSONField(default=list)
    more = models.PositiveIntegerField(null=True)
    least = models.PositiveIntegerField(null=True)
    most = models.PositiveIntegerField(null=True)
    projected = models.FloatField(null=True)
    without_judge = models.PositiveIntegerField(null=True)
    saving = models.FloatField(null=True)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"outlook at {self.look}"
