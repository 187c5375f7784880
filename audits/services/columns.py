"""Holding the columns of label files against the verdicts: a shifted column looks like a bad judge."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from django.db import transaction

from audits.manifest.specs import Manifest
from audits.models import Audit, ColumnCheck
from judges.associations import far_below
from judges.intake.rows import LabelRow
from judges.integrity import outlier_words
from judges.models import Comparison
from judges.pairing import Pair
from judges.selectors import pairs_of

MappedLabels = Iterable[tuple[LabelRow, str]]  # a row, and the name of the mapping that reads its labels


def columns_check(*, audit: Audit, manifest: Manifest, labels: MappedLabels) -> ColumnCheck:
    """Store which columns look wrong, once for each manifest that a draft has."""
    stored = ColumnCheck.objects.filter(audit=audit, manifest_hash=manifest.hash).first()
    if stored is not None:
        return stored
    tables = {name: dict(mapping.table) for name, mapping in manifest.mappings.items()}
    warnings = column_warnings(audit.comparison, [(row, tables[mapping]) for row, mapping in labels])
    with transaction.atomic():
        defaults = {"warnings": warnings}
        return ColumnCheck.objects.get_or_create(audit=audit, manifest_hash=manifest.hash, defaults=defaults)[0]


def column_warnings(comparison: Comparison, labels: list[tuple[LabelRow, dict[str, str]]]) -> list[str]:
    """Every column that agrees with a judge far less for one system version, or in one slice, than for the others."""
    if not labels:
        return []
    pairs = {pair.case_id: pair for pair in pairs_of(comparison) if pair.eligible}
    counts: dict[tuple[str, str], Counter[tuple[str, bool]]] = defaultdict(Counter)
    for row, table in labels:
        if pair := pairs.get(row.case_id):
            for column, text in _columns(row):
                for judge, by, group, verdict in _held_against(comparison, pair, row.side):
                    counts[f"{column} agrees with {judge}", by][group, table.get(text) == verdict] += 1
    return [
        outlier_words(words, f"{by}={found.group or '(none)'}", found)
        for (words, by), agreeing in counts.items()
        for found in far_below(_groups(agreeing))
    ]


def _groups(agreeing: Counter[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys(group for group, _ in agreeing)
    return {name: (agreeing[name, True], agreeing[name, True] + agreeing[name, False]) for name in names}


def _columns(row: LabelRow) -> Iterator[tuple[str, str]]:
    yield from ((f"the column of {author}", text) for author, text in row.authors.items())
    if row.adjudicated is not None:
        yield "the final column", row.adjudicated


def _held_against(comparison: Comparison, pair: Pair, side: str) -> Iterator[tuple[str, str, str, str]]:
    """(judge, what the cases are grouped by, the group, the verdict)."""
    old, new = pair.verdicts
    if comparison.is_swap:
        judges = [("the old judge", old), ("the new judge", new)]
    else:
        system, verdict = (comparison.old_system, old) if side == "baseline" else (comparison.new_system, new)
        judges = [("the judge", verdict)]
        yield "the judge", "version", system.name, verdict
    for judge, verdict in judges:
        for name in comparison.slices:
            yield judge, name, pair.slices.get(name, ""), verdict
