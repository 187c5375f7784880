"""Anchor sets: versions that are never overwritten, one hash for three formats, and a way back in, unchanged."""

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from adjudication.models import KnownAnswer, QueuePurpose, Reference, SettlementHow
from adjudication.services.settlements import item_settle
from audits.anchorsets import (
    COLUMNS,
    SET_COLUMNS,
    ContentHash,
    anchor_sets_of,
    changes_between,
    line_of,
    lines_of,
    records_of,
)
from audits.exports.anchorfiles import card_text, set_bytes, set_write
from audits.exports.anchors import anchors_of
from audits.exports.report import report_html
from audits.models import AnchorPart, AnchorSet, Audit, Reuse
from audits.reuse import reused_sources
from audits.services.anchoring import known_set_from_anchors, known_set_from_file
from audits.services.anchorsets import Taken, anchor_set_make, anchor_set_take
from audits.services.registering import audit_extend, audit_register
from core.errors import InputError, Refused
from core.models import Author, Project
from core.services import operator_of
from tests import factories
from tests.factories import NOW, claim, registered, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]

KINDS = ("csv", "jsonl", "parquet")
ODD = ["=1+1", 'b, with "quotes"', "zwei\nZeilen", "Zeile\x85und\u2028Trenner", "a\rb", "שלום 🙂"]
SAID = '= right, she said\r\nand "so"\r'


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def settled(project: Project) -> Audit:
    audit = registered(project, ODD, "earlier")
    ann = factories.make_person(project, "ann")
    for label in ("pass", "fail", "pass", "pass", "fail", "fail"):
        submit(claim(audit.queue, ann), label, rationale=SAID)
    return audit


def made(audit: Audit, licence: str = "CC-BY-4.0", name: str = "gold") -> AnchorSet:
    return anchor_set_make(audit=audit, name=name, licence=licence, actor=operator_of(audit.project), now=NOW)


def taken(project: Project, path: Path, card: Path | None = None) -> Taken:
    return anchor_set_take(path=path, card=card, actor=operator_of(project), now=NOW)


def elsewhere(cases: list[str], name: str = "other") -> tuple[Project, Audit]:
    """Another project that has the same cases and outputs, under other names, in a draft."""
    other = factories.make_project(name)
    verdicts = dict.fromkeys(cases, ("Yes", "No"))
    comparison = factories.make_swap(other, verdicts, name="later", case_set="named otherwise")
    return other, factories.make_audit(comparison)


# The set


def test_version_holds_every_reference_in_force_as_the_anchors_do(settled: Audit) -> None:
    one = made(settled)
    assert (str(one), one.anchors, one.audit, one.source, one.changes) == ("gold version 1", 6, settled, "", {})
    assert [record["case_id"] for record in records_of(one)] == [anchor.case_id for anchor in anchors_of(settled)]
    assert {record["rationale"] for record in records_of(one)} == {SAID}


def test_content_hash_is_what_the_documents_say(settled: Audit) -> None:
    """Computed here from the JSON Lines file alone, without a function of ours."""
    one = made(settled)
    rows = [json.loads(line) for line in b"".join(set_bytes(one, "jsonl")).split(b"\n") if line]
    head = {name: rows[0][name] for name in ("anchor_set", "anchor_set_version", "licence")}
    records = [{name: row[name] for name in COLUMNS} for row in rows]
    text = "".join(
        json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
        for value in (head, *records)
    )
    assert hashlib.sha256(text.encode()).hexdigest() == one.content_hash == rows[0]["content_hash"]


def test_new_settlements_make_the_next_version_and_leave_the_first(settled: Audit) -> None:
    first = made(settled)
    before = list(lines_of(first))
    item = settled.queue.items.get(case__case_id="a\rb")
    decision = {item.shown.get().artifact_id: "pass"}
    other = {"pass": "fail", "fail": "pass"}[Reference.objects.get(settlement__item=item).label]
    decision = dict.fromkeys(decision, other)
    item_settle(
        item=item, how=SettlementHow.ADJUDICATED, decision=decision, actor=operator_of(settled.project), now=NOW
    )
    second = made(settled)
    assert (second.version, second.changes) == (
        2,
        {"since": 1, "added": 0, "removed": 0, "relabelled": 1, "other": 0, "unchanged": 5},
    )
    assert list(lines_of(AnchorSet.objects.get(version=1))) == before
    assert changes_between(second, lines_of(first)).words == "Since version 2: 1 with another label, 5 as they were."


