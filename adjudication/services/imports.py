"""Labels that people gave elsewhere, taken in with an author each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction

from adjudication.models import (
    Item,
    ItemState,
    Label,
    Queue,
    Reference,
    Review,
    Settlement,
    SettlementHow,
    Slot,
    SlotKind,
    SlotState,
)
from adjudication.services.settlements import announce_settlements, settlement_numbers
from core.errors import InputError, Problem
from core.models import Author

Labels = Mapping[int, str | None]  # artifact -> label; None: cannot judge, which only an answer given here says


@dataclass(frozen=True)
class ImportedAnswers:
    """What a file says about one item: each author's labels, and the final ones where it has them."""

    item: Item
    artifacts: tuple[int, ...]
    by_author: Mapping[int, Labels]  # author -> labels
    final: Mapping[int, str]
    row: int  # of the file, for messages


@dataclass
class Imported:
    """`reviews` stored, one per author and case, and `adjudications` of a final column; `surplus` of the reviews
    are of cases that were settled before: kept, outside the estimate. `duplicate` reviews were there already.
    `settled` counts cases by how; `waiting` cases got labels that do not settle them."""

    reviews: int = 0
    adjudications: int = 0
    surplus: int = 0
    duplicate: int = 0
    settled: dict[str, int] = field(default_factory=dict)
    waiting: int = 0


@dataclass(frozen=True)
class _Outcome:
    """`answers` are those to store; the decision is made from them and from all that were there already."""

    answers: ImportedAnswers
    decision: dict[int, str]
    how: SettlementHow | None


@transaction.atomic
def labels_import(
    *, queue: Queue, rows: Iterable[ImportedAnswers], adjudicator: Author, file: str, actor: Author, now: datetime
) -> Imported:
    """Store the labels, and settle the items that they settle. The same file again adds nothing.

    An author who has answered an item otherwise before is refused: labels are never overwritten.
    """
    imported = Imported()
    fresh = _without_known(queue, list(rows), file, imported)
    outcomes = [_Outcome(answers, *_decide(whole)) for answers, whole in fresh]
    _store_reviews(outcomes, adjudicator, now, imported)
    settled = [outcome for outcome in outcomes if outcome.how and outcome.answers.item.state != ItemState.SETTLED]
    imported.waiting = sum(
        outcome.how is None and outcome.answers.item.state != ItemState.SETTLED for outcome in outcomes
    )
    if settled:
        _settle(queue, settled, actor, now)
    for outcome in settled:
        key = outcome.how.value if outcome.how else ""
        imported.settled[key] = imported.settled.get(key, 0) + 1
    return imported


def _decide(answers: ImportedAnswers) -> tuple[dict[int, str], SettlementHow | None]:
    """The labels in force, and how they came about; None where an artifact stays without one.

    A final column decides wherever it speaks, as an adjudication by whoever filled it; where at least
    two authors agree with each other and with it, the answer is theirs.
    """
    decision: dict[int, str] = {}
    for artifact in answers.artifacts:
        given = {labels[artifact] for labels in answers.by_author.values() if artifact in labels}
        if artifact in answers.final:
            decision[artifact] = answers.final[artifact]
        elif len(given) == 1 and (label := given.pop()) is not None:
            decision[artifact] = label
    if set(decision) != set(answers.artifacts):
        return decision, None
    voices = [labels for labels in answers.by_author.values() if set(labels) == set(answers.artifacts)]
    agreed = all(labels[artifact] == decision[artifact] for labels in answers.by_author.values() for artifact in labels)
    if agreed and len(voices) > 1:
        return decision, SettlementHow.UNANIMOUS
    if not answers.by_author:
        return decision, SettlementHow.IMPORTED
    if not answers.final:
        return decision, SettlementHow.SINGLE
    return decision, SettlementHow.ADJUDICATED


