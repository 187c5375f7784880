"""A stored file as an answer."""

from collections.abc import Iterator
from pathlib import Path

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

PIECE = 1 << 16  # bytes


def file_answer(path: Path, *, name: str, content_type: str) -> StreamingHttpResponse:
    """The file under this name. Opened when it is sent, and closed with it: nobody may want it after all."""
    answer = StreamingHttpResponse(_pieces(path), content_type=content_type)
    answer["Content-Disposition"] = content_disposition_header(True, name)
    answer["Content-Length"] = path.stat().st_size
    return answer


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
