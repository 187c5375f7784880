"""Show how verdicts moved from the old side to the new one. Exits 1 where a decision in a blocking slice changed."""

from collections.abc import Callable
from typing import Any

from audits.management.base import AuditCommand
from audits.management.lines import integrity_lines, transition_lines
from audits.models import Audit
from core.commands import Result
from judges.integrity import integrity_of
from judges.selectors import pairs_of
from judges.transitions import transitions_of


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pairs = list(pairs_of(audit.comparison))
        integrity = integrity_of(audit.comparison, pairs).as_dict()
        report = transitions_of(audit.comparison, pairs).as_dict()
        result = {"integrity": integrity, **report}
        return result, lambda: [*integrity_lines(integrity), *transition_lines(report)], not report["blocking_changes"]
