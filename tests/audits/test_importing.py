"""Labels from a file, for the cases that an audit drew: all of the file, or nothing of it."""

import csv
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from adjudication.models import Item, ItemState, Queue, Reference, Review, Settlement
from adjudication.services.leases import slot_claim
from audits.exports.cells import OPENERS
from audits.exports.sample import sample_write
from audits.models import Audit
from audits.services.importing import reviews_import
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_extend, audit_register
from core.errors import InputError, Refused
from core.models import Author, Project
from judges.intake.specs import Join, ReviewColumns, ReviewSource
from judges.models import Case
from judges.services import loads
from tests import factories
from tests.factories import NOW, artifact_row, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]

SIDES = {"both": ReviewColumns({"ann": "ann", "bob": "bob"}, "final")}
UPGRADE_SIDES = {
    "baseline": ReviewColumns({"ann": "ann"}, "final"),
    "candidate": ReviewColumns({"ann": "bob"}, None),
}
Rows = Sequence[Sequence[str]]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _source(mapping: str, sides: Any, column: str | None = "id") -> dict[str, Any]:
    return asdict(ReviewSource("labels.csv", "csv", "minimal", Join(column), mapping, sides))


def _audit(project: Project, cases: int = 60, **plan: Any) -> Audit:
    """30 cases of each stratum, of which 25 and 20 are drawn."""
    verdicts = {f"q{n:02d}": ("Yes", "No" if n % 2 else "Yes") for n in range(cases)}
    plan = {"allocation": {"agree": 25, "disagree": 20}, "agree_minimum": 5} | plan
    review = {"sources": [_source("table-2@1", SIDES)]}
    audit = factories.make_audit(factories.make_swap(project, verdicts), plan=plan, review=review)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


def _file(folder: Path, rows: Rows) -> Path:
    path = folder / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "ann", "bob", "final"], *rows])
    return path


def _take_in(audit: Audit, path: Path, scope: Any = "all") -> Any:
    return reviews_import(audit=audit, paths=[path], scope=scope, actor=factories.operator(audit), now=NOW)


def _every_case(label: Callable[[int], str] = lambda n: "Yes", cases: int = 60) -> Rows:
    return [[f"q{n:02d}", label(n), label(n), ""] for n in range(cases)]


