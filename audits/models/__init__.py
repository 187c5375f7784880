from audits.models.audits import Audit, AuditState, Cell, Draw, Frame, Registration, Stratum, StratumKind
from audits.models.looks import Look

__all__ = [
    "Audit",
    "AuditState",
    "Cell",
    "Draw",
    "Frame",
    "Look",
    "Registration",
    "Stratum",
    "StratumKind",
]
