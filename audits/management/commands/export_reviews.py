"""Write every answer that people gave in an audit, one row per review and artifact, under their pseudonyms."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.exports.reviews import review_lines
from audits.exports.tables import format_of, lines_write
from audits.management.base import AuditCommand
from audits.models import Audit
from audits.selectors import require_registered
from core.commands import Result


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="ending in .csv or .jsonl")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        require_registered(audit)
        path: Path = options["file"]
        kind = format_of(path)
        rows = lines_write(path, kind, review_lines(audit, kind))
        return {"file": str(path), "rows": rows}, lambda: [f"{path}: {rows} rows"], True
