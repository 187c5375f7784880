"""The cases that an audit drew, for people who label elsewhere: which they are, in serving order, never why."""

import csv
from pathlib import Path
from typing import Any

from audits.exports.cells import neutral
from audits.models import Audit
from judges.holdouts import require_open


def sample_write(audit: Audit, path: Path) -> dict[str, Any]:
    """Write the case ids of the sample, one a row; how many they are comes back.

    Neither stratum nor verdict is in the file: whoever labels from it stays as blind as at the desk.
    """
    require_open(audit.comparison)
    cases = audit.queue.items.filter(draws__audit=audit).order_by("rank").values_list("case__case_id", flat=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case_id"])
        written = 0
        for case_id in cases.iterator():
            table.writerow([neutral(case_id)])
            written += 1
    return {"file": str(path), "cases": written}
