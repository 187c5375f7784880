"""Pools that several tests share: the 60 reference rows, and random pools for properties."""

import json
from pathlib import Path

from hypothesis import strategies as st

from audits.stats.pool import Cell, Pool

REFERENCE = Path(__file__).parent.parent / "reference"
BINARY = {"fail": 0.0, "pass": 1.0}
LABEL = {0: "fail", 1: "pass"}


def reference(name):
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def reference_columns(kind):
    rows = reference("vectors")["rows"]
    labels = []
    for *_, done, old, new, human in rows:
        if not done:
            labels.append(None)
        else:
            labels.append((LABEL[old], LABEL[new]) if kind == "version_upgrade" else LABEL[human])
    return {
        "stratum": [row[0] for row in rows],
        "old": [LABEL[row[1]] for row in rows],
        "new": [LABEL[row[2]] for row in rows],
        "score": [row[3] for row in rows],
        "reference": labels,
    }


def reference_pool(kind):
    return Pool.from_arrays(kind=kind, scale=BINARY, **reference_columns(kind))


def swap(*, disagree=(200, {"fail": 5, "pass": 5}), agree=(1800, {"fail": 3, "pass": 27}), undecided=0, scale=BINARY):
    """A judge swap with one disagreeing and one agreeing stratum; the old judge failed every disputed case."""
    cells = (
        Cell("disagree", "fail", "pass", disagree[0], disagree[1], undecided),
        Cell("agree", "pass", "pass", agree[0], agree[1]),
    )
    return Pool(cells, "judge_swap", scale)


def mirrored(pool):
    """The same pool with the old and the new side exchanged."""
    cells = []
    for cell in pool.cells:
        labels = {key if isinstance(key, str) else key[::-1]: count for key, count in cell.labels.items()}
        cells.append(Cell(cell.stratum, cell.new, cell.old, cell.size, labels, cell.undecided, cell.structural_zero))
    return Pool(tuple(cells), pool.kind, pool.scale)


def noise(labels):
    """A judge that is noise: the same references in every cell, 4 % of 2,000 cases better and 4 % worse."""
    share = {("fail", "pass"): 0.04, ("pass", "fail"): 0.04, ("pass", "pass"): 0.6, ("fail", "fail"): 0.32}
    cells = [("fail", "fail", 300), ("pass", "pass", 1100), ("fail", "pass", 300), ("pass", "fail", 300)]
    return Pool(
        tuple(
            Cell("all", old, new, size, {key: round(part * size * labels / 2000) for key, part in share.items()})
            for old, new, size in cells
        ),
        "version_upgrade",
        BINARY,
    )


@st.composite
def pools(draw, kind, *, census=False, undecided=True, scale=("fail", "pass")):
    """A pool of one or two agreeing and disagreeing strata with random sizes and labels, each stratum with a label."""
    values = {label: index / (len(scale) - 1) for index, label in enumerate(scale)}
    cells = []
    for old in scale:
        for new in scale:
            size = draw(st.integers(1, 30))
            stratum = "agree" if old == new else "disagree"
            left = size if census else draw(st.integers(1, size))
            labels = {}
            for _ in range(draw(st.integers(1, 3))):
                one = draw(st.sampled_from(scale))
                key = one if kind == "judge_swap" else (one, draw(st.sampled_from(scale)))
                count = draw(st.integers(0, left))
                labels[key] = labels.get(key, 0) + count
                left -= count
            if not undecided or sum(labels.values()) == 0:
                labels[key] = labels.get(key, 0) + left
                left = 0
            cells.append(Cell(stratum, old, new, size, labels, left))
    return Pool(tuple(cells), kind, values)
