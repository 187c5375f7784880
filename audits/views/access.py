"""How the audit pages find one audit, and their place in a list."""

from django.http import Http404

from audits.models import Audit
from audits.overview import audit_named
from core.access import ProjectRequest


def audit_or_404(request: ProjectRequest, name: str) -> Audit:
    audit = audit_named(request.project, name)
    if audit is None:
        raise Http404
    return audit


def after_of(request: ProjectRequest) -> int:
    """The key after which a page of a list begins."""
    after = request.GET.get("after", "")
    return int(after) if after.isdecimal() and len(after) < 19 else 0
