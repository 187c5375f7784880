"""`Idempotency-Key`: a write that is sent again, because its answer was lost, is done once."""

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from core.answers import LONGEST_KEY, AnsweredAlready, answer_claim, answer_find, answer_forget, answer_keep
from core.errors import InputError, Problem
from core.identity import value_hash
from core.models import StoredAnswer

HEADER = "Idempotency-Key"
Handler = Callable[..., Response]


def once(handler: Handler) -> Handler:
    """With a key, the write and its answer are stored in one transaction, and the answer is given again for a day.

    What is refused is not stored: nothing was done, and it may be sent again.
    """

    @wraps(handler)
    def guarded(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(self, request, *args, **kwargs)
        if not (key.isascii() and key.isprintable() and 0 < len(key) <= LONGEST_KEY):
            allowed = f"1 to {LONGEST_KEY} printable ASCII characters"
            raise InputError(Problem("not a key", key=HEADER, value=key, allowed=allowed))
        asked = _asked(request)
        now, stored = timezone.now(), None
        try:
            stored = answer_find(author=self.author, key=key, asked=asked, now=now)
            if stored is None:
                with transaction.atomic():
                    return _answer(self.author, key, asked, now, lambda: handler(self, request, *args, **kwargs))
        except AnsweredAlready:
            stored = answer_find(author=self.author, key=key, asked=asked, now=now)
        assert stored is not None
        return _again(stored)

    guarded.once = True  # type: ignore[attr-defined]
    return guarded


def _answer(author: Any, key: str, asked: str, now: Any, do: Callable[[], Response]) -> Response:
    claimed = answer_claim(author=author, key=key, asked=asked, now=now)
    answer = do()
    if answer.status_code >= 400:
        answer_forget(claimed=claimed)
    else:
        location = answer.headers.get("Location", "")
        body = None if answer.data is None else json.loads(JSONRenderer().render(answer.data))
        answer_keep(claimed=claimed, status=answer.status_code, location=location, body=body)
    return answer


def _again(stored: StoredAnswer) -> Response:
    headers = {"Idempotency-Replayed": "true"} | ({"Location": stored.location} if stored.location else {})
    return Response(stored.body, status=stored.status, headers=headers)


def _asked(request: Request) -> str:
    """A hash of what was asked. Of files their content counts, not how they were packed."""
    data, files = request.data, request.FILES
    fields: Any = data
    if hasattr(data, "lists"):
        fields = {name: values for name, values in data.lists() if name not in files}
    sent = [[name, file.name, _digest(file)] for name in sorted(files) for file in files.getlist(name)]
    return value_hash([request.method, request.path, fields, sent])


def _digest(file: UploadedFile) -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()
