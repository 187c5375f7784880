from django.db import models
from django.db.models import Q

from adjudication.models import Item, Queue
from core.identity import value_hash
from core.models import Author, Project
from core.records import AppendOnly, FixedFields
from judges.models import Case, Comparison, Rubric


class AuditState(models.TextChoices):
    DRAFT = "draft"
    REGISTERED = "registered"


class Audit(FixedFields):
    """A plan over one comparison, and what came of it. The plan is a draft until it is registered.

    `look_taker` and `look_taken_at` say who computes looks now; they are moved by compare-and-swap.
    """

    fixed = ("rubric_id", "queue_id", "comparison_id")
    fixed_when = "OLD.state = 'registered'"
    fixed_since = "since its registration"

    project = models.ForeignKey(Project, models.PROTECT, related_name="audits")
    name = models.CharField(max_length=100)
    comparison = models.OneToOneField(Comparison, models.PROTECT, related_name="audit")
    rubric = models.ForeignKey(Rubric, models.PROTECT, related_name="audits")
    queue = models.OneToOneField(Queue, models.PROTECT, related_name="audit")
    manifest = models.TextField()
    manifest_hash = models.CharField(max_length=64)
    plan = models.JSONField()
    review = models.JSONField()
    state = models.CharField(max_length=12, choices=AuditState.choices, default=AuditState.DRAFT)
    opened_at = models.DateTimeField()
    look_taker = models.CharField(max_length=32, blank=True)
    look_taken_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_audit_per_name"),
            models.CheckConstraint(condition=Q(state__in=AuditState.values), name="audit_state_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Frame(AppendOnly):
    """Every eligible case with its stratum, verdicts and place in the permanent random order, fixed at
    registration. A judge run again, or a new mapping, never moves a case of it.

    `rows` is zlib-compressed canonical JSON; `sha256` is of the JSON.
    """

    audit = models.OneToOneField(Audit, models.PROTECT, related_name="frame")
    sha256 = models.CharField(max_length=64)
    rows = models.BinaryField()

    def __str__(self) -> str:
        return self.sha256


class Registration(AppendOnly):
    """A plan made binding, dated: the first, or an extension of the sample."""

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="registrations")
    n = models.PositiveIntegerField()
    plan = models.JSONField()
    frame_hash = models.CharField(max_length=64)
    seed = models.CharField(max_length=100)
    code_version = models.CharField(max_length=40)
    labels = models.JSONField()  # stratum -> labels drawn in all, this registration included
    actor = models.ForeignKey(Author, models.PROTECT, related_name="registrations")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "n"], name="registrations_are_numbered")]

    def __str__(self) -> str:
        return f"{self.audit}, registration {self.n}"

    @property
    def plan_hash(self) -> str:
        return value_hash(self.plan)


class StratumKind(models.TextChoices):
    SAMPLED = "sampled"
    TAKE_ALL = "take all"


class Stratum(AppendOnly):
    """One stratum of the frame, fixed by the judges' outputs and the slices before any label."""

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="strata")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=StratumKind.choices)
    size = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "name"], name="one_stratum_per_name"),
            models.CheckConstraint(condition=Q(kind__in=StratumKind.values), name="stratum_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Cell(AppendOnly):
    """How many cases of a stratum have one pair of verdicts.

    `same_content` marks pairs whose output and evidence are byte-identical on both sides of an upgrade:
    whatever the label, it is the same for both. `score_sum` and `score_squares` are the sums of the plan's predictor
    and of its square over the cases, where it takes a finer score.
    """

    stratum = models.ForeignKey(Stratum, models.PROTECT, related_name="cells")
    old = models.CharField(max_length=100)
    new = models.CharField(max_length=100)
    same_content = models.BooleanField(default=False)
    size = models.PositiveIntegerField()
    score_sum = models.FloatField(null=True)
    score_squares = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["stratum", "old", "new", "same_content"], name="one_cell_per_verdicts"),
            models.CheckConstraint(
                condition=Q(score_sum__isnull=True, score_squares__isnull=True)
                | Q(score_sum__isnull=False, score_squares__isnull=False),
                name="a_cell_has_both_sums_of_a_score_or_none",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stratum}: {self.old} → {self.new}"


class Draw(AppendOnly):
    """A case that the design selected, with its place in its stratum's permanent random order.

    The item is what people judge; the draw is why it was chosen. People never see a draw.
    """

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="draws")
    registration = models.ForeignKey(Registration, models.PROTECT, related_name="draws")
    stratum = models.ForeignKey(Stratum, models.PROTECT, related_name="draws")
    position = models.PositiveIntegerField()  # from 1
    case = models.ForeignKey(Case, models.PROTECT, related_name="draws")
    item = models.ForeignKey(Item, models.PROTECT, related_name="draws")
    old = models.CharField(max_length=100)
    new = models.CharField(max_length=100)
    same_content = models.BooleanField(default=False)
    score = models.FloatField(null=True)  # the plan's predictor, where it takes a finer score

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "case"], name="a_case_is_drawn_once"),
            models.UniqueConstraint(fields=["stratum", "position"], name="one_draw_per_position"),
        ]

    def __str__(self) -> str:
        return f"{self.case}, {self.position} of {self.stratum}"
