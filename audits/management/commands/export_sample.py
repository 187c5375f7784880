"""Write the ids of the drawn cases in serving order, for people who label elsewhere; nothing says why they were."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.exports.sample import sample_write
from audits.management.base import AuditCommand
from audits.models import Audit
from audits.selectors import require_registered
from core.commands import Result


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.csv", help="the file to write")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        require_registered(audit)
        result = sample_write(audit, options["file"])
        lines = [
            f"{result['file']}: {result['cases']} drawn cases, in serving order",
            f"their labels come back by: manage.py import_reviews {audit.name} FILE",
        ]
        return result, lambda: lines, True
