"""Each preset reads a golden file of its tool's shape, by its defaults alone, to exactly these rows."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.manifest import Manifest, load_manifest
from audits.manifest.presets import FOLDER, expanded, presets
from audits.manifest.schema import SCHEMA
from core.errors import InputError
from judges.intake.columns import read_artifacts, read_cases, read_judgments, read_labels
from judges.intake.rows import CaseIndex
from tests.audits.sample_manifest import SWAP

GOLDEN = Path(__file__).parent / "golden"
Entries = dict[str, Any]

# preset -> file of cases, file of judgments, what their source says beside; cases, artifacts, judgments, labels
PRESETS: dict[str, tuple[str, str, Entries, list[Any], list[Any], list[Any], list[Any]]] = {
    "umbrela": (
        "umbrela.jsonl",
        "umbrela-repeat.jsonl",
        {},
        [("q1|p7", "q1", ""), ("q1|p8", "q1", ""), ("q2|p7", "q2", "")],
        [("q1|p7", "p7", ()), ("q1|p8", "p8", ()), ("q2|p7", "p7", ())],
        [("q2|p7", None, "##final score: 1", ""), ("q1|p7", None, "##final score: 2", "")],
        [("q1|p7", "3"), ("q1|p8", "0"), ("q2|p7", "1")],
    ),
    "inspect": (
        "inspect.json",
        "inspect.json",
        {},
        [
            ("1|1", "How deep is the harbour?", ""),
            ("1|2", "How deep is the harbour?", ""),
            ("b|1", '[{"content":"Is it open?","role":"user"}]', ""),
        ],
        [("1|1", "Nine metres.", ()), ("1|2", "Ten.", ()), ("b|1", "Yes", ())],
        [("1|1", "C", "It agrees.\n\nGRADE: C", ""), ("1|2", "I", "Ten.", "")],
        [("1|1", "C"), ("1|2", "I")],
    ),
    "trec-qrels": (
        "trec-qrels.txt",
        "trec-qrels.txt",
        {},
        [("q1|d1", "q1", ""), ("q1|d2", "q1", ""), ("q2|d1", "q2", "")],
        [("q1|d1", "d1", ()), ("q1|d2", "d2", ()), ("q2|d1", "d1", ())],
        [("q1|d1", "3", "", ""), ("q1|d2", "0", "", ""), ("q2|d1", "1", "", "")],
        [("q1|d1", "3"), ("q1|d2", "0"), ("q2|d1", "1")],
    ),
    "promptfoo": (
        "promptfoo.json",
        "promptfoo.json",
        {},
        [("0", '{"question":"Is it open?"}', ""), ("1", '{"question":"Where is it?"}', "")],
        [("0", "Yes, until nine.", ()), ("1", '{"street":"Quay 4"}', ())],
        [("0", "true", "It says when.", "0.9")],
        [("0", "true")],
    ),
    "llmbar": (
        "llmbar-dataset.json",
        "llmbar-result.json",
        {},
        [("1", "Say it in one word.", ""), ("2", "Count to two.", "")],
        [("1", "Open", ("It is open.",)), ("2", "One.", ("One, two.",))],
        [("1", "1", "Therefore, Output (a) is better.", ""), ("2", "", "Both are good.", "")],
        [("1", "1"), ("2", "2")],
    ),
    "summhay": (
        "summhay.json",
        "summhay.json",
        {"rows": '"predictions_prompted_gpt3.5"'},
        [
            ("harbour/model-1.5|i1", "Ships come at night.", "harbour/model-1.5"),
            ("harbour/model-1.5|i2", "The pier is new.", "harbour/model-1.5"),
            ("harbour/model-2|i2", "The pier is new.", "harbour/model-2"),
        ],
        [
            ("harbour/model-1.5|i1", "## Harbour\n- Ships come at night.", ()),
            ("harbour/model-1.5|i2", "## Harbour\n- Ships come at night.", ()),
            ("harbour/model-2|i2", "- The pier.", ()),
        ],
        [
            ("harbour/model-1.5|i1", "FULL_COVERAGE", "", ""),
            ("harbour/model-1.5|i2", "NO_COVERAGE", "", ""),
            ("harbour/model-2|i2", "PARTIAL_COVERAGE", "", ""),
        ],
        [
            ("harbour/model-1.5|i2", "not_covered"),
            ("harbour/model-1.5|i1", "fully_covered"),
            ("harbour/model-2|i2", "partially_covered"),
        ],
    ),
    "wide-pairs": (
        "wide-pairs.csv",
        "wide-pairs.csv",
        {},
        [("a", "Is it open?", ""), ("b", "Where is it?", "")],
        [("a", 'Yes, "until" nine.', ()), ("b", "Quay 4", ())],
        [("a", "No", "", "")],
        [("a", "Yes"), ("b", "No")],
    ),
    "long-judgments": (
        "long-judgments.csv",
        "long-judgments.csv",
        {},
        [("a", "Is it open?", ""), ("b", "Where is it?", "")],
        [("a", "Yes", ()), ("b", "Quay 4", ())],
        [("a", "No", "", ""), ("b", "No", "", "")],
        [("a", "Yes")],
    ),
}


Loaded = Callable[..., Manifest]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """The sample manifest, whose entries are these files by a preset."""
    (tmp_path / "guideline.md").write_text("Is it right?")

    def load(preset: str, cases: str, judgments: str, files: Path = GOLDEN, **more: Any) -> Manifest:
        document = yaml.load(SWAP, Loader=yaml.BaseLoader)
        document["slices"], document["blocking_slices"] = [], []
        document["sources"] = [
            {"file": cases, "preset": preset},
            {"file": judgments, "preset": preset, "judgments_of": "baseline", **more},
            {"file": judgments, "preset": preset, "judgments_of": "candidate", **more},
        ]
        document["reviews"] = [{"file": cases, "preset": preset, "mapping": "yes-no@1"}]
        path = tmp_path / "audit.yaml"
        path.write_text(json.dumps(document))
        return load_manifest(path, files=files)

    return load


def read(manifest: Manifest) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Cases, artifacts, the candidate's judgments and people's labels."""
    index = CaseIndex()
    source, judged, (review,) = manifest.sources[0], manifest.sources[2], manifest.reviews
    cases = list(read_cases(manifest.path(source), source, index))
    artifacts = list(read_artifacts(manifest.path(source), source, index))
    judgments = list(read_judgments(manifest.path(judged), judged, index))
    labels = list(read_labels(manifest.path(review), review, index))
    return (
        [(row.case_id, row.input, row.cluster) for row in cases],
        [(row.case_id, row.output, row.evidence) for row in artifacts],
        [(row.case_id, row.label, row.raw, row.recorded.score) for row in judgments],
        [(row.case_id, row.adjudicated) for row in labels],
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_reads_its_golden_file(loaded: Loaded, preset: str) -> None:
    cases_file, judgments_file, more, *expected = PRESETS[preset]
    assert read(loaded(preset, cases_file, judgments_file, **more)) == tuple(expected)


def test_every_preset_has_a_golden_file_and_a_line_in_the_intake_page() -> None:
    page = (FOLDER.parent / "intake.md").read_text(encoding="utf-8")
    assert set(presets()) == set(PRESETS)
    assert [name for name in presets() if f"[{name}](presets/{name}.yaml)" not in page] == []


def test_image_holds_the_documents_that_the_code_reads() -> None:
    root = FOLDER.parents[1]
    kept = {line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {str(path.relative_to(root)) for path in (SCHEMA, FOLDER)} <= kept


def test_preset_of_inspect_reads_an_archive_as_the_log(loaded: Loaded, tmp_path: Path) -> None:
    log = json.loads((GOLDEN / "inspect.json").read_text())
    samples = log.pop("samples")
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    archived = read(loaded("inspect", "log.eval", "log.eval", files=tmp_path))
    assert archived == read(loaded("inspect", "inspect.json", "inspect.json"))


def test_preset_of_umbrela_reads_the_reply_under_either_name(loaded: Loaded) -> None:
    judgments = read(loaded("umbrela", "umbrela.jsonl", "umbrela.jsonl"))[2]
    assert [raw for _, _, raw, _ in judgments] == [
        "The passage answers it.\n\n##final score: 3",
        "1: 2",
        "##final score: {relevance_score}",
    ]


def test_manifest_overrides_a_preset_key_by_key_and_role_by_role(loaded: Loaded) -> None:
    manifest = loaded(
        "promptfoo", "promptfoo.json", "promptfoo.json",
        where={"[].promptIdx": "1"}, roles={"raw": "", "label": "[].success"},
    )  # fmt: skip
    judged = manifest.sources[2]
    assert (judged.label, judged.raw, judged.score) == ("[].success", None, "[].gradingResult.score")
    assert judged.layout.where == {"[].promptIdx": "1"}
    assert judged.layout.rows == "results.results"


def test_preset_is_only_what_its_file_says() -> None:
    document = {"sources": [{"file": "a.csv", "preset": "wide-pairs"}, {"file": "a.csv", "preset": "wide-pairs",
                "judgments_of": "candidate", "join": "row"}]}  # fmt: skip
    whole, problems = expanded(document)
    assert problems == []
    assert whole["sources"] == [
        {"file": "a.csv", "roles": {"case_id": "case_id", "input": "input", "output": "output"}},
        {"file": "a.csv", "judgments_of": "candidate", "join": "row", "roles": {"label": "candidate_label"}},
    ]
    assert "preset" in document["sources"][0]


def test_unknown_preset_is_refused_with_those_there_are(loaded: Loaded) -> None:
    with pytest.raises(InputError) as caught:
        loaded("inspct", "inspect.json", "inspect.json")
    assert str(caught.value.problems[0]) == (
        "audit.yaml, sources[0].preset: no such preset; did you mean 'inspect'? (found 'inspct'); "
        f"allowed: {', '.join(presets())}"
    )
