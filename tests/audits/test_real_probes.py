"""LLMBar, read from its real files: each judge ran in both presentation orders, and the second is an order probe."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.manifest import load_manifest
from audits.services.opening import audit_open
from core.services import operator_of
from judges.models import Comparison
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.real_data, pytest.mark.django_db]

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "llmbar-judge-swap.yaml"
FLIPS = {"old": (185, 418, 1), "new": (170, 414, 5)}


def _opened(manifest: Path, real_data: Path) -> Comparison:
    project = factories.make_project("llmbar")
    loaded = load_manifest(manifest, files=real_data / "llmbar/Dataset/LLMBar")
    return audit_open(manifest=loaded, actor=operator_of(project), now=NOW).audit.comparison


def _flips(comparison: Comparison) -> dict[str, tuple[int, int, int]]:
    """Changed, valid in both orders, and valid in one only."""
    flips = {}
    for side, report in comparison.summary.stability["sides"].items():
        (probe,) = report["order_probes"]
        flips[side] = (probe["changed"], probe["both_valid"], probe["validity_changed"])
        assert (report["repeats"]["pairs"], probe["run"]) == ([], "run 2 (swapped)")
    return flips


def test_flips_between_the_orders_are_those_known_and_the_compared_runs_stay_as_they_are(real_data: Path) -> None:
    comparison = _opened(EXAMPLE, real_data)
    assert _flips(comparison) == FLIPS
    assert [round(changed / valid, 3) for changed, valid, _ in FLIPS.values()] == [0.443, 0.411]
    integrity, whole = comparison.summary.integrity, comparison.summary.transitions["all"]
    assert (integrity["eligible"], integrity["recorded"]["same_files"]) == (418, [])
    assert round(whole["changed"] / whole["pairs"], 3) == 0.177


def test_positions_read_from_the_replies_are_mapped_back_by_the_probe_s_own_mapping(
    real_data: Path, tmp_path: Path
) -> None:
    """What a reply calls (a) is the first output in one order and the second in the other."""
    document: dict[str, Any] = yaml.load(EXAMPLE.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    for judge in document["judges"].values():
        judge["reader"] = {"parser": "regex@1", "pattern": r"Output \((a|b)\) is better", "mapping": "shown@1"}
    document["mappings"] |= {
        "shown@1": {"approved_by": "owner", "table": {"a": "first", "b": "second"}},
        "swapped@1": {"approved_by": "owner", "table": {"a": "second", "b": "first"}},
    }
    for source in document["sources"]:
        if "presentation_order" in source:
            source["mapping"] = "swapped@1"
    (tmp_path / "manifest.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    (tmp_path / "llmbar-guideline.md").write_text("Which output follows the instruction better?")
    assert _flips(_opened(tmp_path / "manifest.yaml", real_data)) == FLIPS
