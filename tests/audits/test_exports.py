"""Gold anchors leave the house whole: every reference in force, its identity, how it was sampled and settled."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from adjudication.models import Label, Reference, Review
from adjudication.services.undo import review_undo
from audits.exports import anchors, tables
from audits.exports.anchorfiles import set_write
from audits.exports.anchors import anchor_lines, anchors_of, anchors_write
from audits.exports.cells import neutral, recovered
from audits.exports.reviews import review_lines, reviews_of
from audits.exports.tables import csv_lines, lines_write
from audits.models import Audit, Job
from audits.services.anchorsets import anchor_set_make
from audits.services.registering import audit_register
from core.identity import sequence_hash, text_hash
from core.models import Project, Role
from judges.models import Artifact
from tests import factories
from tests.factories import NOW, answer, claim, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ODD = ["=1+1", "+1", "-1", "@sum", "'quoted", "'=x", "plain", 'a "b", c', "é", "שלום", "漢字 🙂", "a;b"]
CELLS = st.one_of(st.none(), st.integers(), st.floats(), st.booleans(), st.text("=+-@\t\r\n',\"aé🙂 ", max_size=4))


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _audit(project: Project, cases: list[str], **changes: Any) -> Audit:
    audit = factories.make_audit(factories.make_swap(project, dict.fromkeys(cases, ("Yes", "No"))), **changes)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("text", [*ODD, "", "''", "'", "\t=", "'\tx", "\rx", "=", "''=1"])
def test_neutral_cell_runs_nowhere_and_is_recovered_exactly(text: str) -> None:
    assert not neutral(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert recovered(neutral(text)) == text


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5), st.integers(1, 3))
def test_table_is_written_as_the_library_writes_its_neutral_cells(rows: list[tuple[Any, ...]], together: int) -> None:
    """However many are looked at together; one that is a number stays one, whatever it begins with."""
    neutral_rows = [[neutral(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TOGETHER", together)
        lines = list(csv_lines(["a", "b", "c"], rows))
    for line, row in zip(lines, [["a", "b", "c"], *neutral_rows], strict=True):
        expected = io.StringIO(newline="")
        csv.writer(expected).writerow(row)
        assert line == expected.getvalue().removesuffix("\r\n") + "\n"


def test_csv_neutralises_what_a_spreadsheet_would_run_and_gives_it_back(project: Project, tmp_path: Path) -> None:
    """BEHAVIOUR 30."""
    audit = _audit(project, ODD)
    person = factories.make_person(project, "ann")
    for _ in ODD:
        answer(audit.queue, person)
    path = tmp_path / "anchors.csv"
    assert anchors_write(audit, path, "csv")["anchors"] == len(ODD) == Reference.objects.count()
    cells = [row["case_id"] for row in _read_csv(path)]
    assert [recovered(cell) for cell in cells] == ODD
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_export_begins_before_all_is_read_and_has_as_many_rows_as_the_database(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BEHAVIOUR 29; with 100,000 cases: `python -m benchmarks.export`."""
    audit = _audit(project, [f"q{n:02d}" for n in range(30)], review={"double_review_share": 1.0})
    for person in [factories.make_person(project, name) for name in ("ann", "ben")]:
        for _ in range(30):
            answer(audit.queue, person)
    lead = Client()
    lead.force_login(factories.make_person(project, "lea", Role.LEAD).user)
    address = f"/p/{project.name}/audits/{audit.name}"
    monkeypatch.setattr(anchors, "BATCH", 5)
    monkeypatch.setattr(tables, "TOGETHER", 5)
    streamed = lead.get(f"{address}/anchors.csv")
    pieces = iter(streamed.streaming_content)
    with CaptureQueriesContext(connection) as first:
        begun = [next(pieces) for _ in range(3)]
    with CaptureQueriesContext(connection) as later:
        rows = [*begun, *pieces][1:]
    assert (streamed.streaming, len(rows)) == (True, Reference.objects.count())
    assert 0 < len(first) < len(later)
    answers = lead.get(f"{address}/reviews.csv")
    assert (answers.streaming, len(list(answers.streaming_content)) - 1) == (True, Label.objects.count())
    assert Label.objects.count() == 2 * Reference.objects.count() == 60
    asked = lead.post(f"{address}/packet")
    job = Job.objects.get()
    assert (asked["Location"], job.kind, job.state) == (f"/p/{project.name}/jobs/{job.pk}", "packet", "waiting")


