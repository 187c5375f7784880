"""After retention every table is searched for what had been planted in the texts, and what remains is documented."""

import zlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from adjudication.services.retention import retention_apply, retention_find
from audits.manifest import load_manifest
from audits.models import Audit
from audits.services.opening import audit_open
from audits.synthetic import synthetic_project
from audits.tasks import looks_sweep
from tests import factories

CANARY = "Kowalska"


def planted(folder: Path) -> Path:
    """A manifest whose files have the canary in inputs, outputs and replies, two of them in the label itself."""
    manifest = synthetic_project(folder / "s", name="swap-1", project="alpha", seed="5", number=40)
    for file, changes in {
        "cases.tsv": {"What is": f"What, {CANARY}, is", "The answer": f"{CANARY}: the answer"},
        "candidate.csv": {"The answer": f"{CANARY}: the answer", "Checked": f"{CANARY} checked"},
        "candidate-again.csv": {"The answer": f"{CANARY}: the answer"},
        "baseline.csv": {"I worked": f"{CANARY} worked"},
    }.items():
        text = (manifest.parent / file).read_text()
        for old, new in changes.items():
            assert old in text, (file, old)
            text = text.replace(old, new)
        (manifest.parent / file).write_text(text.replace("unsupported", f"{CANARY} odd", 2))
    return manifest


def found() -> set[tuple[str, str]]:
    """Where the canary is, by model and field."""
    return {
        (model.__name__, name)
        for model in apps.get_models()
        for row in model._base_manager.values()
        for name, value in row.items()
        if CANARY in _text(value)
    }


def _text(value: Any) -> str:
    if not isinstance(value, (bytes, memoryview)):
        return str(value)
    try:
        return zlib.decompress(bytes(value)).decode("utf-8", "replace")
    except zlib.error:
        return bytes(value).decode("utf-8", "replace")


@pytest.mark.django_db
def test_of_dropped_texts_remains_what_the_documentation_says(tmp_path: Path) -> None:
    project, now = factories.make_project("alpha"), timezone.now()
    actor = factories.operator_of(project)
    audit_open(manifest=load_manifest(planted(tmp_path)), actor=actor, now=now)
    looks_sweep()
    labels = {("Reading", "raw_label"), ("ComparisonSummary", "integrity_text")}
    assert found() == labels | {("Blob", "content")}
    texts = retention_find(project=project, before=now + timedelta(days=1))
    retention_apply(project=project, found=texts, actor=actor, now=now, despite_undecided=True)
    assert found() == labels
    assert Audit.objects.get().comparison.old_run.judgments.count() > 0