def test_nothing_new_makes_no_version_but_another_licence_does(settled: Audit) -> None:
    first = made(settled)
    with pytest.raises(Refused, match="nothing was settled otherwise since gold version 1"):
        made(settled)
    second = made(settled, "internal use only")
    assert second.content_hash != first.content_hash
    assert second.changes["unchanged"] == 6


def test_same_references_give_the_same_hash_under_the_same_name(settled: Audit) -> None:
    """In a database that had other rows meanwhile: the hash follows from name, version, licence and anchors alone."""
    first = made(settled).content_hash
    made(settled, name="another")
    assert anchor_sets_of(settled.project).get(name="another").content_hash != first


@pytest.mark.parametrize(
    ("name", "licence", "says"),
    [
        ("gold", " ", "licence: say the licence"),
        ("a@2", "x", "name: no name of a set (found 'a@2')"),
        ("a/b", "x", "name: no name of a set (found 'a/b')"),
        ("a\nb", "x", "name: no name of a set"),
        ("a" * 101, "x", "name: too long"),
    ],
)
def test_name_and_licence_are_checked(settled: Audit, name: str, licence: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        made(settled, licence, name)
    assert says in str(refused.value)
    assert not AnchorSet.objects.exists()


def test_audit_without_a_settled_label_and_a_draft_make_no_set(project: Project) -> None:
    with pytest.raises(Refused, match="has no settled label"):
        made(registered(project, ["a"]))
    with pytest.raises(Refused, match="the plan of swap-2 is still a draft"):
        made(factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}, name="swap-2")))


def test_underspecified_case_is_counted_on_the_card_and_is_no_anchor(project: Project) -> None:
    audit = registered(project, ["a", "b"])
    factories.settle(audit.queue, "a", None)
    factories.settle(audit.queue, "b", "pass")
    one = made(audit)
    assert [record["case_id"] for record in records_of(one)] == ["b"]
    assert json.loads(one.card_text)["settled"]["underspecified_cases_without_anchor"] == 1


def test_what_was_made_is_never_altered(settled: Audit) -> None:
    made(settled)
    for model, change in ((AnchorSet, {"licence": "none"}), (AnchorPart, {"n": 9})):
        with pytest.raises(IntegrityError), transaction.atomic():
            QuerySet(model).update(**change)
        with pytest.raises(IntegrityError), transaction.atomic():
            QuerySet(model).delete()


# The files


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", KINDS)
def test_file_unchanged_makes_the_same_set_elsewhere_and_adds_nothing_twice(
    settled: Audit, tmp_path: Path, kind: str
) -> None:
    """BEHAVIOUR 30."""
    one = made(settled)
    path, card, _ = set_write(one, tmp_path / f"gold.{kind}", kind)
    other, _ = elsewhere(ODD)
    there = taken(other, path, card)
    assert (there.present, there.anchor_set.content_hash, there.anchor_set.version) == (False, one.content_hash, 1)
    assert list(lines_of(there.anchor_set)) == list(lines_of(one))
    assert json.loads(there.anchor_set.card_text) == json.loads(one.card_text)
    again = taken(other, path)
    assert (again.present, again.anchor_set) == (True, there.anchor_set)
    assert b"".join(set_bytes(there.anchor_set, kind)) == path.read_bytes()


