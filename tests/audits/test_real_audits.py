"""The published examples, whole: from the real files through the database to the figures that are known of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from adjudication.models import Settlement
from audits.models import Audit
from core.models import Project
from judges.models import Blob, CaseSet, Run

pytestmark = [pytest.mark.real_data, pytest.mark.django_db]

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SWAP, UPGRADE = "openqa-judge-2026-11", "openqa-upgrade-2026-11"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The JSON document that a command prints; one that does not end well fails the test."""

    def ran(*arguments: object) -> Any:
        call_command(*map(str, arguments), "--json")
        return json.loads(capsys.readouterr().out)

    return ran


def _interval(look: dict[str, Any], truth: float) -> tuple[bool, bool]:
    """Whether the interval holds the difference over all labels, and is narrower than the whole range."""
    interval = look["look"]["interval"]
    return interval["low"] <= truth <= interval["high"], interval["high"] - interval["low"] < 0.25


def test_swap_from_its_raw_files_to_an_interval_that_holds_the_truth(real_data: Path, run: Callable[..., Any]) -> None:
    folder = real_data / "openqa"
    opened = run("open_audit", EXAMPLES / "openqa-judge-swap.yaml", "--files", folder)
    integrity = opened["integrity"]
    assert (integrity["cases"], integrity["eligible"]) == (1490, 1487)
    assert {state: number for state, number in integrity["pairs"].items() if "agree" not in state and number} == {
        "new invalid": 2,
        "artifact mismatch": 1,
    }
    assert integrity["cases_named"] == {"new invalid": ["68", "498"], "artifact mismatch": ["150"]}
    assert {(file["created"], file["duplicate"]) for file in opened["files"]} == {(1490, 0)}
    again = run("open_audit", EXAMPLES / "openqa-judge-swap.yaml", "--files", folder)
    assert {(file["created"], file["duplicate"]) for file in again["files"]} == {(0, 1490)}

    drawn = sum(run("register", SWAP)["labels"].values())
    human = folder / "NQ301_human.tsv"
    taken = run("import_reviews", SWAP, human, "--drawn-only")
    assert sum(taken["settled"].values()) == drawn
    assert taken["not_drawn"] == 1490 - drawn > 0
    assert _interval(run("look", SWAP), truth=(86 - 71) / 1487) == (True, True)

    run("import_reviews", SWAP, human, "--all")
    status = run("status", SWAP)
    assert list(status["known_cells"]["counts"].values()) == [1175, 71, 86, 155]
    assert (status["known_cells"]["census"], status["progress"]["drawn"]) == (True, drawn)
    assert Settlement.objects.count() == 1490


def test_upgrade_from_its_file_to_an_interval_that_holds_the_truth(real_data: Path, run: Callable[..., Any]) -> None:
    folder = real_data / "openqa"
    opened = run("open_audit", EXAMPLES / "openqa-version-upgrade.yaml", "--files", folder)
    integrity = opened["integrity"]
    assert (integrity["cases"], integrity["eligible"], integrity["pairs"]["missing"]) == (301, 299, 2)
    drawn = sum(run("register", UPGRADE)["labels"].values())
    labels = folder / "agents_fid_to_instructgpt.csv"
    taken = run("import_reviews", UPGRADE, labels, "--drawn-only")
    assert 0 < sum(taken["settled"].values()) <= drawn < 299
    assert _interval(run("look", UPGRADE), truth=(63 - 31) / 299) == (True, True)
    run("import_reviews", UPGRADE, labels, "--all")
    assert list(run("status", UPGRADE)["known_cells"]["counts"].values()) == [163, 31, 63, 42]


LLMBAR = "llmbar/Dataset/LLMBar"
SUBSETS = ("Adversarial/GPTInst", "Adversarial/GPTOut", "Adversarial/Manual", "Adversarial/Neighbor", "Natural")
NESTED = {
    "summhay": ("summhay", ["eval_benchmark_data.json"], (1419, 1419, {}), [617, 164, 323, 315]),
    "llmbar": (
        LLMBAR,
        [f"{subset}/dataset.json" for subset in SUBSETS],
        (419, 418, {"new invalid": ["337"]}),
        [141, 47, 27, 203],
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_swap_in_nested_json_gives_the_four_cells_that_are_known_of_it(
    real_data: Path, run: Callable[..., Any], name: str
) -> None:
    folder, people, (cases, eligible, named), cells = NESTED[name]
    opened = run("open_audit", EXAMPLES / f"{name}-judge-swap.yaml", "--files", real_data / folder)
    integrity = opened["integrity"]
    assert (integrity["cases"], integrity["eligible"], integrity["cases_named"]) == (cases, eligible, named)
    again = run("open_audit", EXAMPLES / f"{name}-judge-swap.yaml", "--files", real_data / folder)
    assert {(file["created"], file["duplicate"]) for file in again["files"]} == {(0, cases)}
    audit = f"{name}-judge-2026-11"
    run("register", audit)
    run("import_reviews", audit, *(real_data / folder / file for file in people), "--all")
    status = run("status", audit)
    assert list(status["known_cells"]["counts"].values()) == cells


def test_swap_without_the_repair_is_refused_by_file_row_and_reason_and_leaves_nothing(
    real_data: Path, tmp_path: Path
) -> None:
    text = (EXAMPLES / "openqa-judge-swap.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "split_first_column_by" not in line]
    assert len(lines) == len(text.splitlines()) - 1
    (tmp_path / "manifest.yaml").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "guideline.md").write_bytes((EXAMPLES / "guideline.md").read_bytes())
    with pytest.raises(CommandError) as ended:
        call_command("open_audit", str(tmp_path / "manifest.yaml"), "--files", str(real_data / "openqa"))
    assert ended.value.returncode == 2
    first, *others = str(ended.value).splitlines()
    assert first.startswith("NQ301_text-davinci-003.tsv, row 1: 4 cells where the header names 5 columns")
    assert others[-1] == "and 1470 more problems"
    assert not any(model.objects.exists() for model in (Project, CaseSet, Run, Blob, Audit))
