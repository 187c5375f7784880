"""Publishing what has a version: rubrics, mappings, generators, readers.

Each comes back as it is when the same content is already there. The same name and version over other
content is a conflict, because a version is never changed. What is part of a load is published when that is complete.
"""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.errors import InputError, Problem
from core.identity import value_hash
from core.models import Project
from judges.intake.specs import GeneratorSpec, MappingSpec, ReaderSpec, RubricSpec
from judges.models import Generator, Mapping, Reader, Rubric
from judges.services.loads import Load, part_of


@transaction.atomic
def rubric_publish(*, project: Project, spec: RubricSpec) -> Rubric:
    content = _rubric_content(spec)
    rubric, _ = Rubric.objects.get_or_create(project=project, name=spec.name, version=spec.version, defaults=content)
    if conflict := _conflict(f"rubric {rubric}", "rubric.version", rubric.content_hash, content["content_hash"]):
        raise InputError(conflict)
    return rubric


def rubric_conflict(*, project: Project, spec: RubricSpec) -> Problem | None:
    """What publishing would be refused for, where it would."""
    rubric = Rubric.objects.filter(project=project, name=spec.name, version=spec.version).first()
    if rubric is None:
        return None
    return _conflict(f"rubric {rubric}", "rubric.version", rubric.content_hash, _rubric_content(spec)["content_hash"])


def _rubric_content(spec: RubricSpec) -> dict[str, Any]:
    scale = [asdict(label) for label in spec.scale]
    content_hash = value_hash({"guideline": spec.guideline, "scale": scale})
    return {"guideline": spec.guideline, "scale": scale, "content_hash": content_hash}


def mapping_publish(*, project: Project, spec: MappingSpec, load: Load | None = None) -> Mapping:
    table = dict(spec.table)
    with part_of(load, project=project, now=timezone.now()) as part:
        mapping = part.begin(
            Mapping,
            project=project,
            name=spec.name,
            version=spec.version,
            defaults={"table": table, "approved_by": spec.approved_by, "note": spec.note},
        )
        stored, given = value_hash(mapping.table), value_hash(table)
        if conflict := _conflict(f"mapping {mapping}", f"mappings.{mapping}", stored, given):
            part.conflict(conflict)
    return mapping


def generator_ensure(*, project: Project, spec: GeneratorSpec, load: Load | None = None) -> Generator:
    content = asdict(spec)
    with part_of(load, project=project, now=timezone.now()) as part:
        return part.begin(
            Generator,
            project=project,
            identity=value_hash(content),
            defaults={"model": spec.model, "content": content},
        )


def reader_ensure(*, project: Project, spec: ReaderSpec, load: Load | None = None) -> Reader:
    name, _, version = spec.mapping.rpartition("@")
    mapping = Mapping.objects.get(project=project, name=name, version=version)
    setting = {"setting": spec.setting} if spec.setting else {}
    identity = value_hash({"parser": spec.parser, "mapping": mapping.table, **setting})
    with part_of(load, project=project, now=timezone.now()) as part:
        return part.begin(
            Reader, project=project, identity=identity, defaults={"parser": spec.parser, "mapping": mapping, **setting}
        )


def _conflict(what: str, key: str, stored: str, given: str) -> Problem | None:
    if stored == given:
        return None
    return Problem(
        f"{what} is published with other content (stored {stored[:12]}, given {given[:12]})",
        key=key,
        allowed="the same content, or a new version",
    )
