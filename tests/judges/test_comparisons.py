"""A comparison moves exactly one thing: the judge, or the system."""

from dataclasses import replace
from typing import Any

import pytest

from core.errors import InputError
from core.models import Project
from judges.intake.specs import MappingSpec
from judges.models import Comparison, Reader, Reading, Run
from judges.services.comparisons import BOTH_DIFFER, NOTHING_DIFFERS, comparison_open
from judges.services.publishing import mapping_publish
from tests import factories
from tests.factories import RULES

pytestmark = [pytest.mark.database, pytest.mark.django_db]

Side = tuple[Run, Reader]


@pytest.fixture
def sides(db: None) -> dict[str, Side]:
    """Sides that differ in the system, the model, the parser or the mapping."""
    project = factories.make_project()
    case_set = factories.load_cases(project, ["a"])
    systems = {name: factories.load_artifacts(case_set, name) for name in ("v1", "v2")}
    rows = factories.judged({"a": "Yes"})
    reader = factories.make_reader(project)
    first = factories.load_run(systems["v1"], rows)
    return {
        "first": (first, reader),
        "repeat": (factories.load_run(systems["v1"], rows, run=2), reader),
        "model": (factories.load_run(systems["v1"], rows, "new-judge"), reader),
        "parser": (first, factories.make_reader(project, parser="first-line-label@1")),
        "mapping": (first, factories.make_reader(project, table={"Yes": "fail"}, name="strict")),
        "renamed mapping": (first, factories.make_reader(project, name="same-table")),
        "system": (factories.load_run(systems["v2"], rows), reader),
        "both": (factories.load_run(systems["v2"], rows, "new-judge"), reader),
    }


def _open(sides: dict[str, Side], new: str, kind: str, **changes: Any) -> Comparison:
    project = sides["first"][0].case_set.project
    content: dict[str, Any] = {"labels": ["fail", "pass"], "rules": RULES, "slices": [], "blocking_slices": []}
    return comparison_open(
        project=project,
        name="c",
        kind=kind,
        partition="development",
        old=sides["first"],
        new=sides[new],
        **(content | changes),
    )


@pytest.mark.parametrize(
    ("new", "kind"),
    [("model", "judge_swap"), ("parser", "judge_swap"), ("mapping", "judge_swap"), ("system", "version_upgrade")],
)
def test_one_thing_that_moves_opens_a_comparison_with_readings(sides: dict[str, Side], new: str, kind: str) -> None:
    comparison = _open(sides, new, kind)
    assert (comparison.kind, comparison.is_swap) == (kind, kind == "judge_swap")
    assert Reading.objects.filter(judgment__run=comparison.new_run, reader=comparison.new_reader).count() == 1


@pytest.mark.parametrize("kind", ["judge_swap", "version_upgrade"])
def test_judge_and_system_that_both_differ_are_refused(sides: dict[str, Side], kind: str) -> None:
    with pytest.raises(InputError, match=BOTH_DIFFER):
        _open(sides, "both", kind)
    assert (Comparison.objects.count(), Reading.objects.count()) == (0, 0)


@pytest.mark.parametrize("new", ["first", "repeat", "renamed mapping"])
def test_sides_that_are_the_same_judge_on_the_same_system_are_refused(sides: dict[str, Side], new: str) -> None:
    with pytest.raises(InputError, match=NOTHING_DIFFERS):
        _open(sides, new, "judge_swap")
    assert Comparison.objects.count() == 0


@pytest.mark.parametrize(("new", "kind"), [("model", "version_upgrade"), ("system", "judge_swap")])
def test_kind_that_the_sides_deny_is_refused_with_the_right_one(sides: dict[str, Side], new: str, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        _open(sides, new, kind)
    (problem,) = caught.value.problems
    assert (problem.key, problem.value) == ("kind", kind)
    assert problem.allowed == ("judge_swap" if kind == "version_upgrade" else "version_upgrade")


def test_same_comparison_again_is_the_one_there(sides: dict[str, Side]) -> None:
    assert _open(sides, "model", "judge_swap") == _open(sides, "model", "judge_swap")


@pytest.mark.parametrize(
    "change", [{"labels": ["pass", "fail"]}, {"rules": RULES | {"fail_on_missing_pair": True}}, {"slices": ["risk"]}]
)
def test_same_name_with_other_content_is_refused(sides: dict[str, Side], change: dict[str, Any]) -> None:
    _open(sides, "model", "judge_swap")
    with pytest.raises(InputError, match="open with other content"):
        _open(sides, "model", "judge_swap", **change)


def test_published_versions_are_never_changed(db: None) -> None:
    project = factories.make_project()
    factories.make_reader(project)
    factories.make_rubric(project)
    with pytest.raises(InputError, match=r"mapping yes-no@1 is published with other content \(stored \w{12}, given"):
        factories.make_reader(project, table={"Yes": "fail"})
    with pytest.raises(InputError, match=r"rubric right 1 is published with other content \(stored \w{12}, given"):
        factories.make_rubric(project, ["pass", "fail"])


@pytest.mark.parametrize(("approved_by", "note"), [("somebody else", "why"), ("owner", "another reason")])
def test_who_approved_a_mapping_and_why_belong_to_its_version(db: None, approved_by: str, note: str) -> None:
    project = factories.make_project()
    spec = MappingSpec("yes-no", "1", "owner", {"Yes": "pass"}, "why")
    first = mapping_publish(project=project, spec=spec)
    assert mapping_publish(project=project, spec=spec) == first
    with pytest.raises(InputError, match="mapping yes-no@1 is published with other content"):
        mapping_publish(project=project, spec=replace(spec, approved_by=approved_by, note=note))
    assert (first.approved_by, first.note) == ("owner", "why")


def test_two_projects_share_names_and_nothing_else(db: None) -> None:
    one, other = factories.make_project("one"), factories.make_project("other")
    first = factories.make_swap(one, {"a": ("Yes", "No")})
    second = factories.make_swap(other, {"b": ("No", "Yes")})
    assert first.name == second.name
    assert first.case_set != second.case_set
    assert Project.objects.count() == 2
