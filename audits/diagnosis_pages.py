"""What the page *Diagnose* shows."""

from typing import Any

from adjudication.models import ReasonOwner, ReasonStage
from adjudication.selectors import reasons_of
from audits.diagnoses import UNDIAGNOSED, diagnosis_counts, diagnosis_page
from audits.models import Audit, AuditState, DiagnosisKind
from audits.overview import address
from audits.pages import audit_context

KINDS = [
    (DiagnosisKind.INTENDED, "the policy decision behind an intended transition"),
    (DiagnosisKind.REPAIR, "the component to repair"),
]


def diagnose_context(audit: Audit, code: str, owner: str, after: int) -> dict[str, Any]:
    page = diagnosis_page(audit, code=code, owner=owner, after=after)
    offered = reasons_of(audit.project, ReasonStage.DIAGNOSIS)
    counts = diagnosis_counts(audit)
    undiagnosed = (row.pair.case_pk for row in page.rows if row.diagnosis is None)
    return audit_context(audit, "diagnose") | {
        "page": page,
        "registered": audit.state == AuditState.REGISTERED,
        "opened": next(undiagnosed, None),  # whose form stands open: one at a time
        "counts": counts,
        "offered": offered,
        "codes": [UNDIAGNOSED, *sorted({*counts.codes, *(one.code for one in offered)})],
        "owners": ReasonOwner.values,
        "kinds": KINDS,
        "code": code,
        "owner": owner,
        "after": after,
        "diagnose_url": address("diagnose", audit),
        "pairs_url": address("pairs", audit),
    }
