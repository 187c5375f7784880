"""Say from a pool file how many more labels reach a width, by stratum, without a database.

Before any label these are the numbers of a plan, at the largest variances. Exits 1 where nothing can be told yet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from audits.exports.wording import budget_words, remaining_words
from audits.management.poolfiles import add_pool_arguments, pool_and_arguments
from audits.stats.outlook import plan_outlook
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
        parser.add_argument("--budget", type=int, metavar="LABELS", help="before any label: the chance that so many do")
        parser.add_argument("--seed", default="1", help="of the simulated samples behind that chance (1)")
        parser.add_argument(
            "--agree-minimum",
            type=int,
            default=AGREE_MINIMUM,
            help="before any label: at least so many from every stratum in which the judges agree",
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pool, _, arguments = pool_and_arguments(options)
        if arguments["half_width"] is None:
            raise InputError(Problem("missing", key="--target-half-width", allowed="the width to reach, such as 0.05"))
        settled = any(cell.settled for cell in pool.cells)
        if settled and arguments["target"] == "traffic":
            names = ("estimand", "side", "level", "policy", "half_width")
            check_reachable(pool, **{name: arguments[name] for name in names})
        sizing = asdict(remaining_audit(pool, **arguments) if settled else _first(pool, arguments, options))
        budget, half_width = options["budget"], arguments["half_width"]
        outlook = _outlook(pool, arguments, options, settled) if budget is not None else None

        def lines() -> list[str]:
            strata = [f"  {name}: {sizing['n'][name]} in all, {more} more" for name, more in sizing["more"].items()]
            plain = f"a plain random sample for the same width: {sizing['without_judge']} labels"
            first = f"A plan for ±{points(half_width)} points: {sizing['total_more']:,} labels."
            held = [budget_words(budget, outlook, half_width=half_width)] if outlook else []
            return [remaining_words(sizing, half_width=half_width) if settled else first, *strata, plain, *held]

        return sizing | {"budget": outlook}, lines, sizing["state"] != "cannot tell yet"


def _first(pool: Pool, arguments: dict[str, Any], options: dict[str, Any]) -> Sizing:
    return plan_sizing(pool, **_of_a_plan(arguments, options))


def _outlook(pool: Pool, arguments: dict[str, Any], options: dict[str, Any], settled: bool) -> dict[str, Any]:
    """The curve with its chances, the budget among its points."""
    if settled:
        what = "the file has labels already: a budget is held to a plan"
        raise InputError(Problem(what, key="--budget", value=str(options["budget"]), allowed="a file without a label"))
    given = _of_a_plan(arguments, options)
    outlook = plan_outlook(pool, **given, seed=options["seed"], budget=options["budget"])
    return {"fewest": outlook.fewest, "draws": outlook.draws, "curve": [asdict(point) for point in outlook.curve]}


def _of_a_plan(arguments: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """What a first draw depends on; neither cells nor a score matter before there are labels."""
    wanted = {name: value for name, value in arguments.items() if name not in ("merge_below", "predictor")}
    return wanted | {"agree_minimum": options["agree_minimum"]}
