"""Say from a file how much a judge changes between repeats of one version, or between presentation orders.

Exits 1 where fewer than two repeats cover all cases.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audits.pools import USUAL_VALUES, scale_parse
from audits.repeatfiles import Repeats, repeats_read
from audits.stats.repeats import Floor, order_sensitivity, rerun_floor
from audits.stats.result import plain
from audits.templatetags.figures import percent
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="REPEATS.csv", help="one row per case; see docs/methods.md")
        parser.add_argument(
            "--order", action="store_true", help="the columns are runs in different presentation orders"
        )
        parser.add_argument("--level", type=float, default=0.95)
        parser.add_argument("--scale", metavar="LABEL=VALUE,…", help="all labels that a reference may have")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        path: Path = options["file"]
        if not path.is_file():
            raise InputError(Problem("there is no such file", file=str(path)))
        given = repeats_read(path)
        compare = order_sensitivity if options["order"] else rerun_floor
        found = compare(
            given.labels,
            scale=scale_parse(options["scale"]) if options["scale"] else _scale_of(given),
            references=given.references,
            strata=given.strata,
            level=options["level"],
        )
        return plain(found), lambda: _lines(found), found.changed is not None


def _scale_of(given: Repeats) -> dict[str, float | None]:
    """The labels that people gave; what a repeat says beside them is an invalid reading."""
    labels = {label for label in given.references or () if label is not None} or set(USUAL_VALUES)
    return {label: USUAL_VALUES.get(label) for label in sorted(labels)}


def _lines(found: Floor) -> list[str]:
    name = "rerun floor" if found.cause == "rerun" else "order sensitivity"
    lines = [
        f"{name}: {len(found.repeats)} complete of {len(found.repeats) + len(found.selective)}, {found.cases:,} cases"
    ]
    if found.selective:
        lines.append(f"left out, because they cover only some cases: {', '.join(found.selective)}")
    for words, spread in (("labels changed", found.changed), ("regressed", found.regressed)):
        if spread is not None:
            low, middle, high = (percent(value) for value in (spread.low, spread.middle, spread.high))
            lines.append(f"{words}: {low} to {high} of all cases over ordered pairs, median {middle}")
    return [*lines, *([found.reason] if found.reason else [])]
