"""Write a version of an anchor set as CSV, JSON Lines or Parquet, with its data card beside it."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.anchorsets import anchor_set_find
from audits.exports.anchorfiles import SET_FORMATS, set_write
from audits.exports.tables import format_of
from core.commands import Command as Base
from core.commands import Result
from core.selectors import project_find


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("name", metavar="NAME[@VERSION]", help="without a version the latest")
        parser.add_argument("file", type=Path, metavar="FILE", help="ending in .csv, .jsonl or .parquet")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        anchor_set = anchor_set_find(project_find(options["project"]), options["name"])
        path: Path = options["file"]
        files = [str(file) for file in set_write(anchor_set, path, format_of(path, SET_FORMATS))]
        result: Result = {
            "anchor_set": anchor_set.name,
            "version": anchor_set.version,
            "anchors": anchor_set.anchors,
            "content_hash": anchor_set.content_hash,
            "files": files,
        }
        told = f"{anchor_set}: {anchor_set.anchors:,} anchors in {', '.join(files)}"
        return result, lambda: [told, f"  content {anchor_set.content_hash}"], True
