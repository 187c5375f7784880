"""A column of labels that was shifted for one system is named when the audit is opened, before anybody uses it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.exports.report import report_html
from audits.manifest import load_manifest
from audits.models import Audit, ColumnCheck
from audits.selectors import column_warnings_of
from audits.services.opening import audit_open
from core.models import Project
from core.services import operator_of
from tests import factories
from tests.audits.sample_manifest import SWAP
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

SAID = ["Yes", "No", "Yes", "Yes", "No", "No"]
SHIFTED = (
    "the column of bob agrees with the {judge} far less in system=v3 than elsewhere: 33.3 % of 60 cases against "
    "100.0 %; look for a column that was shifted or joined wrongly"
)


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project("demo")


def _opened(project: Project, folder: Path, rows: list[list[str]], **changes: Any) -> Audit:
    lines = ["id,answer,system,old,new,ann,bob", *(",".join(row) for row in rows)]
    (folder / "cases.csv").write_text("\n".join(lines) + "\n")
    (folder / "guideline.md").write_text("Is it right?")
    document = yaml.load(SWAP, Loader=yaml.BaseLoader)
    document["sources"][0]["roles"]["slices"] = {"system": "system"}
    review = {"file": "cases.csv", "join": "id", "mapping": "yes-no@1", "authors": ["ann", "bob"]}
    document |= {"slices": ["system"], "blocking_slices": [], "reviews": [review]} | changes
    (folder / "audit.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return audit_open(manifest=load_manifest(folder / "audit.yaml"), actor=operator_of(project), now=NOW).audit


def _rows(shifted: str = "v3") -> list[list[str]]:
    rows = []
    for system in ("v1", "v2", "v3"):
        for n in range(60):
            said = SAID[n % 6]
            bob = SAID[(n + (system == shifted)) % 6]
            rows.append([f"{system}-{n}", f"answer {system} {n}", system, said, said, said, bob])
    return rows


def test_shifted_column_of_a_person_is_named_with_the_system(project: Project, tmp_path: Path) -> None:
    audit = _opened(project, tmp_path, _rows())
    assert column_warnings_of(audit) == [SHIFTED.format(judge=f"{side} judge") for side in ("old", "new")]
    assert SHIFTED.format(judge="old judge")[1:] in report_html(audit, NOW, chart="")
    assert audit.comparison.summary.integrity["warnings"] == []


def test_sound_columns_leave_no_warning_and_no_rate(project: Project, tmp_path: Path) -> None:
    audit = _opened(project, tmp_path, _rows(shifted=""))
    assert ColumnCheck.objects.get().warnings == column_warnings_of(audit) == []


def test_manifest_without_label_files_has_nothing_to_check(project: Project, tmp_path: Path) -> None:
    audit = _opened(project, tmp_path, _rows(), reviews=[])
    assert column_warnings_of(audit) == []


def test_same_manifest_again_checks_nothing_anew(project: Project, tmp_path: Path) -> None:
    _opened(project, tmp_path, _rows())
    _opened(project, tmp_path, _rows())
    assert ColumnCheck.objects.count() == 1


def test_column_that_agrees_far_less_for_one_version_of_an_upgrade_is_named(project: Project, tmp_path: Path) -> None:
    document = yaml.load(SWAP, Loader=yaml.BaseLoader)
    judges = document["judges"]
    judges["candidate"] |= {"system_version": "v2", "generator": dict(judges["baseline"]["generator"])}
    sources = document["sources"]
    sources[0] = {"file": "cases.csv", "artifacts_of": "baseline", "roles": {"case_id": "id", "output": "answer"}}
    sources.append({"file": "cases.csv", "artifacts_of": "candidate", "join": "id", "roles": {"output": "system"}})
    sides = {"baseline": {"authors": {"ann": "ann"}}, "candidate": {"authors": {"ann": "bob"}}}
    review = {"file": "cases.csv", "join": "id", "mapping": "yes-no@1", "sides": sides}
    plan = document["plan"] | {"estimand": "success_difference"}
    audit = _opened(
        project,
        tmp_path,
        [row for row in _rows() if row[2] == "v3"],
        kind="version_upgrade",
        judges=judges,
        sources=sources,
        reviews=[review],
        slices=[],
        plan=plan,
    )
    assert column_warnings_of(audit) == [
        "the column of ann agrees with the judge far less in version=v2 than elsewhere: 33.3 % of 60 cases against "
        "100.0 %; look for a column that was shifted or joined wrongly"
    ]
