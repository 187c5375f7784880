"""A small sound manifest, and ways to spoil it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.manifest import Manifest, load_manifest
from core.errors import InputError

SWAP = """\
migration_id: swap-1
project: demo
case_set: {name: cases, version: "1"}
kind: judge_swap
rubric:
  name: right
  version: "1"
  guideline: guideline.md
  scale:
    - {label: fail, value: "0"}
    - {label: pass, value: "1"}
judges:
  baseline:
    system_version: v1
    generator: {model: old}
    reader: {parser: exact-label@1, mapping: yes-no@1}
  candidate:
    system_version: v1
    generator: {model: new}
    reader: {parser: exact-label@1, mapping: yes-no@1}
mappings:
  yes-no@1: {approved_by: owner, table: {Yes: pass, No: fail}}
sources:
  - file: cases.csv
    roles: {case_id: id, output: answer, slices: {risk: risk}}
  - file: cases.csv
    judgments_of: baseline
    join: id
    roles: {label: old}
  - file: cases.csv
    judgments_of: candidate
    join: id
    roles: {label: new}
reviews:
  - {file: cases.csv, join: id, mapping: yes-no@1, authors: [ann, bob], adjudicated: final}
slices: [risk]
blocking_slices: [risk=high]
plan:
  estimand: accuracy_difference
  target: pool
  level: "0.95"
  half_width: "0.05"
  policy: monitored
  seed: "1"
"""
Change = Callable[[dict[str, Any]], object]
Load = Callable[[str], Manifest]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    (tmp_path / "guideline.md").write_text("Is it right?")
    (tmp_path / "cases.csv").write_text("id,answer,risk,old,new,ann,bob,final\n")

    def loaded(text: str) -> Manifest:
        path = tmp_path / "audit.yaml"
        path.write_text(text, encoding="utf-8")
        return load_manifest(path)

    return loaded


def changed(change: Change) -> str:
    document = yaml.load(SWAP, Loader=yaml.BaseLoader)
    change(document)
    return yaml.safe_dump(document, sort_keys=False)


def refusals(load: Load, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(text)
    assert all(problem.file for problem in caught.value.problems)
    return [str(problem).removeprefix("audit.yaml, ").removeprefix("audit.yaml: ") for problem in caught.value.problems]


def upgrade(document: dict[str, Any]) -> None:
    """The same manifest as a sound version upgrade."""
    document["kind"] = "version_upgrade"
    document["judges"]["candidate"].update(system_version="v2", generator={"model": "old"})
    document["sources"][0]["artifacts_of"] = "baseline"
    document["sources"].append(
        {"file": "cases.csv", "artifacts_of": "candidate", "join": "id", "roles": {"output": "answer"}}
    )
    review = document["reviews"][0]
    del review["authors"], review["adjudicated"]
    review["sides"] = {"baseline": {"authors": {"ann": "old"}}, "candidate": {"authors": {"ann": "new"}}}
    document["plan"]["estimand"] = "success_difference"


def put(*path: str | int, value: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


def drop(*path: str | int) -> Change:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]

    return change
