from django.db import models
from django.db.models import Q

from audits.models.audits import Audit
from core.models import Author
from core.records import AppendOnly


class SignOffKind(models.TextChoices):
    MEANING = "meaning changes"
    CUTOVER = "cutover"
    ROLLBACK = "rollback"


class SignOff(AppendOnly):
    """Somebody answers for a step: the policy owner for what verdicts mean from now on, the release owner for the
    cutover to the candidate or the rollback to the baseline. The last cutover or rollback says which side is official.

    `gate` is the cutover gate as it stood, rule by rule with its evidence. A cutover against a rule that was not met
    is overridden, for a reason, and stays so for ever.
    """

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="sign_offs")
    n = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=SignOffKind.choices)
    words = models.TextField()
    gate = models.JSONField()
    overridden = models.BooleanField(default=False)
    override = models.TextField(blank=True)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="sign_offs")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "n"], name="sign_offs_are_numbered"),
            models.CheckConstraint(condition=Q(kind__in=SignOffKind.values), name="sign_off_kind_is_known"),
            models.CheckConstraint(condition=~Q(words=""), name="a_sign_off_says_what_is_signed"),
            models.CheckConstraint(
                condition=Q(overridden=False, override="") | (Q(overridden=True) & ~Q(override="")),
                name="a_gate_is_overridden_for_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.audit}, signed by {self.actor}"


class Inventory(AppendOnly):
    """What a cutover touches outside, as a lead knows it and no table of ours does: who reads the verdicts downstream,
    which thresholds change with them, and how to roll back. Each says all of it anew; the last one holds."""

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="inventories")
    n = models.PositiveIntegerField()
    consumers = models.TextField(blank=True)
    thresholds = models.TextField(blank=True)
    rollback = models.TextField(blank=True)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="inventories")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "n"], name="inventories_are_numbered")]
        verbose_name_plural = "inventories"

    def __str__(self) -> str:
        return f"inventory {self.n} of {self.audit}"
