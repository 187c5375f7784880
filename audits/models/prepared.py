from django.db import models

from audits.models.audits import Audit
from audits.models.looks import Look
from core.records import AppendOnly


class DraftSizing(AppendOnly):
    """What a draft's plan asks for, computed when the audit is opened: the plan page must not count pairs.
    A draft follows its manifest, so there is one for each manifest that it had.

    `strata` lists {name, size, labels, reused} in order, `reused` being those of the labels that references of earlier
    audits would settle; the widths, `saving` and `outlook` are null for a plan without a target, and all is empty where
    `problems` says why the plan cannot be drawn. `outlook` holds what each policy needs, the curve, the chances, and
    the difference that the target detects (`audits.services.sizing`).
    """

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="sizings")
    manifest_hash = models.CharField(max_length=64, default="")
    strata = models.JSONField()
    half_width = models.FloatField(null=True)  # the plan's target
    projected = models.FloatField(null=True)  # half-width expected at these labels
    without_judge = models.PositiveIntegerField(null=True)
    saving = models.FloatField(null=True)
    outlook = models.JSONField(null=True)
    problems = models.JSONField(default=list)
    code_version = models.CharField(max_length=40)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "manifest_hash"], name="one_sizing_per_manifest")]

    def __str__(self) -> str:
        return f"sizing of {self.audit}"


class ColumnCheck(AppendOnly):
    """Columns of label files held against the verdicts, before any label is imported: which one agrees far less for one
    system or slice than for the others. Made when the audit is opened, if the files are there by then.

    Only what is wrong is kept: rates of agreement are for after the plan.
    """

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="column_checks")
    manifest_hash = models.CharField(max_length=64)
    warnings = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "manifest_hash"], name="one_column_check_per_manifest")]

    def __str__(self) -> str:
        return f"columns of {self.audit}"


class LookChart(models.Model):
    """The chart of the looks up to one, drawn by the worker: no page draws.

    A cache, which can be made again from the looks: only the last drawn look of an audit keeps one. It is empty
    while no look has an interval.
    """

    look = models.OneToOneField(Look, models.CASCADE, related_name="chart")
    svg = models.TextField(blank=True)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"chart at {self.look}"


class DeskFigures(models.Model):
    """What the desk's answers come to, counted by the worker after a look: no page counts answers.

    A cache, which can be made again: only the last look of an audit keeps one. `agreement` is that of independent
    reviewers, `reasons` lists each desk code with its owner, how often it was given, and how often in each slice,
    `reviewers` each person's answers with their active seconds.
    """

    look = models.OneToOneField(Look, models.CASCADE, related_name="figures")
    agreement = models.JSONField()
    reasons = models.JSONField()
    reviewers = models.JSONField()
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"answers at {self.look}"


class PlanChart(models.Model):
    """The chart of width against labels of a plan, drawn by the worker: no page draws.

    A cache, which can be made again from the sizing.
    """

    sizing = models.OneToOneField(DraftSizing, models.CASCADE, related_name="chart")
    svg = models.TextField(blank=True)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"chart of {self.sizing}"


class ChangeChart(models.Model):
    """The chart of the verdicts that changed, drawn by the worker: no page draws.

    A cache, which can be made again from the comparison's summary.
    """

    audit = models.OneToOneField(Audit, models.CASCADE, related_name="change_chart")
    svg = models.TextField(blank=True)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"chart of the changes in {self.audit}"
