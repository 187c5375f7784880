"""Compute an estimate from a pool file, without a database, by the code that computes looks.

Exits 1 where there is no interval to show yet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from audits.exports.wording import conclusion, interval_words
from audits.management.poolfiles import add_pool_arguments, pool_and_arguments
from audits.stats.estimate import PREDICTORS, estimate
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        add_pool_arguments(parser)
        parser.add_argument(
            "--predictor",
            default="cells",
            choices=PREDICTORS,
            help="what the judge adds: the verdict cells, or the file's column `score` with a slope in each stratum",
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pool, arguments = pool_and_arguments(options)
        if options["predictor"] == "score" and pool.cells[0].scores is None:
            raise InputError(Problem("the file has no such column", key="--predictor", value="score", column="score"))
        result = estimate(pool, **arguments, predictor=options["predictor"]).as_dict()
        said = conclusion(result, half_width=arguments["half_width"])
        lines = [f"{result['estimand']}: {interval_words(result)}", said]
        return result, lambda: lines, result["interval"] is not None