def test_all_three_formats_state_one_hash_and_hold_the_same_rows(settled: Audit, tmp_path: Path) -> None:
    one = made(settled)
    files = [set_write(one, tmp_path / f"gold.{kind}", kind)[0] for kind in KINDS]
    tables = [rows_of(path) for path in files]
    assert {row["content_hash"] for table in tables for row in table} == {one.content_hash}
    assert list(tables[0][0]) == list(tables[1][0]) == list(tables[2][0]) == [*COLUMNS, *SET_COLUMNS]
    assert tables[1] == tables[2]


def test_own_export_is_recognised_in_its_own_project(settled: Audit, tmp_path: Path) -> None:
    path = set_write(made(settled), tmp_path / "gold.csv", "csv")[0]
    assert taken(settled.project, path).present


Change = Callable[[list[dict[str, Any]]], None]
CHANGES: dict[str, Change] = {
    "a label": lambda rows: rows[1].update(label="pass" if rows[1]["label"] == "fail" else "fail"),
    "a chance": lambda rows: rows[1].update(inclusion_probability=0.5),
    "a rationale": lambda rows: rows[1].update(rationale="never mind"),
    "a row less": lambda rows: rows.__delitem__(1),
    "a row twice": lambda rows: rows.append(rows[0]),
    "the order": lambda rows: rows.reverse(),
    "the licence": lambda rows: [row.update(licence="public domain") for row in rows] and None,
    "the version": lambda rows: [row.update(anchor_set_version=2) for row in rows] and None,
}


@pytest.mark.parametrize("kind", KINDS)
def test_altered_file_is_refused_by_its_hash(settled: Audit, tmp_path: Path, kind: str) -> None:
    one, (other, _) = made(settled), elsewhere(ODD)
    path = tmp_path / f"gold.{kind}"
    for change in CHANGES.values():
        set_write(one, path, kind)
        rows = rows_of(path)
        change(rows)
        rewrite(path, rows)
        says = f"gold.{kind}, column content_hash: the file was altered: what is in it has the hash"
        with pytest.raises(InputError, match=says):
            taken(other, path)
    assert not AnchorSet.objects.filter(project=other).exists()


def rewrite(path: Path, rows: list[dict[str, Any]]) -> None:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"content_hash": ""}, "row 2, column content_hash: missing; a file of an anchor set has it in every row"),
        ({"anchor_set": "b"}, "row 2, column anchor_set: another than in the first row (found 'b'); allowed: gold"),
        ({"position": "many"}, "row 2, column position: not a number (found 'many')"),
    ],
)
def test_row_that_cannot_be_of_the_set_is_named(
    settled: Audit, tmp_path: Path, change: dict[str, str], says: str
) -> None:
    path = set_write(made(settled), tmp_path / "gold.jsonl", "jsonl")[0]
    rows = rows_of(path)
    rows[1].update(change)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError) as refused:
        taken(elsewhere(ODD)[0], path)
    assert says in str(refused.value)


def test_same_version_with_other_content_is_a_conflict_that_names_both_hashes(settled: Audit, tmp_path: Path) -> None:
    one = made(settled)
    path = set_write(one, tmp_path / "gold.csv", "csv")[0]
    other, draft = elsewhere(ODD)
    audit_register(audit=draft, actor=operator_of(other), now=NOW)
    draft.refresh_from_db()
    factories.answer(draft.queue, factories.make_person(other, "ann"))
    theirs = made(draft)
    with pytest.raises(Refused) as refused:
        taken(other, path)
    assert one.content_hash in str(refused.value.problems[0].value)
    assert theirs.content_hash in refused.value.problems[0].allowed
    with pytest.raises(Refused, match="a set of this name comes from elsewhere"):
        made(registered_again(draft, "later still"))


def registered_again(audit: Audit, name: str) -> Audit:
    again = registered(audit.project, ["z"], name)
    factories.answer(again.queue, factories.make_person(audit.project, "zoe"))
    return again


