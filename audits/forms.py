"""From what a form sent to the values that a service takes."""

from collections.abc import Mapping, Sequence

from audits.pages import StratumPlan
from core.errors import InputError, Problem


def asked_labels(sent: Mapping[str, str], rows: Sequence[StratumPlan]) -> dict[str, int]:
    """Totals by stratum; whether they may be, `extended_sample` says."""
    given = {row.name: sent.get(row.field, "").strip() for row in rows}
    problems = [
        Problem("not a number of labels", key=name, value=value, allowed="a whole number")
        for name, value in given.items()
        if not (value.isascii() and value.isdigit())
    ]
    if problems:
        raise InputError(problems)
    return {name: int(value) for name, value in given.items()}
