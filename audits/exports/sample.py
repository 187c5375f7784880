"""The cases that an audit drew, for people who label elsewhere: which they are, in serving order, never why."""

from pathlib import Path
from typing import Any

from audits.exports.tables import csv_lines, lines_write
from audits.models import Audit
from judges.holdouts import require_open


def sample_write(audit: Audit, path: Path) -> dict[str, Any]:
    """Write the case ids of the sample, one a row; how many they are comes back.

    Neither stratum nor verdict is in the file: whoever labels from it stays as blind as at the desk.
    """
    require_open(audit.comparison)
    cases = audit.queue.items.filter(draws__audit=audit).order_by("rank").values_list("case__case_id", flat=True)
    lines = csv_lines(["case_id"], ([case_id] for case_id in cases.iterator()))
    return {"file": str(path), "cases": lines_write(path, "csv", lines)}
