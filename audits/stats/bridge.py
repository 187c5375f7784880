"""The bridge set: cases that stand for their slices. First the boundary cases that people named, then a seeded fill."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from audits.stats.checks import checked_count
from audits.stats.design import permanent_order
from core.errors import InputError, Problem


@dataclass(frozen=True)
class BridgeCase:
    """One case that may stand in the set. `why` and `approved_by` say why a forced case must, and who wants it."""

    case_id: str
    slice: str
    forced: bool = False
    why: str = ""
    approved_by: str = ""


def bridge_selected(cases: Iterable[BridgeCase], *, quotas: Mapping[str, int], seed: str) -> list[BridgeCase]:
    """The cases of the bridge set.

    Parameters
    ----------
    cases : iterable of BridgeCase
        In any order; each id once.
    quotas : mapping of slice to number of cases
        What each slice should have. A slice that is not named gets its forced cases only.
    seed : str
        Of the fill.

    Returns
    -------
    list of BridgeCase
        By slice, forced cases first, in the order of their ids; then the fill in the permanent order of its ids.
        Forced cases count towards the quota of their slice, and all of them are in, even beyond it. A larger
        quota keeps the cases of a smaller one, whatever other cases are added or left out.

    Raises
    ------
    InputError
        Every slice that falls short, with what it needs and what was found; every id that stands twice; a forced case
        without a reason or an approver.
    """
    by_slice: dict[str, list[BridgeCase]] = defaultdict(list)
    given = list(cases)
    for case in given:
        by_slice[case.slice].append(case)
    problems = _case_problems(given)
    chosen: list[BridgeCase] = []
    for name in sorted({*by_slice, *quotas}):
        quota = checked_count(quotas.get(name, 0), f"quotas.{name}")
        forced = sorted((case for case in by_slice[name] if case.forced), key=lambda case: case.case_id)
        others = {case.case_id: case for case in by_slice[name] if not case.forced}
        needed = max(0, quota - len(forced))
        if needed > len(others):
            what = f"the slice needs {needed} cases beside its {len(forced)} forced ones, and {len(others)} were found"
            problems.append(Problem(what, key="slice", value=name, allowed="a smaller quota, or more cases"))
        fill = permanent_order(seed, others)[:needed]
        chosen += [*forced, *(others[case_id] for case_id in fill)]
    if problems:
        raise InputError(problems)
    return chosen


def _case_problems(cases: list[BridgeCase]) -> list[Problem]:
    numbers = Counter(case.case_id for case in cases)
    problems = [
        Problem("the case stands twice", key="case_id", value=case_id, allowed="each case once")
        for case_id, number in numbers.items()
        if number > 1
    ]
    for case in cases:
        if case.forced:
            problems += [
                Problem(f"forced case {case.case_id} does not say", key=key, allowed=allowed)
                for key, text, allowed in (
                    ("why", case.why, "why it must stand in the set"),
                    ("approved_by", case.approved_by, "who wants it there"),
                )
                if not text.strip()
            ]
    return problems
