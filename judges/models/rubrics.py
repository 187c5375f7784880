from django.db import models

from core.models import Project
from core.records import AppendOnly


class Rubric(AppendOnly):
    """What people are asked: the guideline they read and the scale they answer on, in one version.

    `scale` is an ordered list of {"label", "value"}; value is what the label counts as, or null.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="rubrics")
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    guideline = models.TextField()
    scale = models.JSONField()
    content_hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name", "version"], name="one_rubric_per_version"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def labels(self) -> list[str]:
        return [entry["label"] for entry in self.scale]

    @property
    def values(self) -> dict[str, float | None]:
        return {entry["label"]: entry["value"] for entry in self.scale}
