"""A manifest and the holdout it names: sealed, opened, retired."""

from pathlib import Path

import pytest

from audits.manifest import load_manifest
from audits.models import Audit
from audits.services.opening import Opened, audit_open
from audits.synthetic import synthetic_project
from core.errors import Refused
from core.models import Project
from core.services import operator_of, project_ensure
from judges.models import Comparison
from judges.services.holdouts import holdout_open
from tests.factories import NOW

pytestmark = pytest.mark.django_db
POOL = "partition: holdout\npartitions: {holdout: arithmetic-5-60}"
CUTOVER = "partition: development\npartitions: {holdout: arithmetic-5-60}\ncutover: {release_owner: ann}"


@pytest.fixture
def project(db: None) -> Project:
    return project_ensure(name="alpha", now=NOW)


def opened(project: Project, folder: Path, name: str, partition: str, seed: str = "5") -> Opened:
    path = synthetic_project(folder / name, name=name, project="alpha", seed=seed, number=60)
    path.write_text(path.read_text().replace("partition: development", partition))
    return audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW)


def test_opening_report_of_a_holdout_names_no_case(project: Project, tmp_path: Path) -> None:
    found = opened(project, tmp_path, "check-1", POOL)
    assert found.integrity["pairs"]["missing"] == 1
    assert found.integrity["cases_named"] == {}


def test_same_manifest_opens_again_after_its_holdout_was_opened(project: Project, tmp_path: Path) -> None:
    first = opened(project, tmp_path, "check-1", POOL)
    comparison = first.audit.comparison
    holdout_open(case_set=comparison.case_set, reason="the gate failed", actor=operator_of(project), now=NOW)
    again = opened(project, tmp_path, "check-1", POOL)
    assert again.audit == first.audit
    assert again.integrity["cases_named"]["missing"] == ["q0017"]


def test_retired_holdout_is_neither_a_pool_nor_named_by_a_cutover_again(project: Project, tmp_path: Path) -> None:
    case_set = opened(project, tmp_path, "check-1", POOL).audit.comparison.case_set
    assert opened(project, tmp_path, "before", CUTOVER, seed="6").audit.state == "draft"
    holdout_open(case_set=case_set, reason="the gate failed", actor=operator_of(project), now=NOW)
    for name, partition, seed in (("check-2", POOL, "5"), ("after", CUTOVER, "6")):
        with pytest.raises(Refused) as caught:
            opened(project, tmp_path, name, partition, seed=seed)
        assert str(caught.value) == (
            "partitions.holdout: holdout of arithmetic 5-60, opened by operator at 2026-03-01 09:00 UTC, is retired: "
            "the gate failed (found 'arithmetic 5-60'); allowed: a holdout of which nobody has read a case"
        )
    assert set(Audit.objects.values_list("name", flat=True)) == {"check-1", "before"}
    assert Comparison.objects.count() == 2
