"""Two readers on the same raw responses: what one has stored, and what another would find. Nothing is written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from core.batches import batches
from core.characters import shown
from core.models import Project
from judges.models import Judgment, Reader, ReadingState, Run
from judges.services.runs import reading_by
from judges.services.texts import texts_of

BATCH = 2000  # responses, with their texts in memory


@dataclass(frozen=True)
class Outcome:
    """What one reader made of a response."""

    state: str
    raw_label: str
    verdict: str | None
    reason: str

    @property
    def words(self) -> str:
        return self.verdict or (f"{self.state}: {self.reason}" if self.reason else f"{self.state}: {self.raw_label}")


@dataclass(frozen=True)
class Difference:
    case_id: str
    raw: str  # as it can be shown
    stored: Outcome
    other: Outcome


@dataclass
class Rereading:
    """Counts over the responses that were read. They agree where both have the same verdict, or the same state without
    one; `listed` holds the first rows on which they differ."""

    read: int = 0
    agree: int = 0
    differ: int = 0
    unparsed_stored: int = 0
    unparsed_other: int = 0
    unparsed_both: int = 0
    listed: list[Difference] = field(default_factory=list)

    def add(self, row: Difference, listed: int) -> None:
        stored, other = (one.state == ReadingState.UNPARSED for one in (row.stored, row.other))
        self.read += 1
        self.unparsed_stored += stored
        self.unparsed_other += other
        self.unparsed_both += stored and other
        if (row.stored.state, row.stored.verdict) == (row.other.state, row.other.verdict):
            self.agree += 1
            return
        self.differ += 1
        if len(self.listed) < listed:
            self.listed.append(row)


def reread(
    *,
    run: Run,
    reader: Reader,
    other: Reader,
    partition: str,
    first: int | None = None,
    listed: int = 50,
) -> Rereading:
    """Hold the stored readings of a run against another reader, which need not be stored, over the `first` responses
    or all."""
    result = Rereading()
    answered = Judgment.objects.filter(run=run, artifact__case__partition=partition)
    if first is not None:
        # Chosen before they are joined, in the order of the index on a run's judgments: nothing is sorted for a few.
        in_order = answered.order_by("artifact_id").values_list("pk", flat=True)
        answered = Judgment.objects.filter(pk__in=list(in_order[:first]))
    stored = {f"stored_{name}": F(f"readings__{name}") for name in ("state", "raw_label", "verdict", "reason")}
    named = stored | {"case_id": F("artifact__case__case_id")}
    judgments = answered.filter(readings__reader=reader).order_by("pk").annotate(**named)
    read = judgments.values_list("recorded_label", "raw_hash", "provenance", *named, named=True)
    for row in _rows(read.iterator(), run.case_set.project, other):
        result.add(row, listed)
    return result


def _rows(judgments: Iterable[Any], project: Project, other: Reader) -> Iterator[Difference]:
    read = reading_by(other)
    for chunk in batches(judgments, BATCH):
        texts = texts_of(project=project, hashes=[judgment.raw_hash for judgment in chunk])
        for judgment in chunk:
            raw = texts[judgment.raw_hash]
            state, raw_label, reason, verdict = read(judgment.recorded_label, raw, judgment.provenance)
            yield Difference(
                case_id=judgment.case_id,
                raw=shown(raw),
                stored=Outcome(
                    judgment.stored_state, judgment.stored_raw_label, judgment.stored_verdict, judgment.stored_reason
                ),
                other=Outcome(state, raw_label, verdict, reason),
            )
