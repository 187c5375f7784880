"""Write the references of an audit as gold anchors, with their identity, sampling and settlement."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.exports.anchors import FORMATS, anchors_write
from audits.selectors import audit_find, require_registered
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("audit", metavar="AUDIT", help="name, or project/name")
        parser.add_argument("file", type=Path, metavar="FILE", help="ending in .csv or .jsonl")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        audit = require_registered(audit_find(options["audit"]))
        path: Path = options["file"]
        kind = path.suffix.removeprefix(".")
        if kind not in FORMATS:
            allowed = " or ".join(f".{name}" for name in FORMATS)
            raise InputError(Problem("the format is told from the ending", value=path.name, allowed=allowed))
        try:
            result = anchors_write(audit, path, kind)
        except OSError as error:
            raise InputError(Problem(f"cannot write there: {error.strerror}", value=str(path))) from error

        def lines() -> list[str]:
            left_out = result["underspecified_items_without_anchor"]
            return [f"{path}: {result['anchors']} anchors; {left_out} underspecified cases have none"]

        return {"audit": audit.name, **result}, lines, True
