"""What the commands over a pool file share: their arguments, and how those are read."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from audits.pools import drawn_pool_read, scale_parse
from audits.stats.estimands import ESTIMANDS, SIDES
from audits.stats.estimate import MERGE_BELOW, PREDICTORS
from audits.stats.pool import Pool
from core.errors import InputError, Problem

POLICIES = ("planned", "monitored", "anytime")
CHOICES = ("estimand", "side", "level", "target", "policy", "predictor")


def add_pool_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pool", type=Path, metavar="POOL.csv", help="one row per case; see docs/methods.md")
    parser.add_argument("--estimand", required=True, choices=sorted(ESTIMANDS))
    parser.add_argument(
        "--policy",
        default="planned",
        choices=POLICIES,
        help="planned (the default) is for one look, at the planned stop",
    )
    parser.add_argument("--target-half-width", type=float, metavar="W", help="in units of y; 0.05 is 5 points")
    parser.add_argument("--level", type=float, default=0.95, help="(0.95)")
    parser.add_argument("--target", default="pool", choices=("pool", "traffic"), help="(pool)")
    parser.add_argument(
        "--min-labels", type=int, default=20, help="no interval before so many in each used stratum (20)"
    )
    parser.add_argument(
        "--merge-below",
        type=int,
        default=MERGE_BELOW,
        help="cells with fewer labels join their sibling (10); 0: cells as they are",
    )
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument(
        "--predictor",
        default="cells",
        choices=PREDICTORS,
        help="what the judge adds: the verdict cells (the default), or the column `score`, with a slope per stratum",
    )
    parser.add_argument(
        "--scale",
        metavar="LABEL=VALUE,…",
        help="all labels and what they count as; without it numbers count as themselves, fail as 0, pass as 1",
    )


def pool_and_arguments(options: dict[str, Any]) -> tuple[Pool, int, dict[str, Any]]:
    """The pool of the file, how many of its cases were drawn, and what is asked of it."""
    path: Path = options["pool"]
    if not path.is_file():
        raise InputError(Problem("there is no such file", file=str(path)))
    pool, drawn = drawn_pool_read(path, scale=scale_parse(options["scale"]) if options["scale"] else None)
    if options["predictor"] == "score" and pool.cells[0].scores is None:
        raise InputError(Problem("the file has no such column", key="--predictor", value="score", column="score"))
    arguments = {name: options[name] for name in (*CHOICES, "min_labels", "merge_below")}
    return pool, drawn, arguments | {"half_width": options["target_half_width"]}
