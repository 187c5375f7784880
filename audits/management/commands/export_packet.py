"""Write the handoff packet of an audit: one zip from which every number can be computed again."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from audits.management.base import AuditCommand
from audits.models import Audit
from audits.packets.making import packet_write
from core.commands import Result
from core.services import operator_of


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.zip", help="the file to write")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        path: Path = options["file"]
        result = packet_write(audit=audit, path=path, actor=operator_of(audit.project), now=timezone.now())
        rows = ", ".join(f"{number:,} in {name}" for name, number in result["rows"].items())
        lines = [f"{path}: {result['bytes']:,} bytes; rows: {rows}", f"to check it: manage.py verify_packet {path}"]
        return result, lambda: lines, True
