"""Read a backup to its end and hold every row to its hash; with --database, hold the database to it too."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.backups import backup_verify, database_verify
from core.commands import Command as Base
from core.commands import Result


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--database", action="store_true", help="the database must hold the same rows, as after a restore"
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        path: Path = options["file"]
        contents = backup_verify(path)
        if options["database"]:
            database_verify(contents)
        rows = sum(table.rows for table in contents.tables.values())
        also = ", and so is the database" if options["database"] else ""
        said = f"{path}: whole, {rows} rows of {len(contents.tables)} tables, made at {contents.made_at}{also}"
        return {"file": str(path), **contents.as_dict()}, lambda: [said], True
