"""Bridge sets in files: the history that one is chosen from, and the manifest that says why each case is in it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from audits.manifest.sources import format_of
from audits.stats.bridge import BridgeCase
from core.errors import Problem
from core.identity import file_hash
from judges.intake.names import name_fault
from judges.intake.problems import Problems
from judges.intake.readers import Row, Table, read_header, read_rows

NEEDED = ("case_id",)
FORCED = {"true": True, "false": False, "": False}
HEAD = """\
# A bridge set: which cases are in it, and why. The same history, quotas and seed give the same file.
# Forced cases count towards their slice; the others fill it in the order sha256(seed | case id).
"""


def history_read(path: Path, slice_column: str) -> list[BridgeCase]:
    """The cases of a CSV or TSV file with the columns `case_id`, the slice, and, for forced ones, `forced`, `why` and
    `approved_by`. All problems are raised together."""
    problems = Problems()
    table = Table(path, "tsv" if format_of(path.name) == "tsv" else "csv")
    header = read_header(table)
    for column in (*NEEDED, slice_column):
        if column not in header:
            problems.add(Problem("there is no such column", file=path.name, column=column, allowed=", ".join(header)))
    problems.raise_if_any()
    cases = list(_cases(table, slice_column, problems))
    problems.raise_if_any()
    return cases


def _cases(table: Table, slice_column: str, problems: Problems) -> Iterator[BridgeCase]:
    for row in read_rows(table, problems=problems):
        case_id, forced = row.cells["case_id"], FORCED.get(row.cells.get("forced", "").strip().lower())
        if fault := name_fault(case_id):
            problems.add(_fault(table, row, "case_id", fault, "a name on one line"))
        elif forced is None:
            problems.add(_fault(table, row, "forced", "neither yes nor no", "true, false, or nothing"))
        else:
            yield BridgeCase(
                case_id=case_id,
                slice=row.cells[slice_column],
                forced=forced,
                why=row.cells.get("why", "") if forced else "",
                approved_by=row.cells.get("approved_by", "") if forced else "",
            )


def _fault(table: Table, row: Row, column: str, what: str, allowed: str) -> Problem:
    return Problem(what, file=table.name, row=row.number, column=column, value=row.cells[column], allowed=allowed)


def bridge_write(
    path: Path,
    chosen: Sequence[BridgeCase],
    *,
    history: Path,
    slice_column: str,
    quotas: Mapping[str, int],
    seed: str,
) -> dict[str, Any]:
    """Write the manifest of a bridge set; its counts by slice come back."""
    document = {
        "history": {"file": history.name, "sha256": file_hash(history)},
        "slice": slice_column,
        "seed": seed,
        "quotas": {name: str(quotas[name]) for name in sorted(quotas)},
        "cases": [_entry(case) for case in chosen],
    }
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
    path.write_text(HEAD + text, encoding="utf-8")
    forced = Counter(case.slice for case in chosen if case.forced)
    whole = Counter(case.slice for case in chosen)
    slices = [
        {"slice": name, "cases": whole[name], "forced": forced[name], "quota": quotas.get(name, 0)}
        for name in sorted({*whole, *quotas})
    ]
    return {"file": str(path), "cases": len(chosen), "slices": slices}


def _entry(case: BridgeCase) -> dict[str, str]:
    entry = {"case_id": case.case_id, "slice": case.slice, "how": "forced" if case.forced else "filled"}
    return entry | ({"why": case.why, "approved_by": case.approved_by} if case.forced else {})
