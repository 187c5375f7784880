from audits.models.anchors import AnchorCheck, AnchorPart, AnchorSet, Reuse
from audits.models.audits import Audit, AuditState, Cell, Draw, Frame, Registration, Stratum, StratumKind
from audits.models.diagnoses import Diagnosis, DiagnosisKind
from audits.models.jobs import Job, JobKind, JobState
from audits.models.looks import Look
from audits.models.prepared import ChangeChart, ColumnCheck, DeskFigures, DraftSizing, LookChart, PlanChart
from audits.models.signoffs import Inventory, SignOff, SignOffKind

__all__ = [
    "AnchorCheck",
    "AnchorPart",
    "AnchorSet",
    "Audit",
    "AuditState",
    "Cell",
    "ChangeChart",
    "ColumnCheck",
    "DeskFigures",
    "Diagnosis",
    "DiagnosisKind",
    "DraftSizing",
    "Draw",
    "Frame",
    "Inventory",
    "Job",
    "JobKind",
    "JobState",
    "Look",
    "LookChart",
    "PlanChart",
    "Registration",
    "Reuse",
    "SignOff",
    "SignOffKind",
    "Stratum",
    "StratumKind",
]
