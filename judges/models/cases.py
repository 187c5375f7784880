from collections.abc import Iterable
from functools import reduce
from operator import or_

from django.db import models

from core.models import Project
from core.records import SealedOnComplete
from core.references import CheckedByStatement
from judges.models.loads import Loaded


def one_of(field: str, values: Iterable[str]) -> models.Q:
    """As alternatives: for `IN` with three values or more SQLite fills a table, for every row that is written."""
    return reduce(or_, (models.Q(**{field: value}) for value in values))


class Partition(models.TextChoices):
    DEVELOPMENT = "development"
    HOLDOUT = "holdout"
    SMOKE = "smoke"


class Blob(CheckedByStatement):
    """The bytes of one text, kept apart and addressed by their hash. Retention drops blobs, never hashes,
    so no row points here by key."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="blobs", db_index=False)
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "sha256"], name="one_blob_per_content")]

    def __str__(self) -> str:
        return self.sha256


class CaseSet(Loaded):
    """A named, versioned list of cases, frozen once loaded. A set with corrected cases follows another version."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="case_sets")
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    follows = models.ForeignKey("self", models.PROTECT, related_name="followed_by", null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name", "version"], name="one_case_set_per_version"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Case(SealedOnComplete, CheckedByStatement):
    """One unit that is judged: a question or task, with the population fields it is sliced by.

    A case that another version of the set corrects has the next `version` there; what was judged stays with the
    old one.
    """

    protected_when = "(SELECT state FROM judges_caseset WHERE id = OLD.case_set_id) = 'complete'"

    case_set = models.ForeignKey(CaseSet, models.CASCADE, related_name="cases", db_index=False)
    case_id = models.CharField(max_length=200)
    version = models.PositiveIntegerField(default=1)
    input_hash = models.CharField(max_length=64)
    slices = models.JSONField(default=dict)
    partition = models.CharField(max_length=20, choices=Partition.choices)
    cluster = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case_set", "case_id", "version"], name="one_case_per_id_and_version"),
            models.CheckConstraint(condition=one_of("partition", Partition.values), name="case_partition_is_known"),
        ]

    def __str__(self) -> str:
        return self.case_id


class SystemVersion(Loaded):
    """One version of the judged system over a case set: whose outputs the artifacts are."""

    case_set = models.ForeignKey(CaseSet, models.PROTECT, related_name="system_versions")
    name = models.CharField(max_length=100)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case_set", "name"], name="one_system_version_per_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Artifact(SealedOnComplete, CheckedByStatement):
    """What a judge looks at for a case: the evaluated output of one system version and its ordered evidence.

    `parts` lists [name, sha256] in order: the output, then evidence 1..k.
    """

    protected_when = "(SELECT state FROM judges_systemversion WHERE id = OLD.system_version_id) = 'complete'"

    case = models.ForeignKey(Case, models.PROTECT, related_name="artifacts", db_index=False)
    system_version = models.ForeignKey(SystemVersion, models.CASCADE, related_name="artifacts")
    parts = models.JSONField()
    output_hash = models.CharField(max_length=64)
    evidence_hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case", "system_version"], name="one_artifact_per_case_and_system"),
        ]

    def __str__(self) -> str:
        return f"{self.case} by {self.system_version}"
