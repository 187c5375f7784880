import sys

from django.db import models

from core.records import SealedOnComplete
from core.references import CheckedByStatement
from judges.intake.specs import AS_GIVEN
from judges.models.cases import Artifact, CaseSet, one_of
from judges.models.judges import Generator, Reader
from judges.models.loads import Loaded


class Run(Loaded):
    """One execution of a generator over a case set. A second one in the same order is a repeat, in
    another order an order probe, over otherwise packaged evidence an evidence probe.

    `system_version` is in the key because an upgrade's two sides are loaded one by one. `file_hash` is of the bytes
    that the judgments were read from, `reading_hash` of how they were read: the columns, not the file's name.
    """

    generator = models.ForeignKey(Generator, models.PROTECT, related_name="runs")
    case_set = models.ForeignKey(CaseSet, models.PROTECT, related_name="runs")
    system_version = models.ForeignKey("judges.SystemVersion", models.PROTECT, related_name="runs")
    ordinal = models.PositiveIntegerField()
    presentation_order = models.CharField(max_length=100)
    packaging = models.CharField(max_length=100, default=AS_GIVEN)  # of the evidence
    file_hash = models.CharField(max_length=64, blank=True)
    reading_hash = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["generator", "case_set", "system_version", "ordinal"], name="one_run_per_ordinal"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.generator} run {self.ordinal} on {self.system_version}"


class CacheState(models.TextChoices):
    FRESH = "fresh"
    CACHED = "cached"
    UNRECORDED = "unrecorded"


class ProvenanceMark(models.TextChoices):
    VERIFIED = "verified"  # recorded when the judgment was made, complete, and true of the artifact
    LEGACY = "legacy"  # none recorded, as in a plain file: eligible, and shown
    UNVERIFIED = "unverified"  # recorded, but not enough to check
    CONTRADICTED = "contradicted"  # recorded, and not true of the artifact: its readings are stale


class Judgment(SealedOnComplete, CheckedByStatement):
    """The raw response for one artifact in one run, with what was recorded when it was made.

    `seen_*` are hashes of what the judge was shown, as far as the source says. `recorded_label` is the
    label that the source's own parser found, where it gives one; `score` a finer number beside it, such as a
    confidence, whose meaning is the judge's own; `tokens` and `cost` are what the response took, the cost in
    whatever currency the source counts; `raw_reference` is where the source keeps the response.
    """

    protected_when = "(SELECT state FROM judges_run WHERE id = OLD.run_id) = 'complete'"

    run = models.ForeignKey(Run, models.CASCADE, related_name="judgments", db_index=False)
    artifact = models.ForeignKey(Artifact, models.PROTECT, related_name="judgments")
    raw_hash = models.CharField(max_length=64)
    recorded_label = models.TextField(null=True)
    seen_output_hash = models.CharField(max_length=64, blank=True, default="", db_default="")
    seen_evidence_hash = models.CharField(max_length=64, blank=True, default="", db_default="")
    pipeline = models.CharField(max_length=200, blank=True, default="", db_default="")
    cache = models.CharField(
        max_length=12, choices=CacheState.choices, default=CacheState.UNRECORDED, db_default=CacheState.UNRECORDED
    )
    made_at = models.CharField(max_length=40, blank=True, default="", db_default="")  # as the source writes it
    raw_reference = models.CharField(max_length=200, blank=True, default="", db_default="")
    score = models.FloatField(null=True)
    tokens = models.PositiveBigIntegerField(null=True)
    cost = models.FloatField(null=True)
    provenance = models.CharField(max_length=12, choices=ProvenanceMark.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "artifact"], name="one_judgment_per_run_and_artifact"),
            models.CheckConstraint(condition=one_of("cache", CacheState.values), name="cache_state_is_known"),
            models.CheckConstraint(
                condition=one_of("provenance", ProvenanceMark.values), name="provenance_mark_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(score__isnull=True)
                | models.Q(score__gte=-sys.float_info.max, score__lte=sys.float_info.max),
                name="a_score_is_a_finite_number",
            ),
            models.CheckConstraint(
                condition=models.Q(cost__isnull=True) | models.Q(cost__gte=0, cost__lte=sys.float_info.max),
                name="a_cost_is_a_finite_number_from_0",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} on {self.artifact}"


class ReadingState(models.TextChoices):
    VALID = "valid"
    UNPARSED = "unparsed"
    UNMAPPED = "unmapped"
    STALE = "stale"


class Reading(SealedOnComplete, CheckedByStatement):
    """One judgment read by one reader: a verdict exactly when the state is valid."""

    protected_when = (
        "(SELECT state FROM judges_reader WHERE id = OLD.reader_id) = 'complete' AND "
        "(SELECT run.state FROM judges_run run JOIN judges_judgment judgment ON judgment.run_id = run.id "
        "WHERE judgment.id = OLD.judgment_id) = 'complete'"
    )

    judgment = models.ForeignKey(Judgment, models.CASCADE, related_name="readings", db_index=False)
    reader = models.ForeignKey(Reader, models.PROTECT, related_name="readings", db_index=False)
    state = models.CharField(max_length=10, choices=ReadingState.choices)
    raw_label = models.TextField(blank=True)
    reason = models.CharField(max_length=200, blank=True)
    verdict = models.CharField(max_length=100, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["judgment", "reader"], name="one_reading_per_judgment_and_reader"),
            models.CheckConstraint(
                condition=models.Q(state=ReadingState.VALID, verdict__isnull=False)
                | (models.Q(state__in=["unparsed", "unmapped", "stale"]) & models.Q(verdict__isnull=True)),
                name="a_verdict_exactly_when_valid",
            ),
        ]

    def __str__(self) -> str:
        return self.verdict or self.state
