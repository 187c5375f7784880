"""Reviewers that are not people: deterministic answers through the ordinary services.

An answer follows from hash(seed, author, case) alone, so that a demonstration or a benchmark repeats
itself exactly. Simulated authors are marked as such and stay so in every export.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from adjudication.models import Lease, Queue, SlotKind
from adjudication.services.leases import slot_claim
from adjudication.services.reviews import item_skip, review_submit
from core.models import Author
from judges.models import Artifact

Truth = Callable[[Artifact], str]  # the label that a flawless reviewer would give

SECONDS_PER_CASE = 20


@dataclass(frozen=True)
class SimulatedReviewer:
    """`error_rate`, `skip_rate` and `cannot_judge_rate` are shares of cases, in [0, 1]."""

    author: Author
    error_rate: float
    skip_rate: float = 0.0
    cannot_judge_rate: float = 0.0


def reviews_simulate(
    *,
    queue: Queue,
    people: Sequence[SimulatedReviewer],
    truth: Truth,
    seed: str,
    clock: Callable[[], datetime],
    after_each: Callable[[Counter[str]], None] = lambda done: None,
    at_most: int | None = None,
) -> Counter[str]:
    """Let the people work in turns until nothing is waiting for any of them, or `at_most` answers are given.

    Counts what they did: `review`, `adjudication`, `skip`, `cannot judge`.
    """
    done: Counter[str] = Counter()
    while True:
        idle = 0
        for person in people:
            if at_most is not None and done.total() >= at_most:
                return done
            lease = slot_claim(queue=queue, actor=person.author, now=clock())
            if lease is None:
                idle += 1
                continue
            done[_answer(lease, person, truth, seed, clock())] += 1
            after_each(done)
        if idle == len(people):
            return done


def _answer(lease: Lease, person: SimulatedReviewer, truth: Truth, seed: str, now: datetime) -> str:
    item = lease.item
    case = item.case.case_id

    def chance(what: str) -> float:
        return unit_hash(seed, person.author.pseudonym, case, what)

    skipped_before = item.skips.filter(author=person.author).exists()
    if chance("skip") < person.skip_rate and not skipped_before:
        item_skip(lease=lease, actor=person.author, reason="would rather ask a colleague", now=now)
        return "skip"
    if chance("cannot judge") < person.cannot_judge_rate:
        answers: Mapping[int, str | None] = dict.fromkeys(item.shown.values_list("artifact", flat=True))
        review_submit(
            lease=lease,
            actor=person.author,
            answers=answers,
            reasons=["ambiguous task"],
            rationale="The task allows two readings.",
            seconds=SECONDS_PER_CASE,
            now=now,
        )
        return "cannot judge"
    labels = item.queue.rubric.labels
    answers = {
        shown.artifact_id: _label(
            truth(shown.artifact), labels, chance(f"error on {shown.artifact.system_version}"), person
        )
        for shown in item.shown.select_related("artifact__system_version", "artifact__case")
    }
    review_submit(lease=lease, actor=person.author, answers=answers, seconds=SECONDS_PER_CASE, now=now)
    return "adjudication" if lease.slot.kind == SlotKind.ADJUDICATION else "review"


def _label(right: str, labels: list[str], chance: float, person: SimulatedReviewer) -> str:
    """The right label, or one of the others where this person errs."""
    if chance >= person.error_rate:
        return right
    others = [label for label in labels if label != right]
    return others[int(chance / person.error_rate * len(others))]


def unit_hash(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return int(hashlib.sha256("|".join(parts).encode()).hexdigest()[:13], 16) / 16**13
