"""Fill an empty database, prepared by `migrate`, from a backup: all of it, held to its hashes, or nothing.

The backup may come from SQLite and the database be PostgreSQL, or the other way round.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.backups import backup_restore
from core.commands import Command as Base
from core.commands import Result


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        path: Path = options["file"]
        contents = backup_restore(path)
        rows = sum(table.rows for table in contents.tables.values())
        said = f"{path}: {rows} rows of {len(contents.tables)} tables are restored, and held to their hashes"
        return {"file": str(path), **contents.as_dict()}, lambda: [said, "everybody signs in anew"], True
