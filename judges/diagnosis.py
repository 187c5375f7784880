"""Why a pair is what it is: for each side, whether the judge was called, what for, what came back, how it was read."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from judges.models import Artifact, CacheState, Case, Comparison, Reader, Run
from judges.selectors import judgments_on, pairs_of

CALLED = {
    CacheState.FRESH: "yes",
    CacheState.CACHED: "no: answered from a cache",
    CacheState.UNRECORDED: "not recorded",
}
ANSWERED, NO_ANSWER = "answered", "no answer stored"


@dataclass(frozen=True)
class Identity:
    """One content that was to be judged, and what the record says the judge saw; blank where nothing says so."""

    name: str
    requested: str
    stored: str

    @property
    def contradicts(self) -> bool:
        return bool(self.stored) and self.stored != self.requested


@dataclass(frozen=True)
class SideDiagnosis:
    """One side of a pair. All that follows `execution` is blank where there is no answer."""

    judge: str
    execution: str
    called: str
    identities: tuple[Identity, ...] = ()  # none where there is not even an artifact
    cache: str = ""
    pipeline: str = ""
    made_at: str = ""
    provenance: str = ""
    raw_reference: str = ""
    raw_hash: str = ""
    raw_label: str = ""
    parser: str = ""
    parse_state: str = ""
    reason: str = ""
    mapping: str = ""
    verdict: str | None = None

    @property
    def contradictions(self) -> list[str]:
        return [identity.name for identity in self.identities if identity.contradicts]


@dataclass(frozen=True)
class PairDiagnosis:
    case_id: str
    case_version: int
    state: str
    old: SideDiagnosis
    new: SideDiagnosis

    @property
    def sides(self) -> tuple[SideDiagnosis, SideDiagnosis]:
        return self.old, self.new


def diagnoses_of(comparison: Comparison, cases: Sequence[int]) -> list[PairDiagnosis]:
    """Of a page's cases, in the order of the case set. Those of other partitions are left out."""
    old = _side(comparison.old_run, comparison.old_reader, cases)
    new = _side(comparison.new_run, comparison.new_reader, cases)
    return [
        PairDiagnosis(pair.case_id, pair.case_version, pair.state.value, old[pair.case_pk], new[pair.case_pk])
        for pair in pairs_of(comparison, cases=Case.objects.filter(pk__in=cases).values("pk"))
    ]


def _side(run: Run, reader: Reader, cases: Sequence[int]) -> dict[int, SideDiagnosis]:
    judge = f"{run.generator.model} ({run.generator.identity[:12]}), run {run.ordinal}"
    artifacts = {one.case_id: one for one in Artifact.objects.filter(system_version=run.system_version, case__in=cases)}
    answers = judgments_on(run, reader, Q(case__in=cases)).values(
        "artifact__case",
        "cache",
        "pipeline",
        "made_at",
        "provenance",
        "raw_reference",
        "raw_hash",
        "seen_output_hash",
        "seen_evidence_hash",
        "readings__raw_label",
        "readings__state",
        "readings__reason",
        "readings__verdict",
    )
    found = {case: _unanswered(judge, artifacts.get(case)) for case in cases}
    for answer in answers:
        artifact = artifacts[answer["artifact__case"]]
        found[artifact.case_id] = SideDiagnosis(
            judge=judge,
            execution=ANSWERED,
            called=CALLED[answer["cache"]],
            identities=_identities(artifact, answer["seen_output_hash"], answer["seen_evidence_hash"]),
            cache=answer["cache"],
            pipeline=answer["pipeline"],
            made_at=answer["made_at"],
            provenance=answer["provenance"],
            raw_reference=answer["raw_reference"],
            raw_hash=answer["raw_hash"],
            raw_label=answer["readings__raw_label"],
            parser=f"{reader.parser} {reader.setting}".strip(),
            parse_state=answer["readings__state"],
            reason=answer["readings__reason"],
            mapping=str(reader.mapping),
            verdict=answer["readings__verdict"],
        )
    return found


def _unanswered(judge: str, artifact: Artifact | None) -> SideDiagnosis:
    """No answer is no call that anybody could show: a judge that ran and said nothing stands the same in a file."""
    identities = () if artifact is None else _identities(artifact, "", "")
    return SideDiagnosis(judge=judge, execution=NO_ANSWER, called="not recorded", identities=identities)


def _identities(artifact: Artifact, seen_output: str, seen_evidence: str) -> tuple[Identity, ...]:
    output = Identity("output", artifact.output_hash, seen_output)
    evidence = Identity("evidence", artifact.evidence_hash, seen_evidence)
    return (output, evidence) if seen_evidence or len(artifact.parts) > 1 else (output,)
