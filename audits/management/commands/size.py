"""Say from a pool file how many more labels reach a width, by stratum, without a database.

Before any label these are the numbers of a plan, at the largest variances. Exits 1 where nothing can be told yet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from audits.exports.wording import remaining_words
from audits.management.poolfiles import add_pool_arguments, pool_and_arguments
from audits.stats.pool import Pool
from audits.stats.projection import AGREE_MINIMUM, check_reachable
from audits.stats.remaining import Sizing, plan_sizing, remaining_audit
from audits.templatetags.figures import points
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        add_pool_arguments(parser)
        parser.add_argument(
            "--agree-minimum",
            type=int,
            default=AGREE_MINIMUM,
            help="before any label: at least so many from every stratum in which the judges agree",
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pool, arguments = pool_and_arguments(options)
        if arguments["half_width"] is None:
            raise InputError(Problem("missing", key="--target-half-width", allowed="the width to reach, such as 0.05"))
        settled = any(cell.settled for cell in pool.cells)
        if settled and arguments["target"] == "traffic":
            names = ("estimand", "side", "level", "policy", "half_width")
            check_reachable(pool, **{name: arguments[name] for name in names})
        sizing = asdict(remaining_audit(pool, **arguments) if settled else _first(pool, arguments, options))

        def lines() -> list[str]:
            strata = [f"  {name}: {sizing['n'][name]} in all, {more} more" for name, more in sizing["more"].items()]
            plain = f"a plain random sample for the same width: {sizing['without_judge']} labels"
            half_width = arguments["half_width"]
            first = f"A plan for ±{points(half_width)} points: {sizing['total_more']:,} labels."
            return [remaining_words(sizing, half_width=half_width) if settled else first, *strata, plain]

        return sizing, lines, sizing["state"] != "cannot tell yet"


def _first(pool: Pool, arguments: dict[str, Any], options: dict[str, Any]) -> Sizing:
    """What a plan draws at first; neither cells nor a score matter before there are labels."""
    wanted = {name: value for name, value in arguments.items() if name not in ("merge_below", "predictor")}
    return plan_sizing(pool, **wanted, agree_minimum=options["agree_minimum"])
