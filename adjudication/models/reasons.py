from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from core.models import Author, Project
from core.records import AppendOnly


class ReasonStage(models.TextChoices):
    """When a code is offered. `calibration`: at the desk, and there in practice only."""

    DESK = "desk"
    CALIBRATION = "calibration"
    DIAGNOSIS = "diagnosis"
    RETIRED = "retired"


class ReasonOwner(models.TextChoices):
    """Who mends what a code names."""

    RUBRIC = "rubric"
    EVALUATOR_PLATFORM = "evaluator platform"
    PACKAGING = "packaging"
    MAPPING = "mapping"
    POLICY = "policy"


class ReasonCode(AppendOnly):
    """A reason in a few words, which a project's people may give. It keeps its name for good: old reviews say it."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="reason_codes")
    code = models.CharField(max_length=60)
    meaning = models.CharField(max_length=200, blank=True)
    needs_text = models.BooleanField(default=False)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="reason_codes")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("project", Lower("code"), name="one_reason_code_per_name")]

    def __str__(self) -> str:
        return self.code


class ReasonPlacement(AppendOnly):
    """At which stage a code is offered, and who owns it, from a moment on. The latest placement holds."""

    code = models.ForeignKey(ReasonCode, models.PROTECT, related_name="placements")
    revision = models.PositiveSmallIntegerField(default=1)
    stage = models.CharField(max_length=12, choices=ReasonStage.choices)
    owner = models.CharField(max_length=20, choices=ReasonOwner.choices)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="reason_placements")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["code", "revision"], name="one_placement_per_revision"),
            models.CheckConstraint(condition=Q(stage__in=ReasonStage.values), name="reason_stage_is_known"),
            models.CheckConstraint(condition=Q(owner__in=ReasonOwner.values), name="reason_owner_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.stage}, {self.owner}"
