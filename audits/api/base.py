"""Whom the audits' API lets in, and how one audit is found."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter

from audits.models import Audit
from audits.overview import audit_named
from core.access import LEADING
from core.api.base import ApiView
from core.models import Scope

NAME = OpenApiParameter("name", str, "path", description="an audit: the migration_id of its manifest")
CURSOR = OpenApiParameter(
    "cursor", {"type": "string", "pattern": "^[0-9]{1,18}$"}, "query", description="what `next` held"
)


class AuditView(ApiView):
    roles = LEADING
    reads = (Scope.AUDITS_READ,)
    writes = (Scope.AUDITS_WRITE,)

    def audit(self, name: str) -> Audit:
        audit = audit_named(self.project, name)
        if audit is None:
            raise Http404
        return audit


def example_job(**changes: Any) -> dict[str, Any]:
    """A job as the documentation shows it."""
    return {
        "number": 7,
        "kind": "intake",
        "state": "running",
        "audit": None,
        "progress": "old.jsonl: 12,000 rows, 4,194,304 of 9,000,000 bytes",
        "done": 4194304,
        "expected": 9000000,
        "problems": [],
        "outcome": "",
        "asked_by": "pipeline: nightly",
        "asked_at": "2026-11-30T02:00:00Z",
        "ended_at": None,
        "may_cancel": True,
        "refused_rows": False,
        "packet": False,
    } | changes