def test_card_of_another_set_or_an_altered_one_is_refused(settled: Audit, tmp_path: Path) -> None:
    one, (other, _) = made(settled), elsewhere(ODD)
    path, card, _ = set_write(one, tmp_path / "gold.csv", "csv")
    text = json.loads(card.read_text())
    for changed, says in (
        ({"content_hash": "0" * 64}, "content_hash: the card is of another set, or was altered"),
        ({"labels": {"pass": 6}}, "labels: the card is of another set, or was altered"),
    ):
        card.write_text(json.dumps(text | changed))
        with pytest.raises(InputError, match=says):
            taken(other, path, card)
    card.write_text("no card")
    with pytest.raises(InputError, match=r"gold\.card\.json: not a readable data card"):
        taken(other, path, card)


# The card


def test_card_says_how_the_anchors_were_sampled_and_settled(project: Project) -> None:
    verdicts = {f"q{n:02d}": ("Yes", "Yes" if n < 40 else "No") for n in range(44)}
    plan = {"allocation": {"agree": 20, "disagree": "all"}, "agree_minimum": 0}
    audit = factories.make_audit(factories.make_swap(project, verdicts), plan=plan, review={"double_review_share": 1.0})
    audit_register(audit=audit, actor=operator_of(project), now=NOW)
    audit.refresh_from_db()
    for person in [factories.make_person(project, name) for name in ("ann", "ben")]:
        for _ in range(3):
            factories.answer(audit.queue, person)
    for case_id in audit.queue.items.filter(state="open").values_list("case__case_id", flat=True):
        factories.settle(audit.queue, case_id, "fail")
    one = made(audit)
    card = json.loads(one.card_text)
    assert card["licence"] == "CC-BY-4.0"
    assert card["content_hash"] == one.content_hash
    assert (card["anchors"], card["cases"], card["labels"]) == (24, 24, {"fail": 21, "pass": 3})
    columns = ("stratum", "kind", "cases", "drawn", "inclusion_probability", "anchors")
    assert [tuple(stratum[name] for name in columns) for stratum in card["sampled"]["strata"]] == [
        ("agree", "sampled", 40, 20, 0.5, 20),
        ("disagree", "sampled", 4, 4, 1.0, 4),
    ]
    assert card["sampled"]["registrations"][0]["frame_hash"] == audit.frame.sha256
    assert card["settled"]["how"] == {"single": 21, "unanimous": 3}
    assert card["labelled_by"] == {"nobody here": 21, "2 member": 3}
    assert (card["agreement"]["raw"], card["agreement"]["cases"], card["agreement"]["reviews"]) == (1.0, 3, 6)
    assert card["rubric"]["hash"] == audit.rubric.content_hash
    words = card_text(one, "md")
    for line in (
        "# Anchor set `gold`, version 1",
        "| `agree` | 40 | 20 | 0.5000 | 20 |",
        "- Licence: `CC-BY-4.0`",
        "Reviewers who labelled the same artifact: raw agreement 100 %",
        "on 3 artifacts with 6 labels",
        f"- Content: `{one.content_hash}`",
        "Anchors monitor a judge; they do not validate a comparison.",
    ):
        assert line in words


def test_card_without_one_says_what_the_rows_say_and_that_agreement_is_not_known(
    settled: Audit, tmp_path: Path
) -> None:
    path = set_write(made(settled), tmp_path / "gold.csv", "csv")[0]
    there = taken(elsewhere(ODD)[0], path).anchor_set
    card = json.loads(there.card_text)
    assert (card["anchors"], card["settled"]["how"]) == (6, {"single": 6})
    assert "No agreement of reviewers is known: no card came with the file." in card_text(there, "md")


# Calibration and hidden anchors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("purpose", [QueuePurpose.PRACTICE, QueuePurpose.ANCHORS])
def test_file_unchanged_becomes_practice_and_hidden_anchors_elsewhere(
    settled: Audit, tmp_path: Path, kind: str, purpose: QueuePurpose
) -> None:
    path = set_write(made(settled), tmp_path / f"gold.{kind}", kind)[0]
    other, _ = elsewhere(ODD)
    told = known_set_from_file(
        project=other, path=path, name="known", purpose=purpose, actor=operator_of(other), now=NOW
    )
    assert (told.added, told.absent, told.source) == (6, 0, "anchor set gold version 1")
    known = KnownAnswer.objects.filter(item__queue__project=other, item__queue__purpose=purpose)
    found = {
        case: (label, rationale)
        for case, label, rationale in known.values_list("item__case__case_id", "label", "rationale")
    }
    assert found == {anchor.case_id: (anchor.label, SAID) for anchor in anchors_of(settled)}


