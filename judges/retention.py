"""Which texts are old: those that only loads before a moment point to. A text that a later load shares is not."""

from collections.abc import Iterator
from datetime import datetime

from core.models import Project
from judges.models.cases import Artifact, Case
from judges.models.loads import LoadState
from judges.models.runs import Judgment


def texts_only_before(project: Project, before: datetime) -> set[str]:
    """Hashes of every text, there or dropped already, that no load since then points to."""
    old: set[str] = set()
    later: set[str] = set()
    for sha256, state, loaded_at in _pointers(project):
        (old if state == LoadState.COMPLETE and loaded_at < before else later).add(sha256)
    return old - later


def _pointers(project: Project) -> Iterator[tuple[str, str, datetime]]:
    """(hash, state of the load, time of its last rows) for every place in which a hash stands for a text."""
    cases = Case.objects.filter(case_set__project=project)
    yield from cases.values_list("input_hash", "case_set__state", "case_set__touched_at").iterator()
    judgments = Judgment.objects.filter(run__case_set__project=project)
    yield from judgments.values_list("raw_hash", "run__state", "run__touched_at").iterator()
    artifacts = Artifact.objects.filter(case__case_set__project=project)
    shown = artifacts.values_list("parts", "system_version__state", "system_version__touched_at")
    for parts, state, loaded_at in shown.iterator():
        for _, sha256 in parts:
            yield sha256, state, loaded_at
