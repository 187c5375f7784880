"""Answers that a browser keeps as files."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

PIECE = 1 << 16  # bytes

Answer = TypeVar("Answer", bound=HttpResponseBase)


def saved_as(answer: Answer, name: str) -> Answer:
    answer["Content-Disposition"] = content_disposition_header(True, name)
    return answer


def file_answer(path: Path, *, name: str, content_type: str) -> StreamingHttpResponse:
    """A stored file under this name, or Http404. Opened when it is sent, and closed with it: nobody may want it after
    all."""
    if not path.is_file():
        raise Http404
    answer = StreamingHttpResponse(_pieces(path), content_type=content_type)
    answer["Content-Length"] = path.stat().st_size
    return saved_as(answer, name)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
