"""Show whether the verdicts of an audit may be compared at all. Exits 1 where a rule of its manifest fails."""

from collections.abc import Callable
from typing import Any

from audits.management.base import AuditCommand
from audits.management.lines import integrity_lines
from audits.models import Audit
from audits.selectors import column_warnings_of
from core.commands import Result
from judges.summaries import summary_of


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        summary = summary_of(audit.comparison)
        report, runs = summary.integrity, {side: one["runs"] for side, one in summary.stability["sides"].items()}
        columns = column_warnings_of(audit)
        result = {**report, "runs": runs, "column_warnings": columns}
        return result, lambda: integrity_lines(report, runs, columns), report["passed"]
