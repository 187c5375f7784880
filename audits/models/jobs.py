from django.db import models
from django.db.models import Q

from audits.models.audits import Audit
from core.models import Author, Project


class JobKind(models.TextChoices):
    INTAKE = "intake"
    REGISTER = "register"
    EXTEND = "extend"
    MAKE_ANCHORS = "anchors"
    TAKE_ANCHORS = "anchors in"  # from a file
    LABELS = "labels"  # that people gave elsewhere
    PACKET = "packet"
    KNOWN_SET = "known set"  # of an anchor set: to practise on, or hidden in audits
    RETENTION = "retention"  # texts that go, or only what would


class JobState(models.TextChoices):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"  # what was given cannot be taken: `problems` says why
    BROKEN = "broken"  # a fault of ours, or of the machine
    CANCELLED = "cancelled"  # by a lead: nothing was taken in


class Job(models.Model):
    """Work that somebody asked for on a page and a worker does. This row is the truth about it: a message to
    the worker only says when to look here.

    `asked` is what the kind needs: the folder and manifest of an intake, the labels of an extension. `attempt`
    tells a worker that has it from one that had it and went silent; `done` of `expected` rows, or bytes, is how far it
    is. `outcome` says what came of it, where no other page does.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="jobs")
    audit = models.ForeignKey(Audit, models.PROTECT, related_name="jobs", null=True)
    kind = models.CharField(max_length=10, choices=JobKind.choices)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.WAITING)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="jobs")
    asked = models.JSONField(default=dict)
    attempt = models.PositiveIntegerField(default=0)
    progress = models.CharField(max_length=200, blank=True)
    done = models.PositiveBigIntegerField(null=True)
    expected = models.PositiveBigIntegerField(null=True)
    problems = models.JSONField(default=list)
    outcome = models.CharField(max_length=500, blank=True)
    asked_at = models.DateTimeField()
    touched_at = models.DateTimeField(null=True)  # last sign of life of the worker that has it
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_is_known"),
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="job_kind_is_known"),
            models.UniqueConstraint(
                fields=["audit"], condition=Q(state__in=["waiting", "running"]), name="one_open_job_per_audit"
            ),
        ]
        indexes = [
            models.Index(fields=["asked_at"], condition=Q(state__in=["waiting", "running"]), name="open_job_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_open(self) -> bool:
        return self.state in (JobState.WAITING, JobState.RUNNING)
