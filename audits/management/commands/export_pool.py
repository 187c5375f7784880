"""Write the pool of an audit as one row per case, from which `estimate` computes the same numbers again."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.exports.pool import estimate_command, pool_write
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
        path: Path = options["file"]
        result = pool_write(audit, path)
        command = estimate_command(audit, str(path))
        lines = [f"{path}: {result['cases']} cases", f"to compute the estimate again: {command}"]
        return {**result, "estimate": command}, lambda: lines, True
