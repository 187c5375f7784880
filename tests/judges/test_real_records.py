"""Real nested files: what a correct reading of them gives."""

from collections import Counter
from pathlib import Path

import pytest

from judges.intake.readers import Format, Table, read_rows

pytestmark = pytest.mark.real_data


def test_log_with_a_bare_nan_is_read(real_data: Path) -> None:
    path = real_data / "inspect" / "log_with_nan.txt"
    (row,) = read_rows(Table(path, "json", fields=("status", "results.metrics.accuracy.value")))
    assert row.cells == {"status": "success", "results.metrics.accuracy.value": "NaN"}


@pytest.mark.parametrize(
    ("file", "samples"),
    [
        ("2025-05-12T20-28-13-04-00_popularity.json", 3),
        ("2025-05-12T20-28-26-04-00_security-guide.json", 3),
        ("2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval", 10),
    ],
)
def test_labels_of_an_inspect_log_give_the_accuracy_that_it_states(real_data: Path, file: str, samples: int) -> None:
    kind: Format = "eval" if file.endswith(".eval") else "json"
    fields = ("[].scores.*.value", "results.scores[0].metrics.accuracy.value")
    rows = [row.cells for row in read_rows(Table(real_data / "inspect" / file, kind, rows="samples", fields=fields))]
    labels, (stated,) = [row[fields[0]] for row in rows], {row[fields[1]] for row in rows}
    assert (len(labels), labels.count("C") / samples) == (samples, float(stated))


def test_one_notion_of_three_types_is_three_kinds_of_text(real_data: Path) -> None:
    path = real_data / "summhay" / "eval_benchmark_data.json"
    table = Table(path, "json", rows="predictions_prompted_claude3-haiku", fields=("[].bullet_id",))
    texts = Counter("list" if text.startswith("[") else "NA" if text == "NA" else "number" if text.isdigit() else text
                    for text in (row.cells["[].bullet_id"] for row in read_rows(table)))  # fmt: skip
    assert texts == {"number": 1289, "list": 104, "NA": 26}
