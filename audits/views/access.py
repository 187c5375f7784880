"""Whom the audit pages let in, and how one audit is found."""

from django.http import Http404

from audits.models import Audit
from audits.overview import audits_of
from core.access import ProjectRequest, access
from core.models import Role

for_leads = access(Role.LEAD, Role.OWNER)


def audit_or_404(request: ProjectRequest, name: str) -> Audit:
    """An audit of this project, with what its pages name of its comparison."""
    related = ("comparison__old_run__generator", "comparison__old_run__system_version", "comparison__old_reader")
    related += ("comparison__case_set",)
    related += ("comparison__new_run__generator", "comparison__new_run__system_version", "comparison__new_reader")
    audit = audits_of(request.project).select_related(*related).filter(name=name).first()
    if audit is None:
        raise Http404
    return audit


def after_of(request: ProjectRequest) -> int:
    """The key after which a page of a list begins."""
    after = request.GET.get("after", "")
    return int(after) if after.isdecimal() and len(after) < 19 else 0
