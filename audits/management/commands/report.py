"""Write the report of an audit: a self-contained page, and the same content as JSON."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from audits.exports.report import report_write
from audits.selectors import audit_find
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("audit", metavar="AUDIT", help="name, or project/name")
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="where report.html and report.json go")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        audit = audit_find(options["audit"])
        try:
            result = report_write(audit, options["folder"], timezone.now())
        except OSError as error:
            raise InputError(Problem(f"cannot write there: {error.strerror}", value=str(options["folder"]))) from error
        return {"audit": audit.name, **result}, lambda: [f"written: {', '.join(result['files'])}"], True
