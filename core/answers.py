"""Answers kept for a day, so that a write sent twice with one key is done once."""

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from core.errors import InputError, Problem
from core.models import Author, StoredAnswer

KEPT = timedelta(days=1)
LONGEST_KEY = 255


class AnsweredAlready(Exception):
    """The key has been used meanwhile: what it was answered is stored."""


def answer_find(*, author: Author, key: str, asked: str, now: datetime) -> StoredAnswer | None:
    """What this key was answered; refused where it stood on another request."""
    found = StoredAnswer.objects.filter(author=author, key=key, at__gt=now - KEPT).first()
    if found is not None and found.asked != asked:
        what = "this key was sent with another request"
        raise InputError(Problem(what, key="Idempotency-Key", value=key, allowed="a new key for a new request"))
    return found


def answer_claim(*, author: Author, key: str, asked: str, now: datetime) -> StoredAnswer:
    """Take the key, in the caller's transaction: whoever comes with it meanwhile waits until that has ended."""
    StoredAnswer.objects.filter(author=author, key=key, at__lte=now - KEPT).delete()
    try:
        with transaction.atomic():
            return StoredAnswer.objects.create(author=author, key=key, asked=asked, at=now)
    except IntegrityError as error:  # one_answer_per_author_and_key
        raise AnsweredAlready from error


def answer_keep(*, claimed: StoredAnswer, status: int, location: str, body: Any) -> None:
    claimed.status, claimed.location, claimed.body = status, location, body
    claimed.save(update_fields=["status", "location", "body"])


def answer_forget(*, claimed: StoredAnswer) -> None:
    """Nothing was done: the key is free again."""
    claimed.delete()


def answers_clear(*, now: datetime) -> int:
    return StoredAnswer.objects.filter(at__lte=now - KEPT).delete()[0]
