"""Reads of what the machines said."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from judges.models import Comparison, Judgment, Reader, Run
from judges.pairing import Pair, Rules, SideReading, pair_state

PAGE = 2000
SideReadings = dict[int, tuple[SideReading, str, str]]


def rules_of(comparison: Comparison) -> Rules:
    return Rules(
        require_equal_output_hash=comparison.rules["require_equal_output_hash"],
        require_equal_evidence_hash=comparison.rules["require_equal_evidence_hash"],
        accept_unverified_provenance=comparison.rules["accept_unverified_provenance"],
    )


def pairs_of(comparison: Comparison, cases: QuerySet[Any, Any] | None = None) -> Iterator[Pair]:
    """Every case of the comparison's partition, in the order of the case set, with its pair's state.

    `cases`, a query of primary keys, keeps to those. It goes by pages: no more is in memory than one of them.
    """
    chosen = comparison.case_set.cases.filter(partition=comparison.partition).order_by("pk")
    if cases is not None:
        chosen = chosen.filter(pk__in=cases)
    rows, last = chosen.values_list("pk", "case_id", "version", "slices"), 0
    while page := list(rows.filter(pk__gt=last)[:PAGE]):
        last = page[-1][0]
        yield from _pairs(comparison, page)


def _pairs(comparison: Comparison, page: list[tuple[int, str, int, dict[str, str]]]) -> Iterator[Pair]:
    rules = rules_of(comparison)
    cases = [pk for pk, *_ in page]
    old = _readings(comparison.old_run, comparison.old_reader, cases)
    new = _readings(comparison.new_run, comparison.new_reader, cases)
    for pk, case_id, version, slices in page:
        old_side, old_output, old_evidence = old.get(pk, (None, "", ""))
        new_side, new_output, new_evidence = new.get(pk, (None, "", ""))
        yield Pair(
            case_pk=pk,
            case_id=case_id,
            case_version=version,
            slices=slices,
            old=old_side,
            new=new_side,
            same_content=bool(old_side and new_side)
            and (old_output, old_evidence) == (new_output, new_evidence)
            and not comparison.is_swap,
            state=pair_state(old_side, new_side, rules),
        )


def _readings(run: Run, reader: Reader, cases: list[int]) -> SideReadings:
    judgments = Judgment.objects.filter(run=run, readings__reader=reader, artifact__case__in=cases)
    rows = judgments.values_list(
        "artifact__case_id",
        "readings__state",
        "readings__verdict",
        "readings__raw_label",
        "provenance",
        "seen_output_hash",
        "artifact__output_hash",
        "seen_evidence_hash",
        "artifact__evidence_hash",
        "score",
    )
    return {
        case: (
            SideReading(state, verdict, raw_label, provenance, _agrees(seen_out, out), _agrees(seen_ev, ev), score),
            out,
            ev,
        )
        for case, state, verdict, raw_label, provenance, seen_out, out, seen_ev, ev, score in rows.iterator()
    }


def _agrees(seen: str, stored: str) -> bool | None:
    return None if not seen else seen == stored
