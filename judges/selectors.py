"""Reads of what the machines said."""

import json
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from django.db.models import Count, F, Max, Min, Q, QuerySet, TextField
from django.db.models.functions import Cast

from core.identity import text_hash
from judges.models import Artifact, Case, CaseSet, Comparison, Judgment, LoadState, Reader, Run, SystemVersion
from judges.pairing import Pair, Rules, SideReading, pair_state

PAGE = 2000
ALIKE = 5000  # what many cases have alike, and is kept
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
    # Looked up by key: by the index on its set, SQLite would walk every case of it for a few.
    named = Case.objects.alias(within=F("case_set") + 0)
    rows = named.filter(within=comparison.case_set_id, partition=comparison.partition).order_by("pk")
    first = 0
    if cases is None:
        bounds = comparison.case_set.cases.aggregate(first=Min("pk", default=0), last=Max("pk", default=0))
        first, rows = bounds["first"], rows.filter(pk__lte=bounds["last"])
    else:
        rows = rows.filter(pk__in=cases)
    # Nothing is read on while a page is passed on: SQLite would keep whoever takes it from writing.
    while page := list(rows.filter(pk__gte=first).values_list("pk", "case_id", "version", SLICES)[:PAGE]):
        keys = [pk for pk, *_ in page]
        # Of all cases a range says the same as a list, and sooner.
        those = Q(case__gte=keys[0], case__lte=keys[-1]) if cases is None else Q(case__in=keys)
        yield from _pairs(comparison, page, those)
        if len(page) < PAGE:
            return
        first = keys[-1] + 1


SLICES = Cast("slices", TextField())  # to be read by `slices_of`


@lru_cache(ALIKE)
def slices_of(text: str) -> dict[str, str]:
    """The slices of a case: few combinations are those of many cases, each is read once. Nobody changes them."""
    slices: dict[str, str] = json.loads(text)
    return slices


def _pairs(comparison: Comparison, page: list[tuple[int, str, int, str]], those: Q) -> Iterator[Pair]:
    """`those` finds the artifacts of the page's cases; whatever else it finds is left out."""
    rules = rules_of(comparison)
    old = _readings(comparison.old_run, comparison.old_reader, those)
    new = _readings(comparison.new_run, comparison.new_reader, those)
    for pk, case_id, version, slices in page:
        old_side, old_output, old_evidence = old.get(pk, (None, "", ""))
        new_side, new_output, new_evidence = new.get(pk, (None, "", ""))
        yield Pair(
            case_pk=pk,
            case_id=case_id,
            case_version=version,
            slices=slices_of(slices),
            old=old_side,
            new=new_side,
            same_content=bool(old_side and new_side)
            and (old_output, old_evidence) == (new_output, new_evidence)
            and not comparison.is_swap,
            state=pair_state(old_side, new_side, rules),
        )


class ReadOf(NamedTuple):
    """How one case was read in one run. `evidence_agrees` is None where the source recorded nothing."""

    state: str
    verdict: str | None
    evidence_agrees: bool | None


def reads_of(run: Run, reader: Reader, partition: str) -> dict[int, ReadOf]:
    """Case -> how it was read, over the cases of a partition that the run judged."""
    rows = Judgment.objects.filter(run=run, readings__reader=reader, artifact__case__partition=partition).values_list(
        "artifact__case_id",
        "readings__state",
        "readings__verdict",
        "seen_evidence_hash",
        "artifact__evidence_hash",
    )
    return {
        case: ReadOf(state, verdict, _agrees(seen, stored)) for case, state, verdict, seen, stored in rows.iterator()
    }


def judgments_on(run: Run, reader: Reader, those: Q) -> QuerySet[Judgment]:
    """A run's judgments of those artifacts that the reader has read. By a list of them: joined to the cases, a
    database may begin at the run or the reader and go through everything there is of either."""
    # By the index on its system version, SQLite would walk every artifact of it for each page.
    artifacts = Artifact.objects.alias(by=F("system_version") + 0).filter(those, by=run.system_version_id)
    return Judgment.objects.filter(run=run, artifact__in=artifacts.values("pk"), readings__reader=reader)


def _readings(run: Run, reader: Reader, those: Q) -> SideReadings:
    rows = judgments_on(run, reader, those).values_list(
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
        "cache",
        "tokens",
        "cost",
    )
    alike = cache(SideReading)  # most cases of a page are read like another one
    return {
        case: (
            alike(state, verdict, raw_label, provenance, _agrees(seen_out, out), _agrees(seen_ev, ev), *recorded),
            out,
            ev,
        )
        for case, state, verdict, raw_label, provenance, seen_out, out, seen_ev, ev, *recorded in rows.iterator()
    }


def other_evidence(run: Run, partition: str) -> Iterator[tuple[str, list[str]]]:
    """Of each judgment that saw other evidence than its artifact's: the hash seen, and the artifact's pieces."""
    rows = (
        Judgment.objects.filter(run=run, artifact__case__partition=partition)
        .exclude(seen_evidence_hash="")
        .exclude(seen_evidence_hash=F("artifact__evidence_hash"))
    )
    for seen, parts in rows.values_list("seen_evidence_hash", "artifact__parts").iterator():
        yield seen, [sha256 for name, sha256 in parts if name != "output"]


def same_material(system: SystemVersion, partition: str) -> list[list[str]]:
    """Ids of cases that share input, output and evidence, byte for byte. Without an input nothing says that two
    equal outputs are the same case."""
    shared = (
        Artifact.objects.filter(system_version=system, case__partition=partition)
        .exclude(case__input_hash=text_hash(""))
        .values("case__input_hash", "output_hash", "evidence_hash")
        .annotate(number=Count("pk"))
        .filter(number__gt=1)
    )
    groups: dict[tuple[str, str, str], list[str]] = {}
    keys = {(one["case__input_hash"], one["output_hash"], one["evidence_hash"]) for one in shared}
    if keys:
        rows = Artifact.objects.filter(
            system_version=system, case__partition=partition, case__input_hash__in=shared.values("case__input_hash")
        ).order_by("case")
        columns = ("case__input_hash", "output_hash", "evidence_hash", "case__case_id")
        for *key, case_id in rows.values_list(*columns).iterator():
            if tuple(key) in keys:
                groups.setdefault((key[0], key[1], key[2]), []).append(case_id)
    return list(groups.values())


def runs_of_same_file(runs: Sequence[Run], case_set: CaseSet) -> list[list[Run]]:
    """Runs over a case set that were read in the same way from files with the same bytes, in groups with at least one
    of `runs`."""
    read = {(run.file_hash, run.reading_hash) for run in runs if run.file_hash}
    found: dict[tuple[str, str], list[Run]] = {key: [] for key in sorted(read)}
    known = Q(state=LoadState.COMPLETE) | Q(pk__in=[run.pk for run in runs])
    stored = case_set.runs.filter(known, file_hash__in={file for file, _ in read})
    for run in stored.select_related("generator", "system_version").order_by("pk"):
        if (run.file_hash, run.reading_hash) in found:
            found[run.file_hash, run.reading_hash].append(run)
    return [group for group in found.values() if len(group) > 1]


def _agrees(seen: str, stored: str) -> bool | None:
    return None if not seen else seen == stored
