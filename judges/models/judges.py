from django.db import models

from core.models import Project
from judges.models.loads import Loaded


class Generator(Loaded):
    """What produces a raw response: model, prompt, rubric, vocabulary, settings, retry rule.

    Identity is over all of that content: the same names over another prompt are another generator.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="generators")
    identity = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    content = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "identity"], name="one_generator_per_identity"),
        ]

    def __str__(self) -> str:
        return self.model


class Mapping(Loaded):
    """A published table from raw labels to canonical ones. A label outside it stays unmapped."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="mappings")
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    table = models.JSONField()
    approved_by = models.CharField(max_length=200)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name", "version"], name="one_mapping_per_version"),
        ]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class Reader(Loaded):
    """What turns a raw response into a verdict: one version of a parser and one of a mapping.

    Generator and reader together are what the screen calls a judge version.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="readers")
    identity = models.CharField(max_length=64)
    parser = models.CharField(max_length=100)
    setting = models.TextField(blank=True)  # the field or pattern that some parsers need
    mapping = models.ForeignKey(Mapping, models.PROTECT, related_name="readers")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "identity"], name="one_reader_per_identity"),
        ]

    def __str__(self) -> str:
        return f"{self.parser}{f' {self.setting}' if self.setting else ''} with {self.mapping}"
