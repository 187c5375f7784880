"""Pairs as rows of a table, and back: what the integrity and transition reports are counted from."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from core.identity import canonical_json
from judges.models import ReadingState
from judges.pairing import Pair, PairState, SideReading

SIDES = ("old", "new")
READING = (
    "state",
    "verdict",
    "raw_label",
    "provenance",
    "output_agrees",
    "evidence_agrees",
    "score",
    "cache",
    "tokens",
    "cost",
)
PAIR_COLUMNS = (
    "case_id",
    "case_version",
    "slices",
    "same_content",
    "pair_state",
    *(f"{side}_{name}" for side in SIDES for name in READING),
)
ALIKE = 5000  # what is written in one way and kept, because the next case may have the same
MARKS = {None: "", True: "1", False: "0"}
MARKED = {text: mark for mark, text in MARKS.items()}


def slices_text(slices: Mapping[str, str]) -> str:
    """Few combinations of slices are those of many cases: each is written once."""
    return _written_slices(tuple(slices.items()))


@lru_cache(ALIKE)
def _written_slices(slices: tuple[tuple[str, str], ...]) -> str:
    return canonical_json(dict(slices))


def pair_row(pair: Pair) -> tuple[Any, ...]:
    """A pair as written: a side without a judgment has a blank state, one without a verdict a blank verdict."""
    case = (pair.case_id, pair.case_version, slices_text(pair.slices), MARKS[pair.same_content], str(pair.state))
    return (*case, *_reading_cells(pair.old), *_reading_cells(pair.new))


@lru_cache(ALIKE)
def _reading_cells(reading: SideReading | None) -> list[str]:
    if reading is None:
        return [""] * len(READING)
    marks = [MARKS[reading.output_agrees], MARKS[reading.evidence_agrees]]
    score, tokens, cost = (_written(number) for number in (reading.score, reading.tokens, reading.cost))
    stated = [reading.state, reading.verdict or "", reading.raw_label, reading.provenance]
    return [*stated, *marks, score, reading.cache, tokens, cost]


def _written(number: float | None) -> str:
    return "" if number is None else repr(number)


def pair_of(cells: Mapping[str, str]) -> Pair:
    """The pair that a row was made from, but for its key in the database."""
    return Pair(
        case_pk=0,
        case_id=cells["case_id"],
        case_version=int(cells["case_version"]),
        slices=json.loads(cells["slices"]),
        old=_reading(cells, "old"),
        new=_reading(cells, "new"),
        same_content=cells["same_content"] == "1",
        state=PairState(cells["pair_state"]),
    )


def _reading(cells: Mapping[str, str], side: str) -> SideReading | None:
    state, verdict, raw_label, provenance, output, evidence, score, cache, tokens, cost = (
        cells[f"{side}_{name}"] for name in READING
    )
    if not state:
        return None
    found = verdict if state == ReadingState.VALID else None
    number, spent = float(score) if score else None, float(cost) if cost else None
    marks = MARKED[output], MARKED[evidence]
    took = int(tokens) if tokens else None
    return SideReading(state, found, raw_label, provenance, *marks, number, cache, took, spent)
