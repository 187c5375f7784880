"""Compute every number of a handoff packet again, from the packet alone, and say which differ.

Needs no database. Exits 1 where a number differs, 2 where the file is no packet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.packets.checking import packet_check
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.zip", help="a handoff packet")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        path: Path = options["file"]
        if not path.is_file():
            raise InputError(Problem("there is no such file", file=str(path)))
        checks = list(packet_check(path))
        passed = all(check.passed for check in checks)
        result = {
            "file": str(path),
            "passed": passed,
            "checks": [
                {"name": one.name, "compared": one.compared, "different": one.different, "named": one.named}
                for one in checks
            ],
        }

        def lines() -> list[str]:
            found = []
            for one in checks:
                found.append(f"{one.name}: {one.compared:,} values compared, {one.different:,} differ")
                found += [f"    {difference}" for difference in one.named]
            said = "every number is as computed again" if passed else "the packet does not hold what it states"
            return [*found, said]

        return result, lines, passed
