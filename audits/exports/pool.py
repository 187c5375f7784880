"""The pool of an audit as a file, and the command line that makes its estimate again from that file."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjudication.models import ItemState
from audits.exports.tables import csv_lines, lines_write
from audits.frames import frame_of
from audits.models import Audit, Draw
from audits.plans import SIDES, predictor_of, target_half_width
from audits.pools import pool_columns, scale_text
from audits.selectors import references_by_case
from judges.holdouts import require_open


def pool_write(audit: Audit, path: Path) -> dict[str, Any]:
    """Write one row per case of the frame, with what is settled by now; the counts come back."""
    require_open(audit.comparison)
    kind, scored = audit.comparison.kind, predictor_of(audit.plan) == "score"
    columns = pool_columns(kind, scored=scored)  # type: ignore[arg-type]
    rows = ([values[column] for column in columns] for values in _rows(audit))
    return {"file": str(path), "cases": lines_write(path, "csv", csv_lines(columns, rows))}


def _rows(audit: Audit) -> Iterator[dict[str, str]]:
    draws = {
        (case_id, version): (position, state)
        for case_id, version, position, state in Draw.objects.filter(audit=audit).values_list(
            "case__case_id", "case__version", "position", "item__state"
        )
    }
    references = references_by_case(audit)
    old_system = audit.comparison.old_run.system_version_id
    new_system = audit.comparison.new_run.system_version_id
    for row in frame_of(audit.frame):
        key = (row.case_id, row.case_version)
        position, state = draws.get(key, (None, None))
        labels = references.get(key, {}) if state == ItemState.SETTLED else {}
        decided = old_system in labels and new_system in labels
        settled = "0" if state != ItemState.SETTLED else "1" if decided else "underspecified"
        yield {
            "case_id": row.case_id,
            "stratum": row.stratum,
            "position": str(position or ""),
            "old": row.old,
            "new": row.new,
            "settled": settled,
            "reference": labels[new_system] if decided else "",
            "reference_old": labels[old_system] if decided else "",
            "reference_new": labels[new_system] if decided else "",
            "identical": "1" if row.same_content else "0",
            "score": repr(row.score),
        }


def estimate_command(audit: Audit, file: str) -> str:
    """The command that computes this audit's estimate from its pool file, by the same code."""
    plan = audit.plan
    words = ["manage.py", "estimate", file, "--estimand", plan["estimand"], "--policy", plan["policy"]]
    words += ["--level", repr(plan["level"]), "--target", plan["target"], "--scale", scale_text(audit.rubric.values)]
    half_width = target_half_width(plan)
    if half_width is not None:
        words += ["--target-half-width", repr(half_width)]
    if predictor_of(plan) != "cells":
        words += ["--predictor", predictor_of(plan)]
    if plan["side"]:
        words += ["--side", str(SIDES[plan["side"]])]
    words += ["--secondary", plan["strata_by"]]
    return shlex.join(words)