def test_anchors_whose_content_the_project_has_not_are_left_out_and_counted(settled: Audit, tmp_path: Path) -> None:
    path = set_write(made(settled), tmp_path / "gold.csv", "csv")[0]
    other, _ = elsewhere([*ODD[:2], "new"])
    told = known_set_from_anchors(
        anchor_set=taken(other, path).anchor_set,
        name="known",
        purpose=QueuePurpose.PRACTICE,
        actor=operator_of(other),
        now=NOW,
    )
    assert (told.added, told.absent) == (2, 4)
    third, _ = elsewhere(["none of them"], "third")
    with pytest.raises(InputError, match="the project has the content of none of the anchors"):
        known_set_from_anchors(
            anchor_set=taken(third, path).anchor_set,
            name="known",
            purpose=QueuePurpose.PRACTICE,
            actor=operator_of(third),
            now=NOW,
        )


# Reuse


def reusing(audit: Audit, anchors: str = "gold@1", **review: Any) -> Audit:
    audit.review |= {"reuse_anchors": anchors} | review
    audit.save()
    return audit


def test_plan_that_says_so_takes_labels_of_identical_content(settled: Audit, tmp_path: Path) -> None:
    path = set_write(made(settled), tmp_path / "gold.parquet", "parquet")[0]
    other, draft = elsewhere([*ODD[:3], "new"])
    taken(other, path)
    drawn = audit_register(audit=reusing(draft), actor=operator_of(other), now=NOW)
    assert drawn.reused == 3
    references = Reference.objects.filter(settlement__queue=draft.queue)
    assert set(references.values_list("settlement__how", flat=True)) == {"reused"}
    wanted = {anchor.case_id: anchor.label for anchor in anchors_of(settled) if anchor.case_id in ODD[:3]}
    assert dict(references.values_list("settlement__item__case__case_id", "label")) == wanted
    assert reused_sources(draft) == [("anchor set gold version 1", 3)]


def test_reused_label_says_in_every_export_where_it_is_from_and_who_labelled(settled: Audit, tmp_path: Path) -> None:
    path = set_write(made(settled), tmp_path / "gold.csv", "csv")[0]
    other, draft = elsewhere([*ODD[:3], "new"])
    taken(other, path)
    audit_register(audit=reusing(draft), actor=operator_of(other), now=NOW)
    draft.refresh_from_db()
    factories.answer(draft.queue, factories.make_person(other, "ann"))
    told = {
        anchor.case_id: (anchor.how_settled, anchor.labelled_by, anchor.reused_from) for anchor in anchors_of(draft)
    }
    reused = ("reused", "1 member", "anchor set gold version 1")
    assert told == {ODD[0]: reused, ODD[1]: reused, ODD[2]: reused, "new": ("single", "1 member", "")}
    report = report_html(draft, NOW, chart="")
    assert "3 cases reused from <bdi>anchor set gold version 1</bdi>." in report
    assert "Simulated authors answered here" not in report
    again = json.loads(made(draft, name="silver").card_text)
    assert again["settled"] == {
        "how": {"reused": 3, "single": 1},
        "reused_from": {"anchor set gold version 1": 3},
        "underspecified_cases_without_anchor": 0,
    }


def test_report_says_that_simulated_people_stand_behind_reused_labels(settled: Audit, tmp_path: Path) -> None:
    rows = [record | {"labelled_by": "1 simulated"} for record in records_of(made(settled))]
    other, draft = elsewhere(ODD)
    content = ContentHash("dream", 1, "x")
    for row in rows:
        content.add(line_of(row))
    said = {"anchor_set": "dream", "anchor_set_version": 1, "licence": "x", "content_hash": content.hexdigest()}
    path = tmp_path / "dream.jsonl"
    rewrite(path, [row | said for row in rows])
    taken(other, path)
    audit_register(audit=reusing(draft, "dream@1"), actor=operator_of(other), now=NOW)
    draft.refresh_from_db()
    assert "Simulated authors answered here" in report_html(draft, NOW, chart="")