FORMATS = ("anchors.csv", "anchors.jsonl", "set.csv", "set.jsonl", "set.parquet", "reviews.csv", "reviews.jsonl")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_joins_back_to_its_input_without_an_orphan(project: Project, tmp_path: Path, name: str) -> None:
    """BEHAVIOUR 31."""
    audit = factories.make_audit(factories.make_upgrade(project, dict.fromkeys([*ODD, "nobody"], ("Yes", "No"))))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann, ben = (factories.make_person(project, person) for person in ("ann", "ben"))
    for _ in range(len(ODD) + 1):
        lease = claim(audit.queue, ann)
        submit(lease, None if (unjudged := lease.item.case.case_id == "nobody") else "pass")
        if unjudged:
            answer(audit.queue, ben, None)
    rows = _exported(audit, tmp_path / name)
    of_reviews = name.startswith("reviews")
    sent = {(one.case.case_id, one.output_hash) for one in Artifact.objects.select_related("case")}
    judged = {key for key in sent if key[0] != "nobody"}
    assert {(row["case_id"], row["output_hash"]) for row in rows} == (sent if of_reviews else judged)
    assert len(rows) == (2 * len(ODD) + 4 if of_reviews else 2 * len(ODD))
    ours, model = ("review_id", Review) if of_reviews else ("reference_id", Reference)
    assert {int(row[ours]) for row in rows} == set(model.objects.values_list("pk", flat=True))
    assert {(row["rubric"], str(row["rubric_version"]), row["how_sampled"]) for row in rows} == {
        ("right", "1", "drawn")
    }
    assert {row["how_settled"] for row in rows} == ({"single", "underspecified"} if of_reviews else {"single"})


def _exported(audit: Audit, path: Path) -> list[dict[str, Any]]:
    what, kind = path.stem, path.suffix.removeprefix(".")
    if what == "set":
        made = anchor_set_make(audit=audit, name="gold", licence="x", actor=factories.operator(audit), now=NOW)
        set_write(made, path, kind)
    else:
        lines_write(path, kind, anchor_lines(audit, kind) if what == "anchors" else review_lines(audit, kind))
    if kind == "parquet":
        return list(parquet.read_table(path).to_pylist())
    if kind == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    return [{column: recovered(cell) for column, cell in row.items()} for row in _read_csv(path)]


def test_jsonl_says_exactly_what_is_stored(project: Project, tmp_path: Path) -> None:
    audit = _audit(project, ["=1+1", "b"])
    answer(audit.queue, factories.make_person(project, "ann"), "fail")
    draw = audit.draws.get(item__state="settled")
    path = tmp_path / "anchors.jsonl"
    assert anchors_write(audit, path, "jsonl") == {
        "file": str(path),
        "anchors": 1,
        "underspecified_items_without_anchor": 0,
    }
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "reference_id": Reference.objects.get().pk,
        "case_set": "cases",
        "case_set_version": "1",
        "case_id": draw.case.case_id,
        "case_version": 1,
        "input_hash": text_hash(f"question {draw.case.case_id}"),
        "system_version": "v1",
        "output_hash": text_hash(f"answer {draw.case.case_id}"),
        "evidence_hash": sequence_hash([]),
        "rubric": "right",
        "rubric_version": "1",
        "rubric_hash": audit.rubric.content_hash,
        "label": "fail",
        "value": 0.0,
        "how_settled": "single",
        "labelled_by": "1 member",
        "settled_at": NOW.isoformat(),
        "how_sampled": "drawn",
        "stratum": "disagree",
        "position": draw.position,
        "inclusion_probability": 1.0,
        "rationale": "",
        "reused_from": "",
    }


def test_both_formats_hold_the_same_rows_in_the_order_of_the_case_set(project: Project, tmp_path: Path) -> None:
    audit = _audit(project, ODD)
    person = factories.make_person(project, "ann")
    for n in range(len(ODD)):
        answer(audit.queue, person, "pass" if n % 2 else "fail")
    table, lines = tmp_path / "a.csv", tmp_path / "a.jsonl"
    anchors_write(audit, table, "csv")
    anchors_write(audit, lines, "jsonl")
    objects = [json.loads(line) for line in lines.read_text(encoding="utf-8").split("\n")[:-1]]
    rows = [{name: recovered(cell) for name, cell in row.items()} for row in _read_csv(table)]
    assert rows == [{name: str(value) for name, value in one.items()} for one in objects]
    assert [one["case_id"] for one in objects] == ODD


def test_rationale_is_of_those_who_decided(project: Project) -> None:
    audit = _audit(project, ["a", "b"], review={"double_review_share": 1.0})
    ann, ben = (factories.make_person(project, name) for name in ("ann", "ben"))
    ada = factories.make_person(project, "ada", Role.ADJUDICATOR)
    for person, label in ((ann, "fail"), (ben, "pass")):
        submit(claim(audit.queue, person), label, rationale=f"{label} for {person.pk}")
    submit(claim(audit.queue, ada), "pass", rationale="it passes")
    for person in (ann, ben):
        submit(claim(audit.queue, person), "fail", rationale="it fails")
    assert sorted(anchor.rationale for anchor in anchors_of(audit)) == ["it fails\n\nit fails", "it passes"]


def test_underspecified_case_is_counted_and_never_an_anchor(project: Project, tmp_path: Path) -> None:
    audit = _audit(project, ["a", "b"])
    people = [factories.make_person(project, name) for name in ("ann", "ben")]
    for person in people:
        answer(audit.queue, person, None)
    answer(audit.queue, people[0], "pass")
    written = anchors_write(audit, tmp_path / "a.csv", "csv")
    assert (written["anchors"], written["underspecified_items_without_anchor"]) == (1, 1)
    assert [anchor.how_settled for anchor in anchors_of(audit)] == ["single"]


