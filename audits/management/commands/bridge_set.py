"""Choose a bridge set from a file of cases: those that people forced, then a seeded fill of each slice.

FILE.yaml says of every case why it is in, and of a forced one who wants it there.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.bridges import bridge_write, history_read
from audits.stats.bridge import bridge_selected
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "history", type=Path, metavar="HISTORY.csv", help="case_id, the slice; perhaps forced, why, approved_by"
        )
        parser.add_argument("file", type=Path, metavar="FILE.yaml", help="the manifest of the set to write")
        parser.add_argument("--slice", default="slice", metavar="COLUMN", help="the column to stratify by")
        parser.add_argument("--per-slice", type=int, required=True, metavar="N", help="cases of every slice")
        parser.add_argument(
            "--quota", action="append", default=[], metavar="SLICE=N", help="another number for one slice; repeatable"
        )
        parser.add_argument("--seed", required=True, help="any text; the same one gives the same fill")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        history: Path = options["history"]
        cases = history_read(history, options["slice"])
        quotas = {case.slice: options["per_slice"] for case in cases} | dict(map(_quota, options["quota"]))
        chosen = bridge_selected(cases, quotas=quotas, seed=options["seed"])
        result = bridge_write(
            options["file"],
            chosen,
            history=history,
            slice_column=options["slice"],
            quotas=quotas,
            seed=options["seed"],
        )

        def lines() -> list[str]:
            by_slice = [
                f"  {one['slice'] or '(none)'}: {one['cases']} of {one['quota']} asked for, {one['forced']} forced"
                for one in result["slices"]
            ]
            return [f"{result['file']}: {result['cases']} cases", *by_slice]

        return result, lines, True


def _quota(text: str) -> tuple[str, int]:
    name, sign, number = text.rpartition("=")
    if not sign or not (number.isascii() and number.isdigit()):
        raise InputError(Problem("not a quota", key="--quota", value=text, allowed="SLICE=N, such as risk=40"))
    return name, int(number)
