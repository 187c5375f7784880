"""Say from a pool file how many more labels reach a width, by stratum, without a database.

Exits 1 where that cannot be told yet.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from audits.exports.wording import remaining_words
from audits.management.poolfiles import add_pool_arguments, pool_and_arguments
from audits.stats.remaining import remaining_audit
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        add_pool_arguments(parser)

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pool, arguments = pool_and_arguments(options)
        if arguments["half_width"] is None:
            raise InputError(Problem("missing", key="--target-half-width", allowed="the width to reach, such as 0.05"))
        sizing = asdict(remaining_audit(pool, **arguments))

        def lines() -> list[str]:
            strata = [f"  {name}: {sizing['n'][name]} in all, {more} more" for name, more in sizing["more"].items()]
            plain = f"a plain random sample for the same width: {sizing['without_judge']} labels"
            return [remaining_words(sizing, half_width=arguments["half_width"]), *strata, plain]

        return sizing, lines, sizing["state"] != "cannot tell yet"
