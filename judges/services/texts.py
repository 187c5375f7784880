"""Texts are stored once per project, under their hash."""

import zlib
from collections.abc import Iterable

from core.errors import Problem, Refused
from core.identity import text_hash
from core.models import Project
from judges.models.cases import Blob

LARGEST_QUERY = 500  # hashes asked for at once


def texts_store(*, project: Project, texts: Iterable[str]) -> list[str]:
    """Store the texts that are not there yet; the hashes come back in the order given."""
    hashed = [(text_hash(text), text) for text in texts]
    wanted = dict(hashed)
    known = _known(project, list(wanted))
    Blob.objects.bulk_create(
        [
            Blob(project=project, sha256=sha256, content=zlib.compress(text.encode("utf-8", "surrogatepass"), 1))
            for sha256, text in wanted.items()
            if sha256 not in known
        ],
        ignore_conflicts=True,  # another load may store the same text at this moment
    )
    return [sha256 for sha256, _ in hashed]


def texts_of(*, project: Project, hashes: Iterable[str]) -> dict[str, str]:
    """Texts by hash. One that retention has dropped is refused by its hash."""
    wanted = list(dict.fromkeys(hashes))
    found: dict[str, str] = {}
    for start in range(0, len(wanted), LARGEST_QUERY):
        rows = Blob.objects.filter(project=project, sha256__in=wanted[start : start + LARGEST_QUERY])
        for sha256, content in rows.values_list("sha256", "content"):
            found[sha256] = zlib.decompress(bytes(content)).decode("utf-8", "surrogatepass")
    dropped = [sha256 for sha256 in wanted if sha256 not in found]
    if dropped:
        raise Refused(Problem("the text was dropped by retention; its hash remains", value=dropped[0]))
    return found


def _known(project: Project, hashes: list[str]) -> set[str]:
    known: set[str] = set()
    for start in range(0, len(hashes), LARGEST_QUERY):
        rows = Blob.objects.filter(project=project, sha256__in=hashes[start : start + LARGEST_QUERY])
        known.update(rows.values_list("sha256", flat=True))
    return known
