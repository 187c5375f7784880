"""Which cases ask for a diagnosis, what is known of each, and which have one.

A case asks for one where a settled label differs from a verdict, or where a decision in a blocking slice changed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from adjudication.models import ItemState, ReasonOwner, Reference
from audits.models import Audit, Diagnosis
from audits.outcomes import Labels, Outcome, outcome_of
from audits.selectors import standing_settlements, verdicts_by_case
from core.errors import InputError, Problem
from judges.holdouts import require_open
from judges.models import Case, Comparison
from judges.pair_index import BLOCKING, Keys, cases_found, pair_index_of, those_after
from judges.pairing import Pair
from judges.selectors import pairs_of
from judges.transitions import blocking_slice, is_blocking

PAGE = 20
UNDIAGNOSED = "undiagnosed"


@dataclass(frozen=True)
class CaseDiagnosis:
    """One case with its verdicts, its labels and what was said of it. `labels` is None while it is not settled."""

    pair: Pair
    how: str
    labels: Labels | None
    outcome: Outcome
    blocking: str
    diagnosis: Diagnosis | None

    @property
    def moved(self) -> bool:
        return self.pair.verdicts[0] != self.pair.verdicts[1]

    @property
    def label_words(self) -> str:
        if self.labels is None:
            return "not settled yet"
        if not all(self.labels):
            return "nobody could judge"
        return self.labels[0] if self.labels[0] == self.labels[1] else " → ".join(self.labels)

    def as_dict(self) -> dict[str, Any]:
        said = self.diagnosis
        return {
            "case_id": self.pair.case_id,
            "case_version": self.pair.case_version,
            "old": self.pair.verdicts[0],
            "new": self.pair.verdicts[1],
            "labels": self.labels,
            "how_settled": self.how,
            "outcome": self.outcome,
            "blocking_slice": self.blocking,
            "diagnosis": None
            if said is None
            else {
                "code": said.code,
                "owner": said.owner,
                "kind": said.kind,
                "words": said.words,
                "revision": said.revision,
                "by": said.actor.pseudonym,
                "at": said.at.isoformat(),
            },
        }


@dataclass(frozen=True)
class DiagnosisPage:
    """In the order of the cases; `after` is where the next page begins."""

    rows: Sequence[CaseDiagnosis]
    number: int
    after: int | None


@dataclass(frozen=True)
class DiagnosisCounts:
    """Each case stands under the owner and code of its diagnosis, or is undiagnosed: there is no third pile."""

    cases: int
    undiagnosed: int
    owners: dict[str, int]
    codes: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def words(self) -> str:
        if not self.cases:
            return "No settled label differs from a verdict, and no decision changed in a blocking slice."
        owners = ", ".join(f"{number:,} {owner}" for owner, number in self.owners.items())
        asks = f"{self.cases:,} case{' asks' if self.cases == 1 else 's ask'} for a diagnosis"
        return f"{asks}: {self.undiagnosed:,} without one{f'; by owner {owners}' if owners else ''}."


def standing_diagnoses(audit: Audit) -> QuerySet[Diagnosis]:
    """The latest of each case."""
    later = Diagnosis.objects.filter(audit=audit, case=OuterRef("case"), revision__gt=OuterRef("revision"))
    return Diagnosis.objects.filter(~Exists(later), audit=audit).select_related("actor")


def cases_asking(audit: Audit) -> Keys:
    """Ascending primary keys of the cases that ask for a diagnosis."""
    found = cases_found(pair_index_of(audit.comparison), [BLOCKING])
    differing = np.array(sorted({*_differing_drawn(audit), *_differing_outside(audit)}), dtype=found.dtype)
    return np.union1d(found, differing)


def _differing_drawn(audit: Audit) -> set[int]:
    comparison = audit.comparison
    references = Reference.objects.filter(settlement__in=standing_settlements(audit))
    place = "settlement__item__draws"
    differs = Q(artifact__system_version=comparison.old_run.system_version_id) & ~Q(label=F(f"{place}__old"))
    differs |= Q(artifact__system_version=comparison.new_run.system_version_id) & ~Q(label=F(f"{place}__new"))
    drawn = references.filter(**{f"{place}__audit": audit}).filter(differs)
    return set(drawn.values_list("settlement__item__case", flat=True))


def _differing_outside(audit: Audit) -> set[int]:
    """Of cases that were settled outside the sample, whose verdicts no draw has kept."""
    outside = audit.queue.items.filter(state=ItemState.SETTLED).exclude(draws__audit=audit)
    if not outside.exists():
        return set()
    pairs = [pair for pair in pairs_of(audit.comparison, cases=outside.values("case")) if pair.eligible]
    labels = _labels(audit, [pair.case_pk for pair in pairs])
    return {pair.case_pk for pair in pairs if differs(pair, labels[pair.case_pk][1])}


def differs(pair: Pair, labels: Labels) -> bool:
    """Whether a label is not the verdict of its side."""
    return any(label and label != verdict for verdict, label in zip(pair.verdicts, labels, strict=True))


def _labels(audit: Audit, cases: Sequence[int]) -> dict[int, tuple[str, Labels]]:
    """Settled case -> how, and the labels of both sides, blank where there is none."""
    comparison = audit.comparison
    systems = (comparison.old_run.system_version_id, comparison.new_run.system_version_id)
    standing = standing_settlements(audit).filter(item__case__in=cases)
    how = dict(standing.values_list("item__case", "how"))
    rows = Reference.objects.filter(settlement__in=standing)
    given = {
        (case, system): label
        for case, system, label in rows.values_list("settlement__item__case", "artifact__system_version", "label")
    }
    return {
        case: (one, (given.get((case, systems[0]), ""), given.get((case, systems[1]), ""))) for case, one in how.items()
    }


def cases_known(audit: Audit, cases: Sequence[int]) -> list[CaseDiagnosis]:
    """These cases with all that is known of them, in the order of the cases."""
    comparison, labels = audit.comparison, _labels(audit, cases)
    said = {one.case_id: one for one in standing_diagnoses(audit).filter(case__in=cases)}
    pairs = pairs_of(comparison, cases=Case.objects.filter(pk__in=cases).values("pk"))
    return [_known(audit, pair, labels.get(pair.case_pk), said.get(pair.case_pk)) for pair in pairs]


def _known(audit: Audit, pair: Pair, settled: tuple[str, Labels] | None, said: Diagnosis | None) -> CaseDiagnosis:
    comparison: Comparison = audit.comparison
    how, labels = settled or ("", None)
    outcome = outcome_of(pair.verdicts, labels, is_swap=comparison.is_swap, scale=audit.rubric.values)
    blocking = blocking_slice(comparison.blocking_slices, pair.slices) if is_blocking(comparison, pair) else ""
    return CaseDiagnosis(pair, how, labels, outcome, blocking, said)


def blocking_outcomes(audit: Audit) -> dict[str, int]:
    """How many decisions changed in blocking slices, by what they came to. Counts only: no case is named."""
    keys = cases_found(pair_index_of(audit.comparison), [BLOCKING]).tolist()
    settled, verdicts = _labels(audit, keys), verdicts_by_case(audit)
    judged = {"is_swap": audit.comparison.is_swap, "scale": audit.rubric.values}
    known = [(verdicts[case], labels) for case, (_, labels) in settled.items() if case in verdicts]
    counts = Counter(outcome_of(*one, **judged) for one in known)
    counts[Outcome.UNSETTLED] += len(keys) - len(known)
    return {str(outcome): counts[outcome] for outcome in Outcome if counts[outcome]}


def diagnosis_counts(audit: Audit) -> DiagnosisCounts:
    said = standing_diagnoses(audit).values_list("case", "owner", "code")
    return counts_of(set(cases_asking(audit).tolist()), said)


def counts_of(asking: set[Any], said: Iterable[tuple[Any, str, str]]) -> DiagnosisCounts:
    """From the cases that ask, and (case, owner, code) of each standing diagnosis. One of a case that asks no more,
    because it was settled anew, is kept and not counted."""
    counted = [one for one in said if one[0] in asking]
    owners, codes = Counter(owner for _, owner, _ in counted), Counter(code for _, _, code in counted)
    return DiagnosisCounts(
        len(asking), len(asking) - len(counted), dict(owners.most_common()), dict(codes.most_common())
    )


def diagnosis_page(
    audit: Audit, *, code: str = "", owner: str = "", after: int = 0, number: int = PAGE
) -> DiagnosisPage:
    """Those that ask for a diagnosis: all, the undiagnosed, or those under a code or an owner. Refused while the
    holdout is sealed."""
    require_open(audit.comparison)
    if owner and owner not in ReasonOwner.values:
        raise InputError(Problem("no such owner", key="owner", value=owner, allowed=", ".join(ReasonOwner.values)))
    keys = _chosen(audit, cases_asking(audit), code, owner)
    found = those_after(keys, after, number + 1)
    more = found[number - 1] if len(found) > number else None
    return DiagnosisPage(cases_known(audit, found[:number]), len(keys), more)


def _chosen(audit: Audit, keys: Keys, code: str, owner: str) -> Keys:
    said = standing_diagnoses(audit)
    if code and code != UNDIAGNOSED:
        said = said.filter(code=code)
    if owner:
        said = said.filter(owner=owner)
    cases = np.array(list(said.values_list("case", flat=True)), dtype=keys.dtype)
    if code == UNDIAGNOSED:
        return keys[:0] if owner else np.setdiff1d(keys, cases)  # what has no diagnosis has no owner
    return np.intersect1d(keys, cases) if code or owner else keys
