"""Write everything that is stored, as it is at this moment, to one file. Nobody has to stop working."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from core.backups import backup_write
from core.commands import Command as Base
from core.commands import Result
from core.errors import Problem, Refused


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a new file, as in tertium-2026-11-30.zip")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        path: Path = options["file"]
        if path.exists():
            raise Refused(Problem("is there already", file=str(path), allowed="a new file"))
        contents = backup_write(path, timezone.now())
        rows = sum(table.rows for table in contents.tables.values())
        said = f"{path}: {rows} rows of {len(contents.tables)} tables, {path.stat().st_size} bytes"
        return {"file": str(path), **contents.as_dict()}, lambda: [said], True
