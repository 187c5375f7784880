"""Show how verdicts moved from the old side to the new one. Exits 1 where a decision in a blocking slice changed."""

from collections.abc import Callable
from typing import Any

from audits.management.base import AuditCommand
from audits.management.lines import integrity_lines, stability_lines, transition_lines
from audits.models import Audit
from core.commands import Result
from judges.summaries import summary_of


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        summary = summary_of(audit.comparison)
        integrity, report, stability = summary.integrity, summary.transitions, summary.stability
        result = {"integrity": integrity, **report, "stability": stability}

        def lines() -> list[str]:
            return [*integrity_lines(integrity), *transition_lines(report), *stability_lines(report, stability)]

        return result, lines, not report["blocking_changes"]