def test_label_under_another_rubric_is_never_reused(settled: Audit, tmp_path: Path) -> None:
    path = set_write(made(settled), tmp_path / "gold.csv", "csv")[0]
    other = factories.make_project("other")
    taken(other, path)
    comparison = factories.make_swap(other, dict.fromkeys(ODD, ("Yes", "No")), labels=("fail", "partly", "pass"))
    audit = reusing(factories.make_audit(comparison, labels=("fail", "partly", "pass")))
    with pytest.raises(Refused, match=r"review\.reuse_anchors: the anchors are under rubric right 1"):
        audit_register(audit=audit, actor=operator_of(other), now=NOW)
    assert not audit.registrations.exists()


def test_plan_that_names_no_known_set_is_not_registered(project: Project, settled: Audit) -> None:
    made(settled)
    draft = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    with pytest.raises(
        InputError, match=r"review\.reuse_anchors: there is no such anchor set \(found 'gold@7'\); allowed"
    ):
        audit_register(audit=reusing(draft, "gold@7"), actor=operator_of(project), now=NOW)
    assert not draft.registrations.exists()


def test_without_a_word_in_the_plan_nothing_is_reused(settled: Audit, tmp_path: Path) -> None:
    path = set_write(made(settled), tmp_path / "gold.csv", "csv")[0]
    other, draft = elsewhere(ODD)
    taken(other, path)
    assert audit_register(audit=draft, actor=operator_of(other), now=NOW).reused == 0
    assert not Reuse.objects.exists()


def test_two_sources_that_differ_leave_the_case_to_people(project: Project, settled: Audit) -> None:
    """An audit of the project has settled one of the cases otherwise since: neither label is taken."""
    made(settled)
    between = registered(project, ODD[:1], "between")
    gold = next(anchor.label for anchor in anchors_of(settled) if anchor.case_id == ODD[0])
    factories.settle(between.queue, ODD[0], {"pass": "fail", "fail": "pass"}[gold])
    comparison = factories.make_swap(
        project, dict.fromkeys(ODD[:2], ("Yes", "No")), name="later", case_set="set of later"
    )
    later = factories.make_audit(comparison)
    # The same artifact in both audits: the earlier one's own case set, with runs that are there already.
    comparison = factories.make_swap(
        project, dict.fromkeys(ODD[:1], ("Yes", "No")), name="third", case_set="set of between"
    )
    third = factories.make_audit(comparison)
    assert audit_register(audit=reusing(later), actor=operator_of(project), now=NOW).reused == 2
    register = audit_register(audit=reusing(third, reuse_references=True), actor=operator_of(project), now=NOW)
    assert register.reused == 0


def test_content_that_has_two_labels_in_the_set_is_not_reused(project: Project, tmp_path: Path) -> None:
    case_set = factories.load_cases(
        project,
        [factories.case_row("a", 1, input="same"), factories.case_row("b", 2, input="same")],
        "twins",
    )
    answers = [factories.artifact_row(case, n, "same") for n, case in enumerate("ab", 1)]
    system = factories.load_artifacts(case_set, "v1", answers)
    audit = twins_audit(project, system, "twins")
    factories.settle(audit.queue, "a", "pass")
    factories.settle(audit.queue, "b", "fail")
    one = made(audit)
    assert json.loads(one.card_text)["contents_with_several_labels"] == 1
    other = twins_audit(project, system, "again", register=False)
    assert audit_register(audit=reusing(other), actor=operator_of(project), now=NOW).reused == 0


