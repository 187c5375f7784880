"""Once an audit is registered, nobody changes what its reviewers are asked, whichever way they try."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from adjudication.models import Queue
from audits.manifest import load_manifest
from audits.models import Audit
from audits.services.opening import audit_open
from audits.services.registering import audit_register
from audits.synthetic import synthetic_project
from core.errors import InputError
from core.models import Project
from core.services import operator_of
from judges.intake.specs import RubricSpec, ScaleLabel
from judges.models import Rubric
from judges.services.publishing import rubric_publish
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic_project(tmp_path / "sent", name="swap", project="alpha", seed="5", number=60).parent


@pytest.fixture
def audit(folder: Path) -> Audit:
    project = factories.make_project("alpha")
    opened = intake(folder, project)
    audit_register(audit=opened, actor=operator_of(project), now=NOW)
    return opened


def intake(folder: Path, project: Project) -> Audit:
    manifest = load_manifest(folder / "manifest.yaml")
    return audit_open(manifest=manifest, actor=operator_of(project), now=NOW).audit


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def asked(audit: Audit) -> tuple[Any, ...]:
    """What stands beside the cases, by the audit and by its queue."""
    audit = Audit.objects.get(pk=audit.pk)
    return audit.rubric, audit.queue.rubric, audit.rubric.guideline, audit.rubric.scale, Rubric.objects.count()


def another_rubric(audit: Audit) -> Rubric:
    return factories.make_rubric(audit.project, ["bad", "good"], name="another")


def _guideline_file(folder: Path) -> None:
    (folder / "guideline.md").write_text("Something else.")


def _scale(folder: Path) -> None:
    change(folder / "manifest.yaml", 'value: "1"', 'value: "2"')


def _new_version(folder: Path) -> None:
    manifest = (folder / "manifest.yaml").read_text()
    before, after = manifest.split("rubric:", 1)
    (folder / "manifest.yaml").write_text(f"{before}rubric:{after.replace('version: ', 'version: 9', 1)}")


MANIFESTS = {
    "another guideline under the same version": (_guideline_file, "is published with other content"),
    "another scale": (_scale, "registered from another manifest"),
    "a new version of the rubric": (_new_version, "registered from another manifest"),
}


@pytest.mark.parametrize("way", MANIFESTS)
def test_manifest_with_another_rubric_is_refused_in_a_sentence(audit: Audit, folder: Path, way: str) -> None:
    before = asked(audit)
    alter, sentence = MANIFESTS[way]
    alter(folder)
    with pytest.raises(InputError, match=sentence):
        intake(folder, audit.project)
    assert asked(audit) == before


def test_service_that_publishes_rubrics_refuses_other_content_under_the_same_version(audit: Audit) -> None:
    before, rubric = asked(audit), audit.rubric
    scale = tuple(ScaleLabel(entry["label"], entry["value"]) for entry in rubric.scale)
    for guideline, labels in (("Something else.", scale), (rubric.guideline, scale[::-1])):
        with pytest.raises(InputError, match="is published with other content"):
            rubric_publish(project=audit.project, spec=RubricSpec(rubric.name, rubric.version, guideline, labels))
    assert asked(audit) == before


STATEMENTS = {
    "UPDATE judges_rubric SET guideline = 'other' WHERE id = %(rubric)s": "judges_rubric is append-only",
    "UPDATE judges_rubric SET scale = '[]' WHERE id = %(rubric)s": "judges_rubric is append-only",
    "DELETE FROM judges_rubric WHERE id = %(rubric)s": "judges_rubric is append-only",
    "UPDATE audits_audit SET rubric_id = %(other)s WHERE id = %(audit)s": "fixed since its registration",
    "UPDATE audits_audit SET queue_id = %(elsewhere)s WHERE id = %(audit)s": "fixed since its registration",
    "UPDATE adjudication_queue SET rubric_id = %(other)s WHERE id = %(queue)s": "fixed since its first case",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_sql_is_refused_by_the_database(audit: Audit, statement: str) -> None:
    other = another_rubric(audit)
    elsewhere = Queue.objects.create(project=audit.project, name="elsewhere", rubric=other)
    values = {"rubric": audit.rubric_id, "audit": audit.pk, "queue": audit.queue_id}
    values |= {"other": other.pk, "elsewhere": elsewhere.pk}
    before = asked(audit)
    with (
        pytest.raises(IntegrityError, match=STATEMENTS[statement]),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, values)
    assert asked(audit) == before


def test_shell_is_refused_too(audit: Audit) -> None:
    other, before = another_rubric(audit), asked(audit)
    for record in (audit, audit.queue):
        record.rubric = other
        with pytest.raises(IntegrityError, match="rubric_id"), transaction.atomic():
            record.save()
    assert asked(audit) == before


def test_draft_still_follows_its_manifest(folder: Path) -> None:
    project = factories.make_project("alpha")
    before = asked(intake(folder, project))
    _new_version(folder)
    assert asked(intake(folder, project))[:2] != before[:2]


def test_there_is_no_admin_site_to_do_it_by() -> None:
    assert "django.contrib.admin" not in settings.INSTALLED_APPS
