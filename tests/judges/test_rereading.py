"""Two readers on the same responses: counted from what is stored and what another finds, and nothing is written."""

import pytest

from core.models import Project
from judges.models import Comparison, Mapping, Reader, Reading
from judges.rereading import Rereading, reread
from judges.services import loads
from judges.services.comparisons import comparison_open
from tests import factories
from tests.factories import judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

RESPONSES = {
    "same": "Final score: 2",
    "lenient": "I would give it 3",
    "other": "Final score: 1\nThat is 3 of the 3 that count.",
    "prose": "It does not pass.",
    "reply": "pass",
}
GRADES = {"0": "fail", "1": "fail", "2": "pass", "3": "pass"}


@pytest.fixture
def comparison(db: None) -> Comparison:
    project: Project = factories.make_project()
    rows = [
        factories.case_row(case, n, partition="smoke" if case == "reply" else "") for n, case in enumerate(RESPONSES, 1)
    ]
    system = factories.load_artifacts(factories.load_cases(project, rows))
    reader = factories.make_reader(project, parser="final-score@1", table=GRADES, name="grades")
    judgments = [judgment_row(case, None, n, raw=raw) for n, (case, raw) in enumerate(RESPONSES.items(), 1)]
    return comparison_open(
        project=project,
        name="readers",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, judgments), reader),
        new=(factories.load_run(system, judgments, "new-judge"), reader),
        labels=["fail", "pass"],
        rules=factories.RULES,
        slices=[],
        blocking_slices=[],
    )


def read(comparison: Comparison, parser: str = "last-digit@1", first: int | None = None, listed: int = 50) -> Rereading:
    return reread(
        run=comparison.old_run,
        reader=comparison.old_reader,
        other=Reader(parser=parser, mapping=Mapping.objects.get(name="grades")),
        partition="development",
        first=first,
        listed=listed,
    )


def test_counts_and_differing_rows_are_exactly_these(comparison: Comparison) -> None:
    found = read(comparison)
    assert (found.read, found.agree, found.differ) == (4, 2, 2)
    assert (found.unparsed_stored, found.unparsed_other, found.unparsed_both) == (2, 1, 1)
    assert [(row.case_id, row.raw, row.stored.words, row.other.words) for row in found.listed] == [
        ("lenient", RESPONSES["lenient"], "unparsed: no final score from 0 to 3", "pass"),
        ("other", RESPONSES["other"], "fail", "pass"),
    ]


def test_reader_agrees_with_itself(comparison: Comparison) -> None:
    found = read(comparison, "final-score@1")
    assert (found.agree, found.differ, found.listed) == (4, 0, [])


def test_another_mapping_alone_is_another_reader(comparison: Comparison) -> None:
    factories.make_reader(comparison.project, table=GRADES | {"2": "fail"}, name="strict")
    found = reread(
        run=comparison.old_run,
        reader=comparison.old_reader,
        other=Reader(parser="final-score@1", mapping=Mapping.objects.get(name="strict")),
        partition="development",
    )
    assert [(row.case_id, row.stored.verdict, row.other.verdict) for row in found.listed] == [("same", "pass", "fail")]


def test_nothing_is_written(comparison: Comparison) -> None:
    before = (Reader.objects.count(), Reading.objects.count())
    read(comparison)
    assert (Reader.objects.count(), Reading.objects.count()) == before


def test_first_responses_and_listed_rows_are_bounded(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loads, "CHUNK", 2)
    assert (read(comparison, first=3).read, read(comparison).read) == (3, 4)
    found = read(comparison, listed=1)
    assert (found.differ, [row.case_id for row in found.listed]) == (2, ["lenient"])
