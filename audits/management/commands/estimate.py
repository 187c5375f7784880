"""Compute an estimate from a pool file, without a database, by the code that computes looks.

Exits 1 where there is no interval to show yet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from audits.exports.wording import conclusion, interval_words
from audits.management.poolfiles import add_pool_arguments, pool_and_arguments
from audits.stats.estimate import estimate
from core.commands import Command as Base
from core.commands import Result


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        add_pool_arguments(parser)

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pool, arguments = pool_and_arguments(options)
        result = estimate(pool, **arguments).as_dict()
        said = conclusion(result, half_width=arguments["half_width"])
        lines = [f"{result['estimand']}: {interval_words(result)}", said]
        return result, lambda: lines, result["interval"] is not None
