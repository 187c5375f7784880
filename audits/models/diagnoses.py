from django.db import models
from django.db.models import Q

from adjudication.models import ReasonOwner
from audits.models.audits import Audit
from core.models import Author
from core.records import AppendOnly
from judges.models import Case


class DiagnosisKind(models.TextChoices):
    """What stands behind a difference: somebody decided it, or something has to be mended."""

    INTENDED = "intended"
    REPAIR = "repair"


class Diagnosis(AppendOnly):
    """A lead's reason why people and judge differ on a case, or why a decision in a blocking slice changed. The latest
    revision holds.

    `code` and `owner` are as they stood then: nothing done to a reason code alters it. `words` name the policy decision
    where the transition is intended, and the component to repair where it is not.
    """

    audit = models.ForeignKey(Audit, models.PROTECT, related_name="diagnoses")
    case = models.ForeignKey(Case, models.PROTECT, related_name="diagnoses")
    revision = models.PositiveSmallIntegerField(default=1)
    code = models.CharField(max_length=60)
    owner = models.CharField(max_length=20, choices=ReasonOwner.choices)
    kind = models.CharField(max_length=10, choices=DiagnosisKind.choices)
    words = models.TextField()
    actor = models.ForeignKey(Author, models.PROTECT, related_name="diagnoses")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "case", "revision"], name="one_diagnosis_per_revision"),
            models.CheckConstraint(condition=Q(owner__in=ReasonOwner.values), name="diagnosis_owner_is_known"),
            models.CheckConstraint(condition=Q(kind__in=DiagnosisKind.values), name="diagnosis_kind_is_known"),
            models.CheckConstraint(condition=~Q(words=""), name="a_diagnosis_names_a_decision_or_a_component"),
        ]

    def __str__(self) -> str:
        return f"{self.case}: {self.code}"
