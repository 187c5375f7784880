"""A packet as tables and facts, read from its file alone."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

import numpy as np

from audits.exports.cells import recovered
from audits.frames import FrameRow, pools_by_slice
from audits.outcomes import Labels
from audits.packets.archive import Archive
from audits.packets.contents import (
    CASES,
    DIAGNOSES,
    FACTS,
    FRAME,
    LOOKS,
    PAIRS,
    SETTLEMENTS,
    CaseLine,
    DiagnosisLine,
    SettlementLine,
)
from audits.packets.pairs import pair_of
from audits.plans import predictor_of
from audits.stats.columns import Coded, Integers, settled_prefixes
from audits.stats.pool import Key, Pool
from judges.models import Comparison
from judges.pairing import Pair

Line = TypeVar("Line")
PARSED: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    bool: lambda text: {"True": True, "False": False}[text],
    float | None: lambda text: float(text) if text else None,
}


class Packet:
    """What a packet states. Raises KeyError, ValueError or TypeError where a table is not of the shape it must have."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def json(self, name: str) -> Any:
        return json.loads(self.archive.text(name))

    def rows(self, name: str) -> Iterator[dict[str, str]]:
        for row in csv.DictReader(self.archive.lines(name), strict=True):
            yield {column: recovered(cell) for column, cell in row.items()}

    def records(self, name: str, record: type[Line]) -> list[Line]:
        types = get_type_hints(record)
        return [record(**{name: PARSED[kind](row[name]) for name, kind in types.items()}) for row in self.rows(name)]

    @cached_property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self.json(FACTS)
        return facts

    @cached_property
    def is_swap(self) -> bool:
        return bool(self.facts["kind"] == "judge_swap")

    @cached_property
    def comparison(self) -> Comparison:
        """As far as pairs are counted by it; it is in no database."""
        names = ("kind", "labels", "rules", "slices", "blocking_slices")
        return Comparison(**{name: self.facts[name] for name in names})

    @cached_property
    def scale(self) -> dict[str, float | None]:
        return {entry["label"]: entry["value"] for entry in self.facts["rubric"]["scale"]}

    @cached_property
    def cases(self) -> list[CaseLine]:
        return self.records(CASES, CaseLine)

    @cached_property
    def pairs(self) -> list[Pair]:
        return [pair_of(row) for row in self.rows(PAIRS)]

    @cached_property
    def frame(self) -> list[FrameRow]:
        return self.records(FRAME, FrameRow)

    @cached_property
    def settlements(self) -> list[SettlementLine]:
        return sorted(self.records(SETTLEMENTS, SettlementLine), key=lambda line: line.number)

    @cached_property
    def diagnoses(self) -> list[DiagnosisLine]:
        return self.records(DIAGNOSES, DiagnosisLine)

    def labels(self, line: SettlementLine) -> Labels:
        """Of both sides: a swap has one artifact for both."""
        return (line.label_new, line.label_new) if self.is_swap else (line.label_old, line.label_new)

    @cached_property
    def registrations(self) -> dict[int, dict[str, int]]:
        """Labels drawn in all, by stratum, for each registration."""
        return {one["n"]: one["labels"] for one in self.facts["registrations"]}

    @cached_property
    def looks(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.archive.lines(LOOKS)]

    def key(self, line: SettlementLine) -> Key | None:
        """The reference of a decision; None where it left an artifact without one."""
        if not line.label_new or not line.label_old:
            return None
        return line.label_new if self.is_swap else (line.label_old, line.label_new)


@dataclass
class Settled:
    """The frame with the decisions made so far; goes forward from one look to the next."""

    packet: Packet

    def __post_init__(self) -> None:
        rows = self.packet.frame
        self._columns = {
            "stratum": Coded.of([row.stratum for row in rows]),
            "old": Coded.of([row.old for row in rows]),
            "new": Coded.of([row.new for row in rows]),
        }
        scored = predictor_of(self.packet.facts["plan"]) == "score"
        self._score = np.array([row.score for row in rows], dtype=float) if scored else None
        self._identical = np.array([row.same_content for row in rows], dtype=bool)
        self._places = np.array([row.position for row in rows], dtype=np.intp)
        self._row_of = {(row.case_id, row.case_version): place for place, row in enumerate(rows)}
        self._keys = Coded[Key].of([self.packet.key(line) for line in self.packet.settlements])
        self._done = np.zeros(len(rows), dtype=bool)
        self._answer: Integers = np.full(len(rows), -1, dtype=np.intp)
        found = {(case.case_id, case.case_version): json.loads(case.slices) for case in self.packet.cases}
        self._slices = [found[row.case_id, row.case_version] for row in rows]
        self._reached = 0

    def forward(self, watermark: int) -> None:
        """Take in the decisions up to this number; a later one on a case replaces the earlier."""
        lines = self.packet.settlements
        while self._reached < len(lines) and lines[self._reached].number <= watermark:
            line = lines[self._reached]
            row = self._row_of.get((line.case_id, line.case_version))
            if row is not None:
                self._done[row] = True
                self._answer[row] = self._keys.codes[self._reached]
            self._reached += 1

    def pool(self, registration: int) -> Pool:
        """What an estimate is computed from, with the cases drawn up to a registration."""
        return Pool.from_arrays(
            kind=self.packet.facts["kind"],
            scale=self.packet.scale,
            **self._columns,  # type: ignore[arg-type]
            reference=Coded(self._answer, self._keys.names),
            settled=self._done,
            position=self._drawn(registration),
            identical=None if self.packet.is_swap else self._identical,
            score=self._score,
        )

    def slices(self, registration: int) -> dict[str, Pool]:
        """The same by slice: what counts is the settled prefix of the whole stratum."""
        stratum = self._columns["stratum"]
        prefix = settled_prefixes(self._drawn(registration), self._done, stratum.codes, len(stratum.names))
        counts = np.zeros(self._done.size, dtype=bool)
        counts[prefix.rows] = True
        return pools_by_slice(
            self.packet.facts["slices"],
            self._slices,
            kind=self.packet.facts["kind"],
            scale=self.packet.scale,
            coded={**self._columns, "reference": Coded(np.where(counts, self._answer, -1), self._keys.names)},
            marks={"settled": counts, "identical": self._identical},
        )

    def _drawn(self, registration: int) -> Integers:
        """Each case's place in the order of its stratum; -1 where it was not drawn."""
        labels, stratum = self.packet.registrations[registration], self._columns["stratum"]
        drawn = np.array([labels.get(name, 0) for name in stratum.names])
        return np.where(self._places <= drawn[stratum.codes], self._places, -1)