def test_inclusion_probability_is_the_share_drawn_of_the_stratum(project: Project) -> None:
    cases = [f"q{n:02d}" for n in range(40)]
    plan = {"allocation": {"disagree": 25, "agree": "all"}}
    audit = _audit(project, cases, plan=plan)
    answer(audit.queue, factories.make_person(project, "ann"))
    (anchor,) = anchors_of(audit)
    assert (anchor.inclusion_probability, anchor.position) == (25 / 40, 1)


def test_upgrade_gives_an_anchor_for_each_side(project: Project) -> None:
    audit = factories.make_audit(factories.make_upgrade(project, {"a": ("Yes", "No")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    answer(audit.queue, factories.make_person(project, "ann"))
    assert [(anchor.system_version, anchor.output_hash) for anchor in anchors_of(audit)] == [
        ("v1", text_hash("answer a")),
        ("v2", text_hash("better answer a")),
    ]


def test_project_s_anchors_are_its_own(project: Project) -> None:
    one, other = _audit(project, ["a"]), _audit(factories.make_project("other"), ["b"])
    answer(other.queue, factories.make_person(other.project, "ann"))
    assert (list(anchors_of(one)), len(list(anchors_of(other)))) == ([], 1)


def test_three_people_who_answer_differently_stand_under_their_names_as_they_answered(
    project: Project, tmp_path: Path
) -> None:
    """BEHAVIOUR 36."""
    audit = _audit(project, ["a"], review={"double_review_share": 1.0})
    ann, ben = (factories.make_person(project, name) for name in ("ann", "ben"))
    ada = factories.make_person(project, "ada", Role.ADJUDICATOR)
    submit(claim(audit.queue, ann), "fail", reasons=["rubric boundary"], rationale="=HYPERLINK()\n🙂", seconds=7)
    submit(claim(audit.queue, ben), "pass")
    submit(claim(audit.queue, ada), None)
    rows = list(reviews_of(audit))
    assert [(row.author, row.kind, row.answer, row.label) for row in rows] == [
        ("p-ann", "review", "label", "fail"),
        ("p-ben", "review", "label", "pass"),
        ("p-ada", "adjudication", "cannot judge", None),
    ]
    first = rows[0]
    assert (first.reasons, first.rationale, first.seconds) == ("rubric boundary", "=HYPERLINK()\n🙂", 7)
    assert {(row.how_sampled, row.how_settled, row.standing) for row in rows} == {("drawn", "underspecified", "counts")}
    path = tmp_path / "reviews.csv"
    assert lines_write(path, "csv", review_lines(audit, "csv")) == 3
    assert recovered(_read_csv(path)[0]["rationale"]) == "=HYPERLINK()\n🙂"


def test_quotes_stand_in_the_export_as_places_beside_the_artifact_they_were_taken_from(
    project: Project, tmp_path: Path
) -> None:
    audit = factories.make_audit(factories.make_upgrade(project, {"a": ("Yes", "No")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    lease = claim(audit.queue, factories.make_person(project, "ann"))
    _, new = lease.item.shown.order_by("artifact").values_list("artifact", flat=True)
    submit(lease, spans=[(new, 0, 1, 4), (None, 0, 0, 3), (new, 0, 0, 2)])
    assert [(row.system_version, row.quotes) for row in reviews_of(audit)] == [
        ("v1", "input 0:3"),
        ("v2", "input 0:3; output 1:4; output 0:2"),
    ]
    path = tmp_path / "reviews.csv"
    lines_write(path, "csv", review_lines(audit, "csv"))
    assert [row["quotes"] for row in _read_csv(path)] == ["input 0:3", "input 0:3; output 1:4; output 0:2"]


def test_answer_taken_back_and_its_correction_both_stand_in_the_export(project: Project) -> None:
    audit = _audit(project, ["a"])
    ann = factories.make_person(project, "ann")
    lease = claim(audit.queue, ann)
    submit(lease, "fail")
    submit(review_undo(lease=lease, actor=ann, now=NOW), "pass")
    assert [(row.revision, row.label, row.standing) for row in reviews_of(audit)] == [
        (1, "fail", "withdrawn"),
        (2, "pass", "counts"),
    ]


def test_each_review_of_an_upgrade_has_a_row_for_each_artifact(project: Project, tmp_path: Path) -> None:
    audit = factories.make_audit(factories.make_upgrade(project, {"a": ("Yes", "No"), "b": ("No", "Yes")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    person = factories.make_person(project, "ann")
    for _ in range(2):
        answer(audit.queue, person)
    call_command("export_reviews", audit.name, str(tmp_path / "reviews.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "reviews.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == Label.objects.count() == 4
    assert [row["system_version"] for row in rows] == ["v1", "v2"] * 2
    assert {row["output_hash"] for row in rows} == set(Artifact.objects.values_list("output_hash", flat=True))
