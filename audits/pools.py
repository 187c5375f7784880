"""A pool as a file: one row per eligible case, from which an estimate can be made again without a database.

Columns: `case_id, stratum, position, old, new, settled`, then `reference` (judge swap) or `reference_old,
reference_new` (version upgrade); optional `identical` (1 where an upgrade's two artifacts are byte-identical) and
`score`. `position` is the place in the stratum's permanent random order, from 1, blank where the case was not drawn;
`settled` is 1, 0 or `underspecified`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from audits.exports.cells import recovered
from audits.stats.pool import Key, Kind, Pool
from core.errors import Problem
from judges.intake.problems import Problems
from judges.intake.readers import Row, Table, read_header, read_rows

FRAME = ("case_id", "stratum", "position", "old", "new", "settled")
REFERENCES: dict[Kind, tuple[str, ...]] = {
    "judge_swap": ("reference",),
    "version_upgrade": ("reference_old", "reference_new"),
}
SETTLED = {"1": True, "0": False, "underspecified": True}
USUAL_VALUES = {"fail": 0.0, "pass": 1.0}

Scale = Mapping[str, float | None]


@dataclass
class _Columns:
    case_id: set[str] = field(default_factory=set)
    stratum: list[str] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    settled: list[bool] = field(default_factory=list)
    reference: list[Key | None] = field(default_factory=list)
    identical: list[bool] = field(default_factory=list)
    score: list[float] = field(default_factory=list)


def pool_read(path: Path, *, scale: Scale | None = None) -> Pool:
    """Read a pool file: see `drawn_pool_read`."""
    return drawn_pool_read(path, scale=scale)[0]


def drawn_pool_read(path: Path, *, scale: Scale | None = None) -> tuple[Pool, int]:
    """Read a pool file, and how many of its cases were drawn. Without a scale, its labels count as themselves where
    they are numbers, `fail` and `pass` as 0 and 1, and any other label as nothing.

    Raises `InputError` with every problem: file, row, column, value, what is allowed.
    """
    problems = Problems()
    table = Table(path, "csv")
    header = read_header(table, problems=problems)
    problems.raise_if_any()
    kind = _kind(header, path, problems)
    has_score = "score" in header
    columns = _Columns()
    for row in read_rows(table, problems=problems):
        row.cells.update({column: recovered(text) for column, text in row.cells.items()})
        _take(columns, row, kind, has_score, path, problems)
    if not columns.old and not problems.total:
        problems.add(Problem("there is no data row", file=path.name))
    problems.raise_if_any()
    pool = Pool.from_arrays(
        kind=kind,
        scale=scale or _scale_of(columns),
        stratum=columns.stratum,
        old=columns.old,
        new=columns.new,
        reference=columns.reference,
        settled=columns.settled,
        position=columns.position,
        identical=columns.identical if kind == "version_upgrade" else None,
        score=columns.score if has_score else None,
    )
    return pool, sum(position > 0 for position in columns.position)


def _kind(header: list[str], path: Path, problems: Problems) -> Kind:
    kinds = [kind for kind, names in REFERENCES.items() if set(names) <= set(header)]
    missing = [name for name in FRAME if name not in header]
    for name in missing:
        problems.add(Problem("a column is missing", file=path.name, column=name, allowed=", ".join(FRAME)))
    if len(kinds) != 1:
        allowed = "reference (judge swap), or reference_old and reference_new (version upgrade)"
        problems.add(Problem("the file does not say which kind of comparison it is", file=path.name, allowed=allowed))
    problems.raise_if_any()
    return kinds[0]


def _take(columns: _Columns, row: Row, kind: Kind, has_score: bool, path: Path, problems: Problems) -> None:
    faults = list(_faults(columns, row, kind, has_score))
    for column, what, allowed in faults:
        problems.add(Problem(what, path.name, row.number, column, value=row.cells[column], allowed=allowed))
    if faults:
        return
    cells = row.cells
    columns.case_id.add(cells["case_id"])
    columns.stratum.append(cells["stratum"])
    columns.position.append(int(cells["position"] or -1))
    columns.old.append(cells["old"])
    columns.new.append(cells["new"])
    columns.settled.append(SETTLED[cells["settled"]])
    columns.reference.append(_reference(cells, kind))
    columns.identical.append(cells.get("identical", "") == "1")
    if has_score:
        columns.score.append(float(cells["score"]))


def _faults(columns: _Columns, row: Row, kind: Kind, has_score: bool) -> Iterator[tuple[str, str, str]]:
    """(column, what, allowed) of everything that is wrong with a row."""
    cells = row.cells
    if cells["case_id"] in columns.case_id:
        yield "case_id", "the case stands in an earlier row", "one row per case"
    for column in ("case_id", "stratum", "old", "new"):
        if not cells[column]:
            yield column, "blank", "a text"
    if cells["position"] and not (cells["position"].isdecimal() and int(cells["position"]) > 0):
        yield "position", "not a place in an order", "a whole number from 1, or blank where the case was not drawn"
    if cells["settled"] not in SETTLED:
        yield "settled", "not a state", ", ".join(SETTLED)
    elif cells["settled"] != "0" and not cells["position"]:
        yield "position", "a settled case was not drawn", "its place in the order of its stratum"
    for column in REFERENCES[kind]:
        if (cells[column] == "") != (cells["settled"] in ("0", "underspecified")) and cells["settled"] in SETTLED:
            yield column, "the reference does not fit `settled`", "a label exactly where settled is 1"
    if "identical" in cells and cells["identical"] not in ("", "0", "1"):
        yield "identical", "not a mark", "1, 0 or blank"
    if has_score and not _is_number(cells["score"]):
        yield "score", "not a number", "a number for every case"


def _reference(cells: Mapping[str, str], kind: Kind) -> Key | None:
    labels = tuple(cells[column] for column in REFERENCES[kind])
    if "" in labels:
        return None
    return labels[0] if kind == "judge_swap" else (labels[0], labels[1])


def _scale_of(columns: _Columns) -> dict[str, float | None]:
    labels = {*columns.old, *columns.new}
    for key in columns.reference:
        labels |= {key} if isinstance(key, str) else set(key or ())
    return {label: _value(label) for label in sorted(labels)}


def _value(label: str) -> float | None:
    return float(label) if _is_number(label) else USUAL_VALUES.get(label)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def scale_parse(text: str) -> dict[str, float | None]:
    """`fail=0,review=,pass=1`: the labels in order, with what each counts as (blank: nothing)."""
    scale: dict[str, float | None] = {}
    problems = Problems()
    for entry in text.split(","):
        label, sign, value = entry.rpartition("=")
        label = label.strip()
        if not sign or not label or label in scale or (value.strip() and not _is_number(value)):
            allowed = "LABEL=VALUE with commas between, each label once, the value a number or blank"
            problems.add(Problem("not a scale", key="--scale", value=entry, allowed=allowed))
            continue
        scale[label] = float(value) if value.strip() else None
    problems.raise_if_any()
    return scale


def scale_text(scale: Scale) -> str:
    """A scale as `scale_parse` reads it, to the last digit."""
    return ",".join(f"{label}={'' if value is None else _digits(value)}" for label, value in scale.items())


def _digits(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def pool_columns(kind: Kind, *, scored: bool = False) -> list[str]:
    return [*FRAME, *REFERENCES[kind], "identical", *(["score"] if scored else [])]
