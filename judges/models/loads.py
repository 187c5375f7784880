from django.db import models

from core.records import SealedOnComplete


class LoadState(models.TextChoices):
    LOADING = "loading"
    COMPLETE = "complete"


class Loaded(SealedOnComplete):
    """What an intake brings: while `loading` it is invisible to everything but its own load, and one update
    makes it `complete`, after which neither it nor its rows change."""

    protected_when = "OLD.state = 'complete'"

    state = models.CharField(max_length=10, choices=LoadState.choices, default=LoadState.LOADING)
    touched_at = models.DateTimeField()  # of the last chunk, so that an abandoned load is told from a live one

    class Meta:
        abstract = True
