"""An anchor set as a file, streamed: CSV, JSON Lines or Parquet, each with the set's name, version, licence and hash in
every row, so that a file by itself says what it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audits.anchorsets import COLUMNS, SET_COLUMNS, Record, records_of
from audits.exports.anchorcards import card_markdown
from audits.exports.tables import CONTENT_TYPES, FORMATS, csv_lines
from audits.models import AnchorSet
from core.batches import batches
from core.identity import canonical_bytes

SET_FORMATS = (*FORMATS, "parquet")
CARDS = ("json", "md")
SET_TYPES = CONTENT_TYPES | {
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}
ROWS = 2000  # of a Parquet file that are written together
WHOLE_NUMBERS = ("reference_id", "case_version", "position", "anchor_set_version")
NUMBERS = ("value", "inclusion_probability")


def set_bytes(anchor_set: AnchorSet, kind: str) -> Iterator[bytes]:
    """The file, piece by piece."""
    rows = _rows(anchor_set)
    if kind == "parquet":
        return _parquet(rows)
    if kind == "jsonl":
        return (canonical_bytes(json.dumps(row, ensure_ascii=False) + "\n") for row in rows)
    return map(canonical_bytes, csv_lines((*COLUMNS, *SET_COLUMNS), (row.values() for row in rows)))


def card_text(anchor_set: AnchorSet, kind: str) -> str:
    card = json.loads(anchor_set.card_text)
    return card_markdown(card) if kind == "md" else json.dumps(card, indent=2, ensure_ascii=False) + "\n"


def set_write(anchor_set: AnchorSet, path: Path, kind: str) -> list[Path]:
    """Write the file, and both forms of its card beside it."""
    with path.open("wb") as file:
        file.writelines(set_bytes(anchor_set, kind))
    cards = [path.with_suffix(f".card.{form}") for form in CARDS]
    for card, form in zip(cards, CARDS, strict=True):
        card.write_text(card_text(anchor_set, form), encoding="utf-8")
    return [path, *cards]


def _rows(anchor_set: AnchorSet) -> Iterator[Record]:
    said = {
        "anchor_set": anchor_set.name,
        "anchor_set_version": anchor_set.version,
        "licence": anchor_set.licence,
        "content_hash": anchor_set.content_hash,
    }
    for record in records_of(anchor_set):
        yield {name: record[name] for name in COLUMNS} | said


def _parquet(rows: Iterator[Record]) -> Iterator[bytes]:
    import pyarrow  # slow to import, and most files are none
    from pyarrow import parquet

    kinds = dict.fromkeys(WHOLE_NUMBERS, pyarrow.int64()) | dict.fromkeys(NUMBERS, pyarrow.float64())
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in (*COLUMNS, *SET_COLUMNS)])
    written = _Written()
    with parquet.ParquetWriter(pyarrow.PythonFile(written, mode="w"), schema, compression="zstd") as writer:
        for batch in batches(rows, ROWS):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            yield written.taken()
    yield written.taken()


class _Written:
    """A file that gives away what was written to it."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        self._size += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
