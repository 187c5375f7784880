"""What makes two judges, two readers or two versions of a case the same: their content, and nothing else."""

from dataclasses import fields, replace
from typing import Any

import pytest

from core.errors import InputError
from core.models import Project
from judges.intake.rows import CaseRow
from judges.intake.specs import GeneratorSpec, MappingSpec, ReaderSpec
from judges.models import CaseSet, Generator, Run
from judges.services.cases import case_set_load
from judges.services.publishing import generator_ensure, mapping_publish, reader_ensure
from tests import factories
from tests.factories import NOW, case_row, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

OTHER_CONTENT: dict[str, Any] = {
    "model": "another",
    "prompt_version": "2",
    "prompt_template": "Is this right: {output}",
    "rubric_version": "2",
    "rubric_text": "Right means right.",
    "label_vocabulary": ("No", "Yes"),
    "retry_rule": "three times",
    "settings": {"temperature": "1"},
}
SPEC = GeneratorSpec(model="judge", label_vocabulary=("Yes", "No"), settings={"temperature": "0", "top_p": "1"})


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def test_every_part_of_a_generator_is_tried_here() -> None:
    assert set(OTHER_CONTENT) == {field.name for field in fields(GeneratorSpec)}


@pytest.mark.parametrize("part", OTHER_CONTENT)
def test_generator_with_other_content_is_another_judge(project: Project, part: str) -> None:
    same = replace(SPEC, settings={"top_p": "1", "temperature": "0"})
    other = replace(SPEC, **{part: OTHER_CONTENT[part]})
    first = generator_ensure(project=project, spec=SPEC)
    assert generator_ensure(project=project, spec=same) == first
    assert generator_ensure(project=project, spec=other).identity != first.identity
    assert Generator.objects.count() == 2


def test_another_presentation_order_is_another_run_of_the_same_judge(project: Project) -> None:
    system = factories.load_artifacts(factories.load_cases(project, ["a"]))
    for run, order in ((1, "as given"), (2, "reversed")):
        spec = factories.side_spec(run=run, presentation_order=order)
        generator = generator_ensure(project=project, spec=spec.generator)
        rows = [judgment_row("a", "Yes")]
        factories.run_load(generator=generator, system=system, spec=spec, rows=rows, file="f", now=NOW)
    assert list(Run.objects.order_by("ordinal").values_list("generator", "presentation_order")) == [
        (generator.pk, "as given"),
        (generator.pk, "reversed"),
    ]


@pytest.mark.parametrize(
    ("parser", "table", "name", "same"),
    [
        ("exact-label@1", {"No": "fail", "Yes": "pass"}, "yes-no", True),
        ("exact-label@1", {"Yes": "pass", "No": "fail"}, "the same under another name", True),
        ("first-line-label@1", {"Yes": "pass", "No": "fail"}, "yes-no", False),
        ("exact-label@1", {"Yes": "pass"}, "shorter", False),
    ],
)
def test_reader_is_its_parser_and_its_table(
    project: Project, parser: str, table: dict[str, str], name: str, same: bool
) -> None:
    mapping_publish(project=project, spec=MappingSpec("yes-no", "1", "owner", {"Yes": "pass", "No": "fail"}))
    mapping_publish(project=project, spec=MappingSpec(name, "1", "owner", table))
    first = reader_ensure(project=project, spec=ReaderSpec("exact-label@1", "yes-no@1"))
    other = reader_ensure(project=project, spec=ReaderSpec(parser, f"{name}@1"))
    assert (other == first) is same


FIRST = [case_row("a", 1), case_row("b", 2, slices={"risk": "high"}), case_row("gone", 3)]


def _load(project: Project, version: str, rows: list[CaseRow], follows: str | None = None) -> CaseSet:
    return case_set_load(
        project=project,
        name="cases",
        version=version,
        rows=rows,
        partition="development",
        file="cases.csv",
        now=NOW,
        follows=follows,
    )[0]


def _versions(case_set: CaseSet) -> dict[str, int]:
    return dict(case_set.cases.values_list("case_id", "version"))


@pytest.mark.parametrize("correction", [{"input": "the question, corrected"}, {"slices": {}}, {"cluster": "family"}])
def test_corrected_case_is_a_new_version_and_the_old_one_stays(project: Project, correction: dict[str, Any]) -> None:
    old = _load(project, "1", FIRST)
    corrected = case_row("b", 2, **({"slices": {"risk": "high"}} | correction))
    new = _load(project, "2", [case_row("a", 1), corrected, case_row("new", 3)], follows="1")
    assert _versions(old) == {"a": 1, "b": 1, "gone": 1}
    assert _versions(new) == {"a": 1, "b": 2, "new": 1}
    assert _versions(_load(project, "3", [case_row("a", 1, input="?"), FIRST[1]], follows="2")) == {"a": 2, "b": 3}
    assert _load(project, "2", [case_row("a", 1), corrected, case_row("new", 3)], follows="1") == new


def test_version_that_is_not_there_cannot_be_followed(project: Project) -> None:
    _load(project, "1", FIRST)
    with pytest.raises(InputError) as caught:
        _load(project, "2", FIRST, follows="0")
    (problem,) = caught.value.problems
    assert (problem.key, problem.value, problem.allowed) == ("case_set.follows", "0", "1")
    assert CaseSet.objects.count() == 1


@pytest.mark.parametrize("follows", [None, "2"])
def test_stored_version_cannot_come_to_follow_another(project: Project, follows: str | None) -> None:
    _load(project, "1", FIRST)
    _load(project, "2", FIRST, follows="1")
    with pytest.raises(InputError, match=r"case_set\.follows: case set cases 2 is frozen and follows another version"):
        _load(project, "2", FIRST, follows=follows)
