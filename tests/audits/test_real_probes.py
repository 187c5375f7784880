"""LLMBar, read from its real files: each judge ran in both presentation orders, and the second is an order probe."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.manifest import load_manifest
from audits.services.opening import audit_open
from core.models import Project
from core.services import operator_of
from judges.models import Comparison
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.real_data, pytest.mark.django_db]

SUBSETS = ("Natural", "Adversarial/GPTInst", "Adversarial/GPTOut", "Adversarial/Manual", "Adversarial/Neighbor")
ORDERS = {"as given": "swap = False", "swapped": "swap = True"}
JUDGES = {"baseline": "ChatGPT-0301", "candidate": "ChatGPT"}
COLUMNS = ["id", "instruction", "first", "second", "subset", *(f"{j} {o}" for j in JUDGES.values() for o in ORDERS)]
MANIFEST: dict[str, Any] = {
    "migration_id": "llmbar",
    "project": "llmbar",
    "case_set": {"name": "llmbar", "version": "1"},
    "kind": "judge_swap",
    "rubric": {
        "name": "better-output",
        "version": "1",
        "guideline": "guideline.md",
        "scale": [{"label": "1"}, {"label": "2"}],
    },
    "judges": {
        side: {
            "system_version": "llmbar-outputs",
            "generator": {"model": model},
            "reader": {"parser": "exact-label@1", "mapping": "shown@1"},
        }
        for side, model in JUDGES.items()
    },
    # What is shown as (a) in the one order is (b) in the other.
    "mappings": {
        "shown@1": {"approved_by": "owner", "table": {"a": "1", "b": "2"}},
        "shown-swapped@1": {"approved_by": "owner", "table": {"a": "2", "b": "1"}},
    },
    "sources": [
        {
            "file": "llmbar.csv",
            "roles": {
                "case_id": "id",
                "input": "instruction",
                "output": "first",
                "evidence": "second",
                "slices": {"subset": "subset"},
            },
        },
        *(
            {
                "file": "llmbar.csv",
                "judgments_of": side,
                "join": "id",
                "roles": {"label": f"{model} as given", "raw": "instruction"},
            }
            for side, model in JUDGES.items()
        ),
        *(
            {
                "file": "llmbar.csv",
                "judgments_of": side,
                "join": "id",
                "presentation_order": "swapped",
                "mapping": "shown-swapped@1",
                "roles": {"label": f"{model} swapped", "raw": "instruction"},
            }
            for side, model in JUDGES.items()
        ),
    ],
    "slices": ["subset"],
    "plan": {"estimand": "accuracy_difference", "target": "pool", "level": "0.95", "policy": "planned", "seed": "1"}
    | {"half_width": "0.05"},
}


def _shown_as_better(completion: str) -> str:
    """The letter of the output that the reply calls better; blank where it calls neither, or both."""
    found = set(re.findall(r"Output \((a|b)\) is better", completion))
    return found.pop() if len(found) == 1 else ""


def _rows(folder: Path) -> list[list[str]]:
    rows = []
    for subset in SUBSETS:
        base = folder / "llmbar" / "Dataset" / "LLMBar" / subset
        judged = {
            model: json.loads((base / "evaluators" / model / "CoT" / "result.json").read_text(encoding="utf-8"))
            for model in JUDGES.values()
        }
        for n, case in enumerate(json.loads((base / "dataset.json").read_text(encoding="utf-8"))):
            letters = [
                _shown_as_better(judged[model][n]["results"][0][order]["completion"][0])
                for model in JUDGES.values()
                for order in ORDERS.values()
            ]
            cells = [case["input"], case["output_1"], case["output_2"], subset]
            rows.append([f"{subset}-{n}", *cells, *letters])
    return rows


@pytest.fixture
def comparison(db: None, real_data: Path, tmp_path: Path) -> Comparison:
    with (tmp_path / "llmbar.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *_rows(real_data)])
    (tmp_path / "guideline.md").write_text("Which output follows the instruction better?")
    (tmp_path / "manifest.yaml").write_text(yaml.safe_dump(MANIFEST, sort_keys=False, allow_unicode=True))
    project: Project = factories.make_project("llmbar")
    manifest = load_manifest(tmp_path / "manifest.yaml")
    return audit_open(manifest=manifest, actor=operator_of(project), now=NOW).audit.comparison


def test_flips_between_the_orders_are_those_the_owners_published(comparison: Comparison) -> None:
    sides = comparison.summary.stability["sides"]
    flips = {}
    for side in ("old", "new"):
        (probe,) = sides[side]["order_probes"]
        flips[side] = (probe["changed"], probe["both_valid"], probe["validity_changed"])
        assert (sides[side]["repeats"]["pairs"], probe["run"]) == ([], "run 2 (swapped)")
    assert flips == {"old": (185, 418, 1), "new": (170, 414, 5)}
    assert [round(changed / valid, 3) for changed, valid, _ in flips.values()] == [0.443, 0.411]


def test_probes_leave_the_compared_runs_as_they_are(comparison: Comparison) -> None:
    integrity, transitions = comparison.summary.integrity, comparison.summary.transitions
    assert (integrity["cases"], integrity["eligible"], integrity["pairs"]["new invalid"]) == (419, 418, 1)
    assert round(transitions["all"]["changed"] / transitions["all"]["pairs"], 3) == 0.177
