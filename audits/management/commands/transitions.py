"""Show how verdicts moved from the old side to the new one. Exits 1 where a decision in a blocking slice changed."""

from collections.abc import Callable
from typing import Any

from audits.management.base import AuditCommand
from audits.management.lines import integrity_lines, transition_lines
from audits.models import Audit
from core.commands import Result
from judges.summaries import summary_of


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        summary = summary_of(audit.comparison)
        integrity, report = summary.integrity, summary.transitions
        result = {"integrity": integrity, **report}
        return result, lambda: [*integrity_lines(integrity), *transition_lines(report)], not report["blocking_changes"]
