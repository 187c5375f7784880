"""Settled labels become cases to practise on and hidden anchors: matched by content, and outside every figure."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from adjudication.models import Calibration, KnownAnswer, Queue, QueuePurpose, Review, SlotKind
from adjudication.services.leases import slot_claim
from adjudication.services.reviews import review_submit
from audits.calibration import hidden_anchor_shares
from audits.exports.anchors import anchors_of, anchors_write
from audits.exports.report import report_data
from audits.models import Audit, AuditState
from audits.progress import progress_of
from audits.selectors import last_look, reviewer_agreement
from audits.services.anchoring import known_set_from_audit, known_set_from_file
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.errors import InputError, Refused
from core.models import Author, Project, Role
from core.services import operator_of
from tests import factories
from tests.audits.sample_manifest import SWAP, Load, changed, load, put, refusals
from tests.factories import NOW, claim, registered, submit

__all__ = ["load"]

pytestmark = [pytest.mark.database, pytest.mark.django_db]
PRACTICE, ANCHORS = QueuePurpose.PRACTICE, QueuePurpose.ANCHORS
ODD = ["=1+1", 'b, with "quotes"', "zwei\nZeilen"]


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


@pytest.fixture
def settled(project: Project) -> Audit:
    """An earlier audit of three odd cases, settled by somebody who has left."""
    audit = registered(project, ODD, "earlier")
    gone = factories.make_person(project, "gone")
    for label in ("pass", "fail", "pass"):
        submit(claim(audit.queue, gone), label, rationale=f'= {label}, she said\nand "so"')
    return audit


def made(audit: Audit, purpose: QueuePurpose = PRACTICE, name: str = "known") -> Any:
    return known_set_from_audit(audit=audit, name=name, purpose=purpose, actor=operator_of(audit.project), now=NOW)


def taken(project: Project, path: Path, name: str = "from a file") -> Any:
    return known_set_from_file(
        project=project, path=path, name=name, purpose=PRACTICE, actor=operator_of(project), now=NOW
    )


def known_of(name: str) -> list[tuple[str, str, str]]:
    rows = KnownAnswer.objects.filter(item__queue__name=name).order_by("item__rank", "artifact")
    return list(rows.values_list("item__case__case_id", "label", "rationale"))


def test_references_of_an_audit_become_a_set_with_their_rationales(settled: Audit) -> None:
    answer = made(settled)
    assert (answer.added, answer.present, answer.incomplete, answer.source) == (3, 0, 0, "audit earlier")
    found = {case: (label, rationale) for case, label, rationale in known_of("known")}
    anchors = {anchor.case_id: anchor.label for anchor in anchors_of(settled)}
    assert {case: label for case, (label, _) in found.items()} == anchors
    assert all(rationale == f'= {label}, she said\nand "so"' for label, rationale in found.values())


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_exported_file_unchanged_makes_the_same_set_and_adds_nothing_twice(
    project: Project, settled: Audit, tmp_path: Path, kind: str
) -> None:
    """BEHAVIOUR 30."""
    made(settled)
    path = tmp_path / f"anchors.{kind}"
    anchors_write(settled, path, kind)
    assert taken(project, path).added == 3
    assert known_of("from a file") == known_of("known")
    again = taken(project, path)
    assert (again.added, again.present) == (0, 3)


def test_file_of_another_installation_is_matched_by_content(tmp_path: Path, settled: Audit) -> None:
    """The same cases and outputs under other names: the hashes say that they are the same."""
    path = tmp_path / "anchors.jsonl"
    anchors_write(settled, path, "jsonl")
    other = factories.make_project("other")
    factories.load_artifacts(factories.load_cases(other, ODD, "named otherwise"), "v9")
    factories.make_rubric(other)
    assert taken(other, path).added == 3


Change = Callable[[dict[str, Any]], None]


def rewritten(settled: Audit, path: Path, change: Change, row: int = 1) -> Path:
    anchors_write(settled, path, "jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(lines[row])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"output_hash": "0" * 64}, "row 2, column output_hash: not the hash of case"),
        ({"evidence_hash": "1" * 64}, "row 2, column evidence_hash: not the hash of case"),
        ({"input_hash": "2" * 64}, "row 2, column input_hash: not the hash of case"),
        (
            {"output_hash": "0" * 64, "case_set": "gone"},
            "row 2, column output_hash: no artifact of the project has this content",
        ),
        ({"rubric_version": "2"}, "row 2, column rubric_version: another rubric than the project's"),
        ({"rubric_hash": "3" * 64}, "row 2, column rubric_hash: another rubric than the project's"),
        ({"label": "maybe"}, "row 2, column label: not a label of the scale (found 'maybe'); allowed: fail, pass"),
        ({"label": None}, "row 2, column label: missing"),
    ],
)
def test_row_that_is_not_of_this_content_or_rubric_is_refused_by_row(
    project: Project, settled: Audit, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    path = rewritten(settled, tmp_path / "anchors.jsonl", lambda line: line.update(change))
    with pytest.raises(InputError) as refused:
        taken(project, path)
    assert says in str(refused.value)
    assert not Queue.objects.filter(purpose=PRACTICE).exists()


def test_all_rows_of_an_unknown_rubric_are_refused_with_the_rubrics_there_are(settled: Audit, tmp_path: Path) -> None:
    path = tmp_path / "anchors.csv"
    anchors_write(settled, path, "csv")
    other = factories.make_project("other")
    factories.make_rubric(other, name="another")
    with pytest.raises(InputError, match=r"the project has no such rubric \(found 'right 1'\); allowed: another 1"):
        taken(other, path)


def test_artifact_that_stands_twice_is_refused(project: Project, settled: Audit, tmp_path: Path) -> None:
    path = tmp_path / "anchors.jsonl"
    anchors_write(settled, path, "jsonl")
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines(keepends=True)[0], encoding="utf-8")
    with pytest.raises(InputError, match="row 4, column output_hash: the artifact has a label in row 1 already"):
        taken(project, path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", "{\n[]\n", "row 1: not JSON"),
        ("a.jsonl", "[]\n", "row 1: a record is a mapping of names to values"),
        ("a.jsonl", "", "there is no anchor"),
        ("a.csv", "case_id,label\na,pass\n", "row 1, column input_hash: missing"),
        ("a.txt", "", "the format is told from the ending"),
    ],
)
def test_file_that_is_none_of_anchors_is_refused(
    project: Project, tmp_path: Path, name: str, content: str, says: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as refused:
        taken(project, tmp_path / name)
    assert says in str(refused.value)


def test_case_of_an_upgrade_of_which_one_side_has_no_label_is_left_out(project: Project) -> None:
    audit = factories.make_audit(factories.make_upgrade(project, {"a": ("Yes", "No"), "b": ("Yes", "No")}))
    audit_register(audit=audit, actor=operator_of(project), now=NOW)
    people = [factories.make_person(project, name) for name in ("ann", "ben")]
    for person in people:
        lease = claim(audit.queue, person)
        old, new = sorted(lease.item.shown.values_list("artifact", flat=True))
        review_submit(lease=lease, actor=person, answers={old: "pass", new: None}, now=NOW)
    submit(claim(audit.queue, people[0]))
    answer = made(audit)
    assert (answer.added, answer.incomplete) == (1, 1)


# The audit that asks for them


def test_registering_fixes_what_the_manifest_asks_for(project: Project, settled: Audit) -> None:
    made(settled, PRACTICE, "first steps")
    made(settled, ANCHORS, "hidden")
    audit = registered(project, ["a", "b"], practice_set="first steps", hidden_anchors="hidden", hidden_anchor_every=5)
    calibration = Calibration.objects.get(queue=audit.queue)
    assert (calibration.practice.name, calibration.anchors.name, calibration.every) == ("first steps", "hidden", 5)


def test_plan_that_asks_for_a_set_that_is_not_there_is_not_registered(project: Project) -> None:
    with pytest.raises(Refused, match=r"review\.practice_set: there is no such set"):
        registered(project, ["a"], practice_set="none")
    assert Audit.objects.get().state == AuditState.DRAFT


def test_answers_to_known_cases_are_in_no_estimate_and_no_figure(project: Project, settled: Audit) -> None:
    """Two audits of the same answers, one with practice and anchors that are answered wrongly: the same numbers."""
    factories.make_known_set(project, PRACTICE, 3, name="first steps")
    made(settled, ANCHORS, "hidden")
    cases = [f"q{n}" for n in range(8)]
    plain = registered(project, cases, "plain", double_review_share=1.0)
    asked = registered(
        project,
        cases,
        "asked",
        double_review_share=1.0,
        practice_set="first steps",
        hidden_anchors="hidden",
        hidden_anchor_every=1,
    )
    people = [factories.make_person(project, name) for name in ("ann", "ben")]
    for audit in (plain, asked):
        for person in people:
            while lease := claim_or_none(audit.queue, person):
                submit(lease, "pass" if lease.slot.kind == SlotKind.REVIEW else None)
        looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    assert Review.objects.filter(kind=SlotKind.PRACTICE).count() == 6
    assert Review.objects.filter(kind=SlotKind.ANCHOR).count() == 6

    def figures(audit: Audit) -> list[Any]:
        data = report_data(audit, NOW)
        return [
            last_look(audit).result,
            progress_of(audit, NOW).as_dict(),
            reviewer_agreement(audit),
            [anchor.label for anchor in anchors_of(audit)],
            data["labelled_by"],
            data["settled_how"],
        ]

    assert figures(plain) == figures(asked)


def claim_or_none(queue: Queue, person: Author) -> Any:
    return slot_claim(queue=queue, actor=person, now=NOW)


# What leads see


def answered(project: Project, person: Author, labels: list[str], at: datetime) -> None:
    queue = Queue.objects.get(name="queue")
    for label in labels:
        submit(claim(queue, person, at), "pass", at)
        submit(claim(queue, person, at), label, at)


def test_each_reviewer_s_share_over_time_with_its_limits(project: Project, ann: Author) -> None:
    factories.make_known_set(project, ANCHORS, 6, name="hidden")
    factories.calibrate(factories.make_queue(project, 20), anchors="hidden", every=1)
    answered(project, ann, ["pass", "fail"], datetime(2026, 3, 30, tzinfo=UTC))
    answered(project, ann, ["pass", "pass"], datetime(2026, 4, 2, tzinfo=UTC))
    answered(project, factories.make_person(project, "ben"), ["fail"], datetime(2026, 4, 2, tzinfo=UTC))
    shares = [(one.person, one.period, one.n, one.right) for one in hidden_anchor_shares(project)]
    assert shares == [
        ("p-ann", "", 4, 3),
        ("p-ann", "2026-04", 2, 2),
        ("p-ann", "2026-03", 2, 1),
        ("p-ben", "", 1, 0),
        ("p-ben", "2026-04", 1, 0),
    ]
    whole = hidden_anchor_shares(project)[0]
    assert (round(whole.low, 6), round(whole.high, 6)) == (0.300642, 0.954413)  # statsmodels proportion_confint(3, 4)


def page_of(project: Project, role: Role = Role.LEAD) -> str:
    client = Client()
    client.force_login(factories.make_person(project, f"a {role}", role).user)
    return client.get("/p/p/calibration").content.decode()


def test_lead_s_page_says_where_to_begin(project: Project) -> None:
    page = page_of(project)
    assert "There is no set of hidden anchors." in page
    assert "There is no practice set." in page


def test_lead_s_page_shows_sets_people_and_disputes(project: Project, settled: Audit, ann: Author) -> None:
    factories.make_known_set(project, PRACTICE, 3, name="first steps")
    made(settled, ANCHORS, "hidden")
    registered(project, ["a", "b"], practice_set="first steps", hidden_anchors="hidden", hidden_anchor_every=1)
    while lease := claim_or_none(Queue.objects.get(name="swap-1"), ann):
        submit(lease, "pass")
    page = page_of(project, Role.OWNER)
    for words in (
        "to be finished before cases of <bdi>swap-1</bdi> are served",
        '<bdi>p-ann</bdi></th><td class="number">3 of 3</td><td class="number">3</td><td class="number">100.0 %</td>',
        "Reviewers: answers as on record, in all and by month (UTC); limits: Wilson, 95 % level",
    ):
        assert words in page


def test_commands_make_and_list_sets(
    project: Project, settled: Audit, ann: Author, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anchors_write(settled, tmp_path / "a.csv", "csv")
    call_command("practice_set", "p", "first steps", "--from", "earlier")
    call_command("hidden_anchors", "p", "hidden", "--file", str(tmp_path / "a.csv"))
    call_command("hidden_anchors", "p", "hidden", "--file", str(tmp_path / "a.csv"), "--json")
    registered(project, ["a"], practice_set="first steps", hidden_anchors="hidden", hidden_anchor_every=1)
    submit(claim(Queue.objects.get(name="swap-1"), ann))
    out = capsys.readouterr().out
    assert "first steps: 3 cases added from audit earlier, 0 there already" in out
    assert '"present": 3' in out
    call_command("practice_set", "p")
    call_command("hidden_anchors", "p")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "first steps: 3 cases under rubric right 1; asked for by swap-1"
    assert lines[1].startswith("  p-ann: ")
    assert lines[2] == "hidden: 3 cases under rubric right 1; asked for by swap-1"


@pytest.mark.parametrize("given", [["name"], ["--from", "earlier"]])
def test_set_needs_a_name_and_a_source(project: Project, given: list[str]) -> None:
    with pytest.raises(CommandError, match="a set is made of a name and a source"):
        call_command("practice_set", "p", *given)


# The manifest


@pytest.mark.parametrize(
    ("review", "says"),
    [
        ({"hidden_anchors": "known"}, "review.hidden_anchor_every: missing: how many cases lie between"),
        ({"hidden_anchor_every": "5"}, "review.hidden_anchors: missing: the set that the anchors are from"),
        ({"hidden_anchors": "known", "hidden_anchor_every": "0"}, "review.hidden_anchor_every: not an allowed value"),
    ],
)
def test_manifest_states_set_and_rate_together(load: Load, review: dict[str, str], says: str) -> None:
    (problem,) = refusals(load, changed(put("review", value=review)))
    assert problem.startswith(says)


def test_manifest_asks_for_sets_by_name(load: Load) -> None:
    asked = {"practice_set": "first steps", "hidden_anchors": "known", "hidden_anchor_every": "20"}
    review = load(changed(put("review", value=asked))).review
    assert (review.practice_set, review.hidden_anchors, review.hidden_anchor_every) == ("first steps", "known", 20)
    assert load(SWAP).review.hidden_anchor_every is None
