"""Labels that are there already: which of an audit's artifacts have one, where the plan says that it may count.

A label is a property of the artifact, so the design is untouched by where it comes from: what is reused stands in its
stratum's order and enters the estimate like any other label, marked as reused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count

from adjudication.models import Reference, Review, SettlementHow
from audits.anchorsets import CONTENT, anchor_set_find, content_key, labels_of, records_of
from audits.exports.anchors import labelled_by
from audits.models import AnchorSet, Audit, Reuse
from audits.selectors import known_references
from core.errors import Problem, Refused
from core.models import AuthorKind
from judges.models import Artifact

BATCH = 500
KEY = "review.reuse_anchors"


@dataclass(frozen=True)
class KnownLabel:
    """A label with where it is from. `labelled_by` says what kind of people stand behind it there."""

    label: str
    source: str
    labelled_by: str


def set_reused(audit: Audit) -> AnchorSet | None:
    """The version of an anchor set that the plan takes labels from. Refused where it is under another rubric."""
    stated = audit.review.get("reuse_anchors", "")  # drafts opened by earlier versions have none
    if not stated:
        return None
    found = anchor_set_find(audit.project, stated, key=KEY)
    rubric = audit.rubric
    of_set = (found.rubric, found.rubric_version, found.rubric_hash)
    if of_set != (rubric.name, rubric.version, rubric.content_hash):
        what = f"the anchors are under rubric {found.rubric} {found.rubric_version} ({found.rubric_hash[:12]})"
        allowed = f"{rubric} ({rubric.content_hash[:12]})"
        raise Refused(Problem(what, key=KEY, value=stated, allowed=allowed))
    return found


def known_labels(audit: Audit, artifacts: Sequence[int]) -> dict[int, KnownLabel]:
    """Labels that the plan reuses, of these artifacts. Where two sources differ nothing is known: people decide."""
    earlier = _of_other_audits(audit, artifacts) if audit.review["reuse_references"] else {}
    anchors = set_reused(audit)
    if anchors is None:
        return earlier
    of_set = _of_set(anchors, artifacts)
    contested = {key for key, one in of_set.items() if key in earlier and earlier[key].label != one.label}
    return {key: one for key, one in (of_set | earlier).items() if key not in contested}


def _of_other_audits(audit: Audit, artifacts: Sequence[int]) -> dict[int, KnownLabel]:
    known, wanted = known_references(audit), set(artifacts)
    keys = [key for artifact, key in known.items() if artifact in wanted]
    columns = ("artifact", "label", "settlement__item", "settlement__how", "settlement__queue__name")
    found: dict[int, KnownLabel] = {}
    for start in range(0, len(keys), BATCH):
        rows = list(Reference.objects.filter(pk__in=keys[start : start + BATCH]).values_list(*columns))
        people = _people({item: how for _, _, item, how, _ in rows})
        found |= {
            artifact: KnownLabel(label, f"audit {queue}", people.get(item, ""))
            for artifact, label, item, _, queue in rows
        }
    return found


def _people(items: Mapping[int, str]) -> dict[int, str]:
    """What kind of people stand behind each item's label: who answered it, or those of before, where it was reused."""
    found = labelled_by(Review.objects.filter(item__in=list(items)))
    reused = [item for item, how in items.items() if how == SettlementHow.REUSED]
    before = Reuse.objects.filter(settlement__item__in=reused).order_by("pk")
    return found | dict(before.values_list("settlement__item", "labelled_by"))


def _of_set(anchors: AnchorSet, artifacts: Sequence[int]) -> dict[int, KnownLabel]:
    """By content: the same question, output and evidence, byte for byte, whatever its case is called."""
    labels = labels_of(records_of(anchors))
    wanted = {}
    for start in range(0, len(artifacts), BATCH):
        rows = Artifact.objects.filter(pk__in=artifacts[start : start + BATCH])
        for pk, *content in rows.values_list("pk", "case__input_hash", "output_hash", "evidence_hash"):
            if (label := labels.of(content)) is not None:
                wanted[pk] = (content_key(content), label)
    keys = {key for key, _ in wanted.values()}
    people = {}
    for record in records_of(anchors):
        key = content_key(record[name] for name in CONTENT)
        if key in keys:
            people[key] = record["labelled_by"]
    source = f"anchor set {anchors}"
    return {pk: KnownLabel(label, source, people[key]) for pk, (key, label) in wanted.items()}


def reuses_simulated(audit: Audit) -> bool:
    return audit.reuses.filter(labelled_by__contains=AuthorKind.SIMULATED).exists()


def reused_sources(audit: Audit) -> list[tuple[str, int]]:
    """Where labels came from that nobody was asked for, with how many cases each settled, the most first."""
    counts = audit.reuses.values_list("source").annotate(number=Count("pk")).order_by("-number", "source")
    return list(counts)
