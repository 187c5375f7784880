"""Laying an item before a person."""

import secrets
from datetime import datetime

from django.db import IntegrityError, transaction

from adjudication.in_hand import presentation_of, shown_of
from adjudication.models import Item, Presentation
from core.models import Author


def presentation_ensure(*, item: Item, author: Author, now: datetime) -> Presentation:
    """The order in which this person sees the item's outputs: drawn once, the same at every reload.

    Drawn from the system's own randomness, so that it follows from nothing that anybody knows.
    """
    found = presentation_of(item, author)
    if found is not None:
        return found
    order = sorted(artifact.pk for artifact in shown_of(item))
    secrets.SystemRandom().shuffle(order)
    try:
        with transaction.atomic():
            item.presentation = Presentation.objects.create(
                item=item, author=author, order=order, salt=secrets.token_hex(16), at=now
            )
            return item.presentation
    except IntegrityError:  # one_presentation_per_item_and_author: another window of theirs was faster
        return Presentation.objects.get(item=item, author=author)
