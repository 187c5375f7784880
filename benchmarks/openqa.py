"""OpenQA-eval as arrays: verdicts and all human labels of the two example audits, read by the product's readers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.manifest import load_manifest
from audits.manifest.specs import Manifest
from audits.stats.design import stratum_name
from audits.stats.pool import Key, Kind
from core.identity import case_identity, text_hash
from judges.intake.columns import read_artifacts, read_cases, read_judgments, read_labels
from judges.intake.rows import CaseIndex
from judges.intake.specs import SIDES, SideName
from judges.parsing import PARSERS, Parsed

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
MANIFESTS = {"swap": "openqa-judge-swap.yaml", "upgrade": "openqa-version-upgrade.yaml"}


@dataclass(frozen=True)
class Labelled:
    """Every eligible case with its verdicts and its settled human label(s), one row per case."""

    kind: Kind
    scale: dict[str, float | None]
    identity: list[str]
    stratum: list[str]
    old: list[str]
    new: list[str]
    reference: list[Key]
    same_content: list[bool]


def labelled_cases(name: str, data: Path) -> Labelled:
    """The audit called `swap` or `upgrade`, from the files in `data/openqa`."""
    manifest = load_manifest(EXAMPLES / MANIFESTS[name], files=data / "openqa")
    index = CaseIndex()
    cases = [row.case_id for row in read_cases(_path(manifest), manifest.case_source, index)]
    outputs = {side: _outputs(manifest, side, index) for side in SIDES}
    verdicts = {side: _verdicts(manifest, side, index, outputs[side]) for side in SIDES}
    references = _references(manifest, index)
    rows = list(_rows(manifest, cases, outputs, verdicts, references))
    columns = [list(column) for column in zip(*rows, strict=True)]
    scale = {label.label: label.value for label in manifest.rubric.scale}
    return Labelled(manifest.kind, scale, *columns)


def _rows(
    manifest: Manifest,
    cases: list[str],
    outputs: dict[SideName, dict[str, str]],
    verdicts: dict[SideName, dict[str, str]],
    references: dict[str, dict[str, str]],
) -> Iterator[tuple[Any, ...]]:
    swap = manifest.kind == "judge_swap"
    for case in cases:
        old, new = (verdicts[side].get(case) for side in SIDES)
        labels = references.get(case, {})
        if old is None or new is None:
            continue
        same = not swap and outputs["baseline"][case] == outputs["candidate"][case]
        yield (
            case_identity(manifest.case_set_name, manifest.case_set_version, case, 1),
            stratum_name(old, new, identical=same),
            old,
            new,
            labels["both"] if swap else (labels["baseline"], labels["candidate"]),
            same,
        )


def _path(manifest: Manifest) -> Path:
    return manifest.path(manifest.case_source)


def _outputs(manifest: Manifest, side: SideName, index: CaseIndex) -> dict[str, str]:
    source = next(source for source in manifest.sources if side in source.artifacts_of)
    rows = read_artifacts(manifest.path(source), source, index, cases=(_path(manifest), manifest.case_source))
    return {row.case_id: text_hash("\x1f".join([row.output, *row.evidence])) for row in rows}


def _verdicts(manifest: Manifest, side: SideName, index: CaseIndex, outputs: dict[str, str]) -> dict[str, str]:
    """Valid verdicts; a judgment of another output than the artifact's is stale, not a verdict."""
    source = next(source for source in manifest.sources if source.judgments_of == side)
    reader = manifest.sides[side].reader
    parser, table = PARSERS[reader.parser], manifest.mappings[reader.mapping].table
    verdicts = {}
    for row in read_judgments(manifest.path(source), source, index, cases=(_path(manifest), manifest.case_source)):
        result = parser.read(label=row.label, raw=row.raw)
        seen = row.recorded.seen_output
        stale = seen is not None and text_hash(seen) != outputs[row.case_id]
        if isinstance(result, Parsed) and result.label in table and not stale:
            verdicts[row.case_id] = table[result.label]
    return verdicts


def _references(manifest: Manifest, index: CaseIndex) -> dict[str, dict[str, str]]:
    source = manifest.reviews[0]
    table = manifest.mappings[source.mapping].table
    found: dict[str, dict[str, str]] = {}
    for row in read_labels(manifest.path(source), source, index):
        if row.adjudicated is not None:
            found.setdefault(row.case_id, {})[row.side] = table[row.adjudicated]
    return found
