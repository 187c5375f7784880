"""Compute an estimate from a pool file, without a database, by the code that computes looks.

Exits 1 where there is no interval to show yet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from audits.exports.wording import conclusion, finding_words, interval_words
from audits.management.poolfiles import add_pool_arguments, pool_and_arguments
from audits.plans import has_stopped
from audits.secondary import secondary_findings
from audits.stats.design import BY
from audits.stats.estimate import estimate
from core.commands import Command as Base
from core.commands import Result


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        add_pool_arguments(parser)
        parser.add_argument(
            "--secondary",
            choices=BY,
            help="how the plan made its strata: gives, once the policy allows to stop, what else the labels say: "
            "four cells, regression share, rates by version, ...",
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pool, drawn, arguments = pool_and_arguments(options)
        result = estimate(pool, **arguments).as_dict()
        said = conclusion(result, half_width=arguments["half_width"])
        lines = [f"{result['estimand']}: {interval_words(result)}", said]
        if by := options["secondary"]:
            stopped = has_stopped(arguments | {"detectable_difference": None}, result, drawn)
            found = secondary_findings(pool, level=arguments["level"], by=by) if stopped else None
            result["secondary"] = found
            lines += [finding_words(one) for one in found or []] or ["Secondary estimates come at the plan's stop."]
        return result, lambda: lines, result["interval"] is not None
