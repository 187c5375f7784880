import json
from typing import Any

from django.db import models

from core.models import Project
from core.records import AppendOnly
from judges.models.cases import CaseSet, Partition, SystemVersion
from judges.models.judges import Reader
from judges.models.runs import Run


class ComparisonKind(models.TextChoices):
    JUDGE_SWAP = "judge_swap"
    VERSION_UPGRADE = "version_upgrade"


class Comparison(AppendOnly):
    """Two sides, old and new, on one partition of one case set. A side is a run read by a reader: the
    run names the system version and the generator.

    `rules` holds the integrity rules of the manifest; `slices` and `blocking_slices` what is broken out;
    `repeat_summary` says, beforehand, which verdict of several repeats counts: that of the `majority`, or the `first`.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="comparisons")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=ComparisonKind.choices)
    case_set = models.ForeignKey(CaseSet, models.PROTECT, related_name="comparisons")
    partition = models.CharField(max_length=20, choices=Partition.choices)
    old_run = models.ForeignKey(Run, models.PROTECT, related_name="comparisons_as_old")
    old_reader = models.ForeignKey(Reader, models.PROTECT, related_name="comparisons_as_old")
    new_run = models.ForeignKey(Run, models.PROTECT, related_name="comparisons_as_new")
    new_reader = models.ForeignKey(Reader, models.PROTECT, related_name="comparisons_as_new")
    labels = models.JSONField()  # canonical, in the order of the scale
    rules = models.JSONField()
    slices = models.JSONField(default=list)
    blocking_slices = models.JSONField(default=list)
    repeat_summary = models.CharField(max_length=10, default="majority")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_comparison_per_name"),
            models.CheckConstraint(condition=models.Q(kind__in=ComparisonKind.values), name="comparison_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_swap(self) -> bool:
        return self.kind == ComparisonKind.JUDGE_SWAP

    @property
    def old_system(self) -> SystemVersion:
        return self.old_run.system_version

    @property
    def new_system(self) -> SystemVersion:
        return self.new_run.system_version


class PairIndex(AppendOnly):
    """Which cases are in which pair state, which have a judgment of doubtful provenance, and what the caches of both
    sides add up to: found once when a comparison is opened, because no page may go through all pairs to find a few.

    `cases_text` is JSON: by state or mark, ascending primary keys as differences, which compress to little (64 bits
    each, lowest byte first; zlib; base64). `caches_text` is JSON: by side, how many judgments by cache state and mark.
    """

    comparison = models.OneToOneField(Comparison, models.PROTECT, related_name="pair_index")
    cases_text = models.TextField()
    caches_text = models.TextField()

    def __str__(self) -> str:
        return f"pairs of {self.comparison} by state"


class RunRole(models.TextChoices):
    REPEAT = "repeat"
    ORDER_PROBE = "order probe"
    EVIDENCE_PROBE = "evidence probe"


class ComparisonRun(AppendOnly):
    """A further run of one side's judge on the same artifacts, read by a reader: what a rerun, another presentation
    order or another packaging of the evidence changes by itself. The comparison's pairs never see it.
    """

    comparison = models.ForeignKey(Comparison, models.PROTECT, related_name="further_runs")
    side = models.CharField(max_length=3, choices=[("old", "old"), ("new", "new")])
    role = models.CharField(max_length=20, choices=RunRole.choices)
    run = models.ForeignKey(Run, models.PROTECT, related_name="comparisons_as_further")
    reader = models.ForeignKey(Reader, models.PROTECT, related_name="comparisons_as_further")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["comparison", "side", "run"], name="a_run_has_one_role_on_a_side"),
            models.CheckConstraint(condition=models.Q(side__in=["old", "new"]), name="further_run_side_is_known"),
            models.CheckConstraint(condition=models.Q(role__in=RunRole.values), name="further_run_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} of the {self.side} side: {self.run}"


class ComparisonSummary(AppendOnly):
    """What a comparison's pairs and further runs add up to, counted once when it is opened: its runs are complete
    and its readings never change, so neither do these counts.

    The reports (`judges.integrity`, `judges.transitions`, `judges.stability`) are kept as JSON texts: PostgreSQL's
    own JSON would forget the order of states and labels. `stability_text` is empty in a summary from before there
    were further runs.
    """

    comparison = models.OneToOneField(Comparison, models.PROTECT, related_name="summary")
    integrity_text = models.TextField()
    transitions_text = models.TextField()
    stability_text = models.TextField(default="")

    def __str__(self) -> str:
        return f"summary of {self.comparison}"

    @property
    def integrity(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.integrity_text)
        return report

    @property
    def transitions(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.transitions_text)
        return report

    @property
    def stability(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.stability_text)
        return report
