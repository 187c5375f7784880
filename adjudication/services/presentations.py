"""Laying an item before a person."""

import secrets
from datetime import datetime

from adjudication.models import Item, Presentation
from core.models import Author


def presentation_ensure(*, item: Item, author: Author, now: datetime) -> Presentation:
    """The order in which this person sees the item's outputs: drawn once, the same at every reload.

    Drawn from the system's own randomness, so that it follows from nothing that anybody knows.
    """
    found = Presentation.objects.filter(item=item, author=author).first()
    if found is not None:
        return found
    order = sorted(item.shown.values_list("artifact", flat=True))
    secrets.SystemRandom().shuffle(order)
    return Presentation.objects.get_or_create(
        item=item, author=author, defaults={"order": order, "salt": secrets.token_hex(16), "at": now}
    )[0]
