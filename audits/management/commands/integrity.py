"""Show whether the verdicts of an audit may be compared at all. Exits 1 where a rule of its manifest fails."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from audits.management.lines import integrity_lines
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
        report = summary_of(audit.comparison).integrity
        return {"audit": audit.name, **report}, lambda: integrity_lines(report), report["passed"]
