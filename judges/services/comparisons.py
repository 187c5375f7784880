"""Opening comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from core.errors import InputError, Problem
from core.identity import value_hash
from core.models import Project
from judges.models import (
    Comparison,
    ComparisonKind,
    ComparisonRun,
    ComparisonSummary,
    PairIndex,
    Partition,
    Reader,
    Run,
    RunRole,
)
from judges.pair_index import PairsFound
from judges.progress import Progress, silent
from judges.recorded import NOTHING_KNOWN, Intake
from judges.selectors import pairs_of
from judges.services.holdouts import refuse_retired
from judges.services.runs import readings_make
from judges.summaries import summary_made

Counted = list[ComparisonSummary | PairIndex]

NOTHING_DIFFERS = "both sides are the same judge version on the same system version: nothing can have moved"
CONTENT = (
    "kind",
    "case_set",
    "partition",
    "old_run",
    "old_reader",
    "new_run",
    "new_reader",
    "labels",
    "rules",
    "slices",
    "blocking_slices",
    "repeat_summary",
)
BOTH_DIFFER = "both the judge and the system differ: nobody could say what moved"


@dataclass(frozen=True)
class Further:
    """A run beside the compared one of a side, and how it is read."""

    side: str
    role: str
    run: Run
    reader: Reader


def comparison_open(
    *,
    project: Project,
    name: str,
    kind: str,
    partition: str,
    old: tuple[Run, Reader],
    new: tuple[Run, Reader],
    labels: list[str],
    rules: dict[str, Any],
    slices: list[str],
    blocking_slices: list[str],
    further: Sequence[Further] = (),
    repeat_summary: str = "majority",
    intake: Intake = NOTHING_KNOWN,
) -> Comparison:
    """Read both sides, then set them against each other. The same comparison again comes back as it is."""
    comparison = Comparison(
        project=project,
        name=name,
        kind=kind,
        case_set=old[0].case_set,
        partition=partition,
        old_run=old[0],
        old_reader=old[1],
        new_run=new[0],
        new_reader=new[1],
        labels=labels,
        rules=rules,
        slices=slices,
        blocking_slices=blocking_slices,
        repeat_summary=repeat_summary,
    )
    summary = comparison_count(comparison, further=further, intake=intake)
    return comparison_store(comparison, summary, further=further)


def comparison_count(
    comparison: Comparison,
    progress: Progress = silent,
    *,
    further: Sequence[Further] = (),
    intake: Intake = NOTHING_KNOWN,
) -> Counted | None:
    """Read both sides and count the pairs, before any transaction: on SQLite, others write meanwhile. `intake` says
    what became of the rows of the files.

    None where a comparison of this name is there already.
    """
    sides = {
        "old": (comparison.old_run, comparison.old_reader),
        "new": (comparison.new_run, comparison.new_reader),
    }
    check_sides(kind=comparison.kind, old=sides["old"], new=sides["new"])
    for one in further:
        _check_further(one, sides[one.side])
    for run, reader in (*sides.values(), *((one.run, one.reader) for one in further)):
        readings_make(run=run, reader=reader, progress=progress)
    known = Comparison.objects.filter(project=comparison.project, name=comparison.name)
    runs = _records(comparison, further)
    return None if known.exists() else _counted(comparison, runs, intake, progress)


@transaction.atomic
def comparison_store(comparison: Comparison, counted: Counted | None, *, further: Sequence[Further] = ()) -> Comparison:
    """Store all of it; or give the comparison that is there under this name, if it has the same content."""
    content = {field: getattr(comparison, field) for field in CONTENT}
    stored, created = Comparison.objects.get_or_create(
        project=comparison.project, name=comparison.name, defaults=content
    )
    parts = [*(counted or ()), *_records(stored, further)] if created else []
    for part in parts:
        part.comparison = stored
        part.save()
    if not created and not _is_the_same(stored, content, further):
        raise InputError(
            Problem(
                "a comparison of this name is open with other content",
                key="migration_id",
                value=comparison.name,
                allowed="the same content, or another migration_id",
            )
        )
    return stored


def _counted(comparison: Comparison, further: Sequence[ComparisonRun], intake: Intake, progress: Progress) -> Counted:
    """What pages read of a new comparison, from one look at each pair. A holdout that was read is refused here, before
    anything is counted."""
    if comparison.partition == Partition.HOLDOUT:
        refuse_retired(comparison.case_set, key="partition")
    found = PairsFound(comparison)
    pairs = found.noting(progress("counting pairs", pairs_of(comparison)))
    return [summary_made(comparison, pairs, further=further, intake=intake), found.index()]


def _records(comparison: Comparison, further: Sequence[Further]) -> list[ComparisonRun]:
    return [ComparisonRun(comparison=comparison, **vars(one)) for one in further]


def _is_the_same(comparison: Comparison, content: dict[str, Any], further: Sequence[Further]) -> bool:
    stored = set(comparison.further_runs.values_list("side", "role", "run", "reader"))
    given = {(one.side, one.role, one.run.pk, one.reader.pk) for one in further}
    return stored == given and all(getattr(comparison, field) == value for field, value in content.items())


def _check_further(further: Further, side: tuple[Run, Reader]) -> None:
    """A further run is one of the side's own judge on the same artifacts; only an order probe is mapped by itself."""
    run, reader = side
    same = (further.run.generator_id, further.run.system_version_id) == (run.generator_id, run.system_version_id)
    parsed_alike = (further.reader.parser, further.reader.setting) == (reader.parser, reader.setting)
    if not same or not parsed_alike or (further.role != RunRole.ORDER_PROBE and further.reader != reader):
        what = f"a {further.role} is of the {further.side} side's own judge, and this run is another judge's"
        raise InputError(Problem(what, key="sources", value=str(further.run)))


def check_sides(*, kind: str, old: tuple[Run, Reader], new: tuple[Run, Reader]) -> None:
    """Exactly one thing moves: the judge in a swap, the system in an upgrade."""
    judges_differ = judge_identity(*old) != judge_identity(*new)
    systems_differ = old[0].system_version_id != new[0].system_version_id
    if judges_differ and systems_differ:
        raise InputError(Problem(BOTH_DIFFER, key="judges"))
    if not judges_differ and not systems_differ:
        raise InputError(Problem(NOTHING_DIFFERS, key="judges"))
    actual = ComparisonKind.JUDGE_SWAP if judges_differ else ComparisonKind.VERSION_UPGRADE
    if kind != actual:
        raise InputError(Problem("the sides do not fit the kind", key="kind", value=kind, allowed=actual.value))


def judge_identity(run: Run, reader: Reader) -> str:
    """A judge version is a generator and a reader, by content."""
    return value_hash([run.generator.identity, reader.identity])
