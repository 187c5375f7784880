"""Show how many judgments of both sides came from a cache, and list every one whose record contradicts its artifact.

Exits 1 where one does.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from audits.management.base import AuditCommand
from audits.management.commands.diagnose_pairs import MOST, pairs_found
from audits.management.lines import diagnosis_lines
from audits.models import Audit
from audits.pairs import run_caches
from core.commands import Result
from judges.models import ProvenanceMark
from judges.pair_index import MARKS


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--most", type=int, default=MOST, metavar="N", help=f"list at most so many pairs ({MOST})")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pairs = list(pairs_found(audit, "", list(MARKS), options["most"]))
        runs = run_caches(audit)
        contradicted = sum(
            row["judgments"]
            for run in runs
            for row in run["judgments"]
            if row["provenance"] == ProvenanceMark.CONTRADICTED
        )

        def lines() -> list[str]:
            counted = [
                line
                for run in runs
                for line in (
                    f"{run['side']}: {run['run']}",
                    *(f"  {row['cache']}, {row['provenance']}: {row['judgments']}" for row in run["judgments"]),
                )
            ]
            return [*counted, *(line for pair in pairs for line in diagnosis_lines(pair))]

        result = {"runs": runs, "contradicted": contradicted, "pairs": [asdict(pair) for pair in pairs]}
        return result, lines, not contradicted
