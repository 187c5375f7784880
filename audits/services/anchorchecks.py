"""Holding each new run of a judge to the anchors there are: counts, made once, as neither changes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction

from audits.anchormonitor import NONE
from audits.anchorsets import Labels, labels_of, latest_sets, records_of
from audits.models import AnchorCheck, AnchorSet
from core.models import Project
from judges.models import Artifact, Comparison, Judgment, Reader, Run

BATCH = 500


class Said(NamedTuple):
    """One side's judge in one run, on the cases of one comparison."""

    comparison: Comparison
    run: Run
    reader: Reader

    @property
    def key(self) -> tuple[int, int, str]:
        return self.run.pk, self.reader.pk, self.comparison.partition


def anchor_checks_make(*, now: datetime, project: Project | None = None) -> int:
    """Hold what has not been to the newest version of each set; how many checks were made comes back."""
    projects = [project] if project else list(Project.objects.filter(anchor_sets__isnull=False).distinct())
    made = 0
    for one in projects:
        for anchor_set in latest_sets(one):
            due = list(_due(anchor_set))
            labels = labels_of(records_of(anchor_set)) if due else None
            for said in due:
                assert labels is not None
                made += _make(anchor_set, labels, said, now)
    return made


def _due(anchor_set: AnchorSet) -> Iterator[Said]:
    """Each run once, as its first comparison has it: those whose people's rubric is the set's, by content."""
    checks = AnchorCheck.objects.filter(anchor_set=anchor_set)
    seen = set(checks.values_list("run", "reader", "partition"))
    comparisons = Comparison.objects.filter(
        project=anchor_set.project_id,
        audit__rubric__name=anchor_set.rubric,
        audit__rubric__version=anchor_set.rubric_version,
        audit__rubric__content_hash=anchor_set.rubric_hash,
    ).select_related("old_run", "old_reader", "new_run", "new_reader")
    for comparison in comparisons.order_by("pk").prefetch_related("further_runs__run", "further_runs__reader"):
        for said in _said_in(comparison):
            if said.key not in seen:
                seen.add(said.key)
                yield said


def _said_in(comparison: Comparison) -> Iterable[Said]:
    yield Said(comparison, comparison.old_run, comparison.old_reader)
    yield Said(comparison, comparison.new_run, comparison.new_reader)
    for further in comparison.further_runs.all():
        yield Said(comparison, further.run, further.reader)


def _make(anchor_set: AnchorSet, labels: Labels, said: Said, now: datetime) -> int:
    comparison, run, reader = said
    counted = {"result": _result(labels, said), "comparison": comparison, "at": now}
    with transaction.atomic():
        key = {"anchor_set": anchor_set, "run": run, "reader": reader, "partition": comparison.partition}
        return int(AnchorCheck.objects.get_or_create(**key, defaults=counted)[1])


def _result(labels: Labels, said: Said) -> dict[str, Any]:
    """How often each label was given which verdict, or none and why, on the artifacts that have an anchor's content."""
    found = list(_matched(labels, said))
    verdicts = _verdicts(said, [artifact for artifact, _, _ in found])
    counts: Counter[tuple[str, str]] = Counter()
    without: Counter[str] = Counter()
    unsaid: Counter[str] = Counter()
    slices: dict[str, Counter[str]] = {}
    for artifact, label, inside in found:
        state, verdict = verdicts.get(artifact, ("missing", None))
        if verdict is None:
            without[state] += 1
            unsaid[label] += 1
        else:
            counts[label, verdict] += 1
        said_of = NONE if verdict is None else "right" if verdict == label else "wrong"
        for name in inside:
            slices.setdefault(name, Counter())[said_of] += 1
    return {
        "anchors": len(found),
        "verdicts": [[label, verdict, number] for (label, verdict), number in sorted(counts.items())],
        "without": dict(sorted(without.items())),
        "without_by_label": dict(sorted(unsaid.items())),
        "slices": {name: dict(sorted(one.items())) for name, one in sorted(slices.items())},
    }


def _matched(labels: Labels, said: Said) -> Iterator[tuple[int, str, list[str]]]:
    """(artifact, the anchor's label, the case's slices) of every artifact of the run whose content is an anchor's."""
    comparison, run, _ = said
    artifacts = Artifact.objects.filter(
        system_version=run.system_version_id, case__partition=comparison.partition
    ).values_list("pk", "case__slices", "case__input_hash", "output_hash", "evidence_hash")
    for artifact, slices, *content in artifacts.iterator(chunk_size=2000):
        label = labels.of(content)
        if label is not None:
            yield artifact, label, [f"{name}={slices[name]}" for name in comparison.slices if name in slices]


def _verdicts(said: Said, artifacts: Sequence[int]) -> dict[int, tuple[str, str | None]]:
    """Artifact -> the state of its reading, and the verdict exactly when that is valid."""
    found: dict[int, tuple[str, str | None]] = {}
    columns = ("artifact", "readings__state", "readings__verdict")
    for start in range(0, len(artifacts), BATCH):
        rows = Judgment.objects.filter(
            run=said.run, artifact__in=artifacts[start : start + BATCH], readings__reader=said.reader
        )
        found |= {artifact: (state, verdict) for artifact, state, verdict in rows.values_list(*columns)}
    return found