def test_drawn_only_takes_the_sample_and_counts_the_rest(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    report = _take_in(audit, _file(tmp_path, _every_case()), "drawn only")
    assert (report.not_drawn, report.imported.settled, report.imported.reviews) == (15, {"unanimous": 45}, 90)
    assert Item.objects.count() == 45
    assert set(Settlement.objects.values_list("item__draws__audit", flat=True)) == {audit.pk}


def test_all_marks_the_rest_as_outside_the_sample(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    report = _take_in(audit, _file(tmp_path, _every_case()))
    assert (report.not_drawn, report.imported.settled) == (15, {"unanimous": 60})
    outside = Item.objects.filter(draws__isnull=True)
    assert (outside.count(), set(outside.values_list("rank", "slots"))) == (15, {(None, None)})


@pytest.mark.parametrize("label", ["maybe", "=Yes", "yes", "Y\x00es"])
def test_label_outside_the_mapping_is_refused_by_row_and_column_and_nothing_is_stored(
    project: Project, tmp_path: Path, label: str
) -> None:
    audit = _audit(project)
    rows = [*_every_case()[:59], ["q59", "Yes", label, ""]]
    with pytest.raises(InputError) as caught:
        _take_in(audit, _file(tmp_path, rows))
    (problem,) = caught.value.problems
    assert (problem.row, problem.column, problem.allowed) == (60, "bob", "No, Yes")
    assert (Review.objects.count(), Settlement.objects.count()) == (0, 0)


def test_contradiction_in_the_last_chunk_takes_back_the_first(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loads, "CHUNK", 10)
    audit = _audit(project)
    _take_in(audit, _file(tmp_path, [["q59", "Yes", "Yes", ""]]))
    before = (Review.objects.count(), Settlement.objects.count(), Item.objects.count())
    with pytest.raises(InputError, match="answered the case otherwise before"):
        _take_in(audit, _file(tmp_path, [*_every_case()[:59], ["q59", "No", "Yes", ""]]))
    assert before == (Review.objects.count(), Settlement.objects.count(), Item.objects.count())
    audit.queue.refresh_from_db()
    assert audit.queue.settled == 1


def test_sample_as_it_was_exported_comes_back_labelled_and_adds_nothing_twice(project: Project, tmp_path: Path) -> None:
    """BEHAVIOUR 30: whatever a spreadsheet would run in an id was neutralised, and is read without."""
    odd = ["=1+1", "+1", "-1", "@sum", "'quoted", "'=x", "\tx", 'a "b", c', "two\nlines", "שלום 漢字 🙂"]
    review = {"sources": [_source("table-2@1", SIDES)]}
    audit = factories.make_audit(factories.make_swap(project, dict.fromkeys(odd, ("Yes", "No"))), review=review)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    sample_write(audit, tmp_path / "sample.csv")
    with (tmp_path / "sample.csv").open(newline="", encoding="utf-8") as file:
        cells = [row["case_id"] for row in csv.DictReader(file)]
    assert (len(cells), [cell for cell in cells if cell[:1] in OPENERS - {"'"}]) == (len(odd), [])
    path = _file(tmp_path, [[cell, "Yes", "Yes", ""] for cell in cells])
    assert _take_in(audit, path, "drawn or refused").imported.reviews == 2 * len(odd)
    settled = Reference.objects.values_list("settlement__item__case__case_id", flat=True)
    assert sorted(settled) == sorted(odd)
    again = _take_in(audit, path, "drawn or refused").imported
    assert (again.reviews, again.duplicate, Review.objects.count()) == (0, 2 * len(odd), 2 * len(odd))


def test_draft_takes_no_labels(project: Project, tmp_path: Path) -> None:
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    with pytest.raises(Refused, match="still a draft"):
        _take_in(audit, _file(tmp_path, []))


@pytest.mark.parametrize("name", ["other.csv", "labels.csv"])
def test_file_that_is_not_there_is_refused(project: Project, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        _take_in(_audit(project), tmp_path / name)


def test_sides_of_an_upgrade_go_to_their_own_artifacts(project: Project, tmp_path: Path) -> None:
    upgrade = factories.make_upgrade(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")})
    audit = factories.make_audit(upgrade, review={"sources": [_source("yes-no@1", UPGRADE_SIDES)]})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    report = _take_in(audit, _file(tmp_path, [["a", "No", "Yes", "No"], ["b", "Yes", "", ""]]))
    assert (report.imported.settled, report.imported.waiting) == ({"adjudicated": 1}, 1)
    assert dict(Reference.objects.values_list("artifact__system_version__name", "label")) == {
        "v1": "fail",
        "v2": "pass",
    }


def test_label_of_a_case_without_artifact_is_refused_by_row(project: Project, tmp_path: Path) -> None:
    upgrade_set = factories.load_cases(project, ["a", "b"], "questions")
    reader = factories.make_reader(project)
    systems = [
        factories.load_artifacts(upgrade_set, "v1"),
        factories.load_artifacts(upgrade_set, "v2", [artifact_row("a", 1, "new answer")]),
    ]
    runs = [factories.load_run(system, factories.judged({"a": "Yes"})) for system in systems]
    comparison = factories.compare(project, reader, runs, name="upgrade-1", kind="version_upgrade")
    audit = factories.make_audit(comparison, review={"sources": [_source("yes-no@1", UPGRADE_SIDES)]})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    with pytest.raises(InputError) as caught:
        _take_in(audit, _file(tmp_path, [["a", "Yes", "Yes", ""], ["b", "Yes", "Yes", ""]]))
    (problem,) = caught.value.problems
    assert (problem.file, problem.row, problem.value) == ("labels.csv", 2, "b")
    assert Review.objects.count() == 0


def test_labels_joined_by_row_follow_the_order_of_the_case_file(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    audit.review["sources"] = [_source("table-2@1", SIDES, column=None)]
    path = _file(tmp_path, [["x", "Yes" if n == 17 else "No", "", ""] for n in range(60)])
    _take_in(audit, path)
    assert list(Reference.objects.filter(label="pass").values_list("artifact__case__case_id", flat=True)) == ["q17"]
    with pytest.raises(InputError, match="cannot be joined by row"):
        _take_in(audit, _file(tmp_path, [["x", "No", "", ""]] * 59))


def test_case_drawn_later_brings_the_label_it_has_already(project: Project, tmp_path: Path) -> None:
    audit = _audit(project, policy="anytime", half_width=0.05)
    _take_in(audit, _file(tmp_path, _every_case(lambda n: "Yes" if n % 3 else "No")))
    assert looks_bring_up_to_date(audit=audit, clock=lambda: NOW) == 1
    audit_extend(audit=audit, labels={"agree": 30}, actor=factories.operator(audit), now=NOW)
    assert audit.draws.filter(item__state=ItemState.OPEN).count() == 0
    assert Item.objects.filter(rank=None).count() == 10
    assert Case.objects.filter(draws__audit=audit).count() == 50
    assert looks_bring_up_to_date(audit=audit, clock=lambda: NOW) == 1
    assert list(audit.looks.order_by("pk").values_list("watermark", "labels")) == [(60, 45), (60, 50)]


def _import_or_review(work: tuple[Audit, Path | None, Author | None]) -> int:
    audit, path, person = work
    connection.close()
    loads.CHUNK = 5
    if person is None:
        assert path is not None
        return int(_take_in(audit, path).imported.reviews)
    answered = 0
    while lease := slot_claim(queue=audit.queue, actor=person, now=NOW):
        submit(lease)
        answered += 1
    return answered


@pytest.mark.django_db(transaction=True)
def test_import_among_reviewers_at_work_settles_every_item_once(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    path = _file(tmp_path, [[case, "Yes", "Yes", "Yes"] for case, *_ in reversed(_every_case())])
    people = [factories.make_person(project, f"p{n}") for n in range(4)]
    connection.close()
    with multiprocessing.get_context("fork").Pool(5) as pool:
        pool.map(_import_or_review, [*[(audit, None, person) for person in people], (audit, path, None)], chunksize=1)
    queue = Queue.objects.get(pk=audit.queue_id)
    numbers = list(Settlement.objects.filter(queue=queue).order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, 61))
    assert queue.settled == 60
    assert Settlement.objects.values("item").distinct().count() == 60


def test_label_of_a_case_outside_the_pool_is_refused_by_row_and_value(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    rows = _every_case()
    with pytest.raises(InputError) as caught:
        _take_in(audit, _file(tmp_path, [*rows, ["q99", "Yes", "Yes", ""]]))
    (problem,) = caught.value.problems
    assert (problem.file, problem.row, problem.value) == ("labels.csv", len(rows) + 1, "q99")
    assert Review.objects.count() == 0
