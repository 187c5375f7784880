from django.db import models
from django.db.models import Q

from adjudication.models import Settlement
from audits.models.audits import Audit
from core.models import Author, Project
from core.records import AppendOnly
from judges.models import Comparison, Partition, Reader, Run


class AnchorSet(AppendOnly):
    """A named, versioned set of settled labels for use elsewhere: made of an audit's references, or taken in from a
    file. What is settled later makes the next version.

    `content_hash` is over name, version, licence and every anchor. The rubric is named by its content, as a set may
    come before the audit that uses it. `card_text` is the data card as JSON; `changes` count what differs from the
    version before, and are empty for the first. `source` names the file of a set that was taken in.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="anchor_sets")
    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    audit = models.ForeignKey(Audit, models.PROTECT, null=True, related_name="anchor_sets")
    source = models.CharField(max_length=200, blank=True)
    rubric = models.CharField(max_length=100)
    rubric_version = models.CharField(max_length=40)
    rubric_hash = models.CharField(max_length=64)
    licence = models.CharField(max_length=200)
    anchors = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    card_text = models.TextField()
    changes = models.JSONField(default=dict)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="anchor_sets")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name", "version"], name="one_anchor_set_per_version"),
            models.CheckConstraint(condition=Q(version__gte=1), name="anchor_sets_are_numbered_from_1"),
            models.CheckConstraint(condition=Q(anchors__gte=1), name="an_anchor_set_holds_an_anchor"),
            models.CheckConstraint(
                condition=(Q(audit__isnull=False) & Q(source="")) | (Q(audit__isnull=True) & ~Q(source="")),
                name="an_anchor_set_comes_from_an_audit_or_a_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"


class AnchorPart(AppendOnly):
    """Some of the anchors of a set, in their order: canonical JSON, one per line, in zlib's form. In parts, so that
    nobody has to hold a whole set."""

    anchor_set = models.ForeignKey(AnchorSet, models.PROTECT, related_name="parts")
    n = models.PositiveIntegerField()
    lines = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["anchor_set", "n"], name="parts_of_anchors_are_numbered")]

    def __str__(self) -> str:
        return f"{self.anchor_set}, part {self.n}"


class AnchorCheck(AppendOnly):
    """What a judge said on the anchors of a set in one run: counted once, as neither changes.

    `result` holds counts alone, by the anchor's label and what the judge made of it, and by slice. `comparison` is the
    one that the run came with.
    """

    anchor_set = models.ForeignKey(AnchorSet, models.PROTECT, related_name="checks")
    run = models.ForeignKey(Run, models.PROTECT, related_name="anchor_checks")
    reader = models.ForeignKey(Reader, models.PROTECT, related_name="anchor_checks")
    partition = models.CharField(max_length=20, choices=Partition.choices)
    comparison = models.ForeignKey(Comparison, models.PROTECT, related_name="anchor_checks")
    result = models.JSONField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["anchor_set", "run", "reader", "partition"], name="a_run_is_checked_once_against_a_set"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} on {self.anchor_set}"


class Reuse(AppendOnly):
    """Where the labels of a settlement came from that nobody was asked for: an anchor set, or another audit of the
    project. `labelled_by` says what kind of people stand behind them there."""

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="reuses")
    settlement = models.OneToOneField(Settlement, models.PROTECT, related_name="reuse")
    source = models.CharField(max_length=250)
    labelled_by = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"{self.settlement}, from {self.source}"
