"""Publishing what has a version: rubrics, mappings, generators, readers.

Each comes back as it is when the same content is already there. The same name and version over other
content is a conflict, because a version is never changed.
"""

from dataclasses import asdict

from django.db import transaction

from core.errors import InputError, Problem
from core.identity import value_hash
from core.models import Project
from judges.intake.specs import GeneratorSpec, MappingSpec, ReaderSpec, RubricSpec
from judges.models import Generator, Mapping, Reader, Rubric


@transaction.atomic
def rubric_publish(*, project: Project, spec: RubricSpec) -> Rubric:
    scale = [asdict(label) for label in spec.scale]
    content_hash = value_hash({"guideline": spec.guideline, "scale": scale})
    rubric, _ = Rubric.objects.get_or_create(
        project=project,
        name=spec.name,
        version=spec.version,
        defaults={"guideline": spec.guideline, "scale": scale, "content_hash": content_hash},
    )
    _same_or_conflict(f"rubric {rubric}", "rubric.version", rubric.content_hash, content_hash)
    return rubric


@transaction.atomic
def mapping_publish(*, project: Project, spec: MappingSpec) -> Mapping:
    table = dict(spec.table)
    mapping, _ = Mapping.objects.get_or_create(
        project=project,
        name=spec.name,
        version=spec.version,
        defaults={"table": table, "approved_by": spec.approved_by, "note": spec.note},
    )
    _same_or_conflict(f"mapping {mapping}", f"mappings.{mapping}", value_hash(mapping.table), value_hash(table))
    return mapping


@transaction.atomic
def generator_ensure(*, project: Project, spec: GeneratorSpec) -> Generator:
    content = asdict(spec)
    return Generator.objects.get_or_create(
        project=project, identity=value_hash(content), defaults={"model": spec.model, "content": content}
    )[0]


@transaction.atomic
def reader_ensure(*, project: Project, spec: ReaderSpec) -> Reader:
    name, _, version = spec.mapping.rpartition("@")
    mapping = Mapping.objects.get(project=project, name=name, version=version)
    setting = {"setting": spec.setting} if spec.setting else {}
    identity = value_hash({"parser": spec.parser, "mapping": mapping.table, **setting})
    return Reader.objects.get_or_create(
        project=project, identity=identity, defaults={"parser": spec.parser, "mapping": mapping, **setting}
    )[0]


def _same_or_conflict(what: str, key: str, stored: str, given: str) -> None:
    if stored != given:
        raise InputError(
            Problem(
                f"{what} is published with other content (stored {stored[:12]}, given {given[:12]})",
                key=key,
                allowed="the same content, or a new version",
            )
        )