def twins_audit(project: Project, system: Any, name: str, register: bool = True) -> Audit:
    reader = factories.make_reader(project)
    runs = [
        factories.load_run(system, factories.judged({"a": "Yes", "b": "No"}), model) for model in (name, f"{name}2")
    ]
    comparison = factories.compare(project, reader, runs, name=name)
    audit = factories.make_audit(comparison)
    if register:
        audit_register(audit=audit, actor=operator_of(project), now=NOW)
        audit.refresh_from_db()
    return audit


def test_extension_reuses_what_the_plan_names_too(project: Project, tmp_path: Path) -> None:
    cases = [f"q{n:02d}" for n in range(24)]
    audit = registered(project, cases, "first")
    for case in cases:
        factories.settle(audit.queue, case)
    path = set_write(made(audit), tmp_path / "gold.csv", "csv")[0]
    other = factories.make_project("other")
    taken(other, path)
    comparison = factories.make_swap(other, dict.fromkeys(cases, ("Yes", "No")), name="later")
    later = reusing(factories.make_audit(comparison, plan={"allocation": {"disagree": 20}, "policy": "anytime"}))
    assert audit_register(audit=later, actor=operator_of(other), now=NOW).reused == 20
    later.refresh_from_db()
    assert audit_extend(audit=later, labels={"disagree": 24}, actor=operator_of(other), now=NOW).reused == 4
    assert reused_sources(later) == [("anchor set gold version 1", 24)]


def test_reference_that_was_withdrawn_since_is_not_reused(project: Project, settled: Audit) -> None:
    """The decision in force says that nobody can judge the case; an earlier one had a label."""
    factories.settle(settled.queue, ODD[0], None)
    comparison = factories.make_swap(
        project, dict.fromkeys(ODD, ("Yes", "No")), name="later", case_set="set of earlier"
    )
    later = factories.make_audit(comparison, review={"reuse_references": True})
    assert audit_register(audit=later, actor=operator_of(project), now=NOW).reused == 5


# The commands


def test_commands_make_export_take_in_compare_and_use(
    settled: Audit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("anchor_sets", "p", "--from", "earlier", "--licence", "CC-BY-4.0")
    call_command("export_anchor_set", "p", "earlier", str(tmp_path / "gold.parquet"))
    call_command("anchor_sets", "p", "--from", "earlier", "--licence", "none")
    call_command("anchor_sets", "p", "--changes", "earlier@1", "earlier@2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold.card.json", "gold.card.md", "gold.parquet"]
    elsewhere(ODD)
    files = ["--file", str(tmp_path / "gold.parquet"), "--card", str(tmp_path / "gold.card.json")]
    call_command("anchor_sets", "other", *files)
    call_command("practice_set", "other", "first steps", "--set", "earlier")
    call_command("anchor_sets", "other")
    out = capsys.readouterr().out
    for words in (
        "earlier version 1: 6 anchors",
        "earlier version 2. Since version 1: 6 as they were.",
        "first steps: 6 cases added from anchor set earlier version 1, 0 there already",
        "earlier version 1: 6 anchors under rubric right 1, from gold.parquet, sha256",
    ):
        assert words in out


def test_commands_refuse_with_what_is_allowed(settled: Audit, tmp_path: Path) -> None:
    for arguments, says in (
        (["anchor_sets", "p", "--from", "earlier"], "licence: say the licence; allowed: what others may do with it"),
        (["anchor_sets", "p", "--file", str(tmp_path / "no.csv")], "there is no such file"),
        (["export_anchor_set", "p", "gold", str(tmp_path / "a.csv")], "there is no such anchor set"),
        (["anchor_sets", "p", "--changes", "a", "b"], "there is no such anchor set"),
    ):
        with pytest.raises(CommandError, match=says):
            call_command(*arguments)


def test_author_is_who_made_it(settled: Audit) -> None:
    lea: Author = factories.make_person(settled.project, "lea")
    one = anchor_set_make(audit=settled, name="gold", licence="x", actor=lea, now=NOW)
    assert (one.actor, json.loads(one.card_text)["made"]["by"]) == (lea, "p-lea")