def _without_known(
    queue: Queue, rows: list[ImportedAnswers], file: str, imported: Imported
) -> list[tuple[ImportedAnswers, ImportedAnswers]]:
    """Each row without the labels that are stored already, and with all that are stored."""
    stored: dict[tuple[int, int], dict[int, str | None]] = {}
    voices: dict[int, dict[int, Labels]] = {}
    for item, author, surplus, artifact, label in (
        Label.objects.filter(review__item__queue=queue, review__item__in=[row.item.pk for row in rows])
        .order_by("review__revision")
        .values_list("review__item", "review__author", "review__surplus", "artifact", "label")
    ):
        labels = stored.setdefault((item, author), {})
        labels[artifact] = label
        if not surplus:
            voices.setdefault(item, {})[author] = labels
    fresh, problems = [], []
    for row in rows:
        new_authors: dict[int, Labels] = {}
        for author, labels in row.by_author.items():
            there = stored.get((row.item.pk, author))
            if there is None:
                new_authors[author] = labels
            elif there == dict(labels):
                imported.duplicate += 1
            else:
                problems.append(
                    Problem(
                        "this author has answered the case otherwise before",
                        file=file,
                        row=row.row,
                        value=", ".join(str(label) for label in labels.values()),
                        allowed="the stored labels: " + ", ".join(str(label) for label in there.values()),
                    )
                )
        if new_authors or row.item.state != ItemState.SETTLED:
            everyone = voices.get(row.item.pk, {}) | new_authors
            fresh.append((replace(row, by_author=new_authors), replace(row, by_author=everyone)))
    if problems:
        raise InputError(problems)
    return fresh


def _store_reviews(outcomes: list[_Outcome], adjudicator: Author, now: datetime, imported: Imported) -> None:
    reviews: list[tuple[Review, Labels]] = []
    for outcome in outcomes:
        answers = outcome.answers
        surplus = answers.item.state == ItemState.SETTLED
        reviews += [
            (Review(item=answers.item, author_id=author, at=now, surplus=surplus), labels)
            for author, labels in answers.by_author.items()
        ]
        if outcome.how == SettlementHow.ADJUDICATED and not surplus:
            review = Review(item=answers.item, author=adjudicator, kind=SlotKind.ADJUDICATION, at=now)
            reviews.append((review, answers.final))
            imported.adjudications += 1
        imported.reviews += len(answers.by_author)
        imported.surplus += len(answers.by_author) if surplus else 0
    Review.objects.bulk_create([review for review, _ in reviews], batch_size=500)
    Label.objects.bulk_create(
        [
            Label(review=review, artifact_id=artifact, label=label)
            for review, labels in reviews
            for artifact, label in labels.items()
        ],
        batch_size=500,
    )


def _settle(queue: Queue, outcomes: list[_Outcome], actor: Author, now: datetime) -> None:
    items = [outcome.answers.item.pk for outcome in outcomes]
    moved = Item.objects.filter(pk__in=items).exclude(state=ItemState.SETTLED).update(state=ItemState.SETTLED)
    if moved != len(items):
        raise InputError(Problem("items were settled by others while this file was taken in; send it again"))
    Slot.objects.filter(item__in=items, state=SlotState.OPEN).update(state=SlotState.WITHDRAWN)
    last = settlement_numbers(queue, len(items))
    settlements = Settlement.objects.bulk_create(
        [
            Settlement(item=outcome.answers.item, queue=queue, number=number, how=outcome.how, actor=actor, at=now)
            for number, outcome in enumerate(outcomes, last - len(items) + 1)
        ],
        batch_size=500,
    )
    Reference.objects.bulk_create(
        [
            Reference(settlement=settlement, artifact_id=artifact, label=label)
            for settlement, outcome in zip(settlements, outcomes, strict=True)
            for artifact, label in outcome.decision.items()
        ],
        batch_size=500,
    )
    announce_settlements(queue=queue, number=last, actor=actor, now=now)
