"""The anchor monitor: each run of a judge against the anchors, counted once, with what has no verdict apart."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from audits.anchormonitor import MonitoredRun, monitored
from audits.exports.anchorcards import MONITORS
from audits.models import AnchorCheck, AnchorSet, Audit
from audits.services.anchorchecks import anchor_checks_make
from audits.services.anchorsets import anchor_set_make
from audits.services.registering import audit_register
from audits.tasks import looks_sweep
from core.models import Project
from core.services import operator_of
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

LABELS = {"a": "pass", "b": "pass", "c": "fail", "d": "fail", "e": "pass"}
SLICES = {case: {"risk": "high" if case in "ab" else "low"} for case in LABELS}


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def gold(project: Project) -> AnchorSet:
    """Five anchors, of whose judges the new one was right on three."""
    verdicts = {"a": ("Yes", "Yes"), "b": ("Yes", "No"), "c": ("Yes", "No"), "d": ("No", "No"), "e": ("No", "No")}
    audit = factories.make_audit(factories.make_swap(project, verdicts, slices=SLICES))
    audit_register(audit=audit, actor=operator_of(project), now=NOW)
    audit.refresh_from_db()
    for case, label in LABELS.items():
        factories.settle(audit.queue, case, label)
    return made(audit)


def made(audit: Audit) -> AnchorSet:
    return anchor_set_make(audit=audit, name="gold", licence="x", actor=operator_of(audit.project), now=NOW)


def checked(gold: AnchorSet) -> list[MonitoredRun]:
    anchor_checks_make(now=NOW)
    return list(monitored(gold).runs)


def by_model(runs: list[MonitoredRun]) -> dict[str, tuple[int, int]]:
    return {run.judge: (run.whole.right, run.whole.n) for run in runs}


def test_each_run_is_compared_with_its_errors_by_class_and_by_slice(gold: AnchorSet) -> None:
    old, new = checked(gold)
    assert by_model([old, new]) == {"old-judge": (3, 5), "new-judge": (3, 5)}
    assert new.errors == [("pass", "fail", 2)]
    assert [(one.of, one.right, one.n) for one in new.by_label] == [("fail", 2, 2), ("pass", 1, 3)]
    assert [(one.of, one.right, one.wrong) for one in new.by_slice] == [("risk=high", 1, 1), ("risk=low", 2, 1)]
    assert [round(limit, 6) for limit in new.whole.limits] == [0.230724, 0.882379]  # statsmodels, 3 of 5, Wilson


def test_what_has_no_verdict_is_counted_apart_and_stands_in_no_share(project: Project, gold: AnchorSet) -> None:
    """A later run on the same artifacts: one not judged, one unparsed, one of a label that nobody mapped."""
    labels = {"a": "Yes", "b": "\n", "c": "Maybe", "d": "No", "e": None}
    later(project, "later-judge", labels, parser="first-line-label@1")
    *_, run = checked(gold)
    assert (run.judge, run.anchors, run.whole.right, run.whole.n) == ("later-judge", 5, 2, 2)
    assert dict(run.without) == {"not judged": 1, "unparsed": 1, "unmapped": 1, "stale": 0}
    assert run.errors == []
    assert {one.of: one.without for one in run.by_slice} == {"risk=high": 1, "risk=low": 2}


def later(
    project: Project, model: str, labels: dict[str, str | None], *, parser: str = "exact-label@1", rubric: Any = None
) -> Audit:
    """A later comparison on the same cases, of a run of another judge and one that is known already."""
    system = project.case_sets.get().system_versions.get()
    reader = factories.make_reader(project, parser=parser)
    known = system.runs.get(generator__model="old-judge")
    run = factories.load_run(system, factories.judged(labels), model)
    old = (known, factories.make_reader(project, name="table-2"))
    comparison = factories.compare(project, reader, (known, run), name=f"with {model}", old=old, slices=["risk"])
    return factories.make_audit(comparison, labels=rubric or ("fail", "pass"))


def test_new_run_adds_one_row_and_a_known_one_none(project: Project, gold: AnchorSet) -> None:
    assert anchor_checks_make(now=NOW) == 2
    assert anchor_checks_make(now=NOW) == 0
    later(project, "later-judge", LABELS_RIGHT)
    assert anchor_checks_make(now=NOW) == 1
    assert list(by_model(checked(gold)).items())[-1] == ("later-judge", (5, 5))


LABELS_RIGHT: dict[str, str | None] = {case: "Yes" if label == "pass" else "No" for case, label in LABELS.items()}


def test_next_version_is_held_to_all_runs_again(project: Project, gold: AnchorSet) -> None:
    anchor_checks_make(now=NOW)
    audit = Audit.objects.get()
    factories.settle(audit.queue, "e", "fail")
    second = made(audit)
    assert by_model(checked(second)) == {"old-judge": (4, 5), "new-judge": (4, 5)}
    assert by_model(list(monitored(gold).runs)) == {"old-judge": (3, 5), "new-judge": (3, 5)}


def test_other_content_under_the_same_name_is_no_anchor(project: Project, gold: AnchorSet) -> None:
    """The same case ids in another set, with other answers: nothing of them is compared."""
    case_set = factories.load_cases(project, list(LABELS), "other cases")
    system = factories.load_artifacts(
        case_set, "v1", [factories.artifact_row(case, n, "new") for n, case in enumerate(LABELS, 1)]
    )
    reader = factories.make_reader(project, name="table-2")
    runs = [factories.load_run(system, factories.judged(LABELS_RIGHT), model) for model in ("x", "y")]
    comparison = factories.compare(project, reader, runs, name="elsewhere")
    factories.make_audit(comparison)
    assert set(by_model(checked(gold))) == {"old-judge", "new-judge"}
    assert monitored(gold).untouched == 2


def test_run_under_another_rubric_is_not_compared(project: Project, gold: AnchorSet) -> None:
    audit = later(project, "later-judge", LABELS_RIGHT)
    audit.rubric = factories.make_rubric(project, ("fail", "pass"), name="another")
    audit.save()
    assert set(by_model(checked(gold))) == {"old-judge", "new-judge"}


def test_worker_finds_what_is_due_by_itself(gold: AnchorSet) -> None:
    looks_sweep()
    assert AnchorCheck.objects.filter(anchor_set=gold).count() == 2


def test_command_says_that_it_monitors_and_does_not_validate(
    gold: AnchorSet, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("anchor_monitor", "p")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gold version 1, 5 anchors: 2 runs"
    share = "3 of n = 5 as the anchors (60.0 %, 23.1 % to 88.2 %, Wilson, 95 % level)"
    assert f"  new-judge, run 1 on v1 (swap-1): {share}" in lines
    assert "    errors: 2 pass called fail" in lines
    assert lines[-1] == MONITORS
    call_command("anchor_monitor", "p", "gold@1", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["meaning"].startswith("Anchors monitor a judge; they do not validate a comparison.")
    run = told["sets"][0]["runs"][1]
    assert (run["judge"], run["anchors_in_its_cases"], run["agreement"]["right"], run["agreement"]["n"]) == (
        "new-judge",
        5,
        3,
        5,
    )
    assert run["errors"] == [{"label": "pass", "verdict": "fail", "number": 2}]
