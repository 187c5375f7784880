"""Write the references of an audit as gold anchors, with their identity, sampling and settlement."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.exports.anchors import anchors_write
from audits.exports.tables import format_of
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
        result = anchors_write(audit, path, format_of(path))

        def lines() -> list[str]:
            left_out = result["underspecified_items_without_anchor"]
            return [f"{path}: {result['anchors']} anchors; {left_out} underspecified cases have none"]

        return result, lines, True
