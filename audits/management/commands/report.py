"""Write the report of an audit: a self-contained page, and the same content as JSON."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from audits.exports.report import report_write
from audits.management.base import AuditCommand
from audits.models import Audit
from core.commands import Result


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="where report.html and report.json go")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        result = report_write(audit, options["folder"], timezone.now())
        return result, lambda: [f"written: {', '.join(result['files'])}"], True
