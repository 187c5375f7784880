"""Show how verdicts moved from the old side to the new one. Exits 1 where a decision in a blocking slice changed."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from audits.management.lines import integrity_lines, transition_lines
from audits.selectors import audit_find
from core.commands import Command as Base
from core.commands import Result
from judges.summaries import summary_of


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("audit", metavar="AUDIT", help="name, or project/name")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        audit = audit_find(options["audit"])
        summary = summary_of(audit.comparison)
        integrity, report = summary.integrity, summary.transitions
        result = {"audit": audit.name, "integrity": integrity, **report}
        return result, lambda: [*integrity_lines(integrity), *transition_lines(report)], not report["blocking_changes"]
