"""The self-check: five cases taken for what they are, nothing left behind, and a fault that it sees."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command

from audits.services.self_checking import EXPECTED, EXPECTED_FAILURES, SMOKE, self_check
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def _rows() -> dict[str, int]:
    return {model._meta.label: model._base_manager.count() for model in apps.get_models()}


def test_each_case_is_taken_for_what_its_name_says(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("self_check")
    assert capsys.readouterr().out.splitlines() == [
        "valid-agreement: agree",
        "intentional-disagreement: disagree",
        "unmapped-label: unmappable",
        "missing-pair: missing",
        "mismatched-evidence: evidence mismatch",
    ]


def test_seeded_faults_fail_their_rules_and_the_disagreement_fails_none() -> None:
    assert self_check(now=NOW).failures == EXPECTED_FAILURES


def test_nothing_of_it_stays() -> None:
    before = _rows()
    self_check(now=NOW)
    self_check(now=NOW)
    assert _rows() == before


@pytest.mark.parametrize(
    ("file", "fault", "mended", "difference"),
    [
        ("candidate.csv", "partial", "supported", "case unmapped-label: disagree, expected unmappable"),
        (
            "candidate.csv",
            "unsupported\nA lamp",
            "supported\nA lamp",
            "case intentional-disagreement: agree, expected disagree",
        ),
        (
            "candidate.csv",
            "Policy of 2021: one year.,Policy of 2024: two years.",
            "Policy of 2024: two years.,Policy of 2021: one year.",
            "case mismatched-evidence: disagree, expected evidence mismatch",
        ),
        ("cases.csv", "missing-pair,", "another,", ""),
    ],
)
def test_case_taken_for_something_else_is_named_and_the_answer_is_no(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    fault: str,
    mended: str,
    difference: str,
) -> None:
    names = [file] if difference else ["cases.csv", "baseline.csv", "candidate.csv"]
    shutil.copytree(SMOKE.parent, tmp_path / "smoke")
    for name in names:
        path = tmp_path / "smoke" / name
        text = path.read_text()
        assert fault in text
        path.write_text(text.replace(fault, mended))
    monkeypatch.setattr(self_check, "__kwdefaults__", {"manifest": tmp_path / "smoke" / "manifest.yaml"})
    with pytest.raises(SystemExit, match="1"):
        call_command("self_check", "--json")
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [case["case_id"] for case in result["cases"]] == list(EXPECTED)
    assert (difference or "case missing-pair: not there, expected missing") in result["differences"]
