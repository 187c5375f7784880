"""Taking in cases and artifacts."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from core.errors import Problem
from core.identity import sequence_hash, text_hash, value_hash
from core.models import Project
from judges.intake.rows import ArtifactRow, CaseRow
from judges.models import Artifact, Case, CaseSet, LoadState, SystemVersion
from judges.models.loads import Loaded
from judges.services.keys import NONE
from judges.services.loads import Load, LoadCounts, load_rows, part_of
from judges.services.rows import as_json, found, ids_taken, rows_write

CASE = ("id", "case_set_id", "case_id", "version", "input_hash", "slices", "partition", "cluster")
CASES_BY_ID = "SELECT case_id, id FROM judges_case WHERE case_id {keys} AND case_set_id = %s"
NO_EVIDENCE = sequence_hash(())
ARTIFACT = ("id", "case_id", "system_version_id", "parts", "output_hash", "evidence_hash")


def case_set_load(
    *,
    project: Project,
    name: str,
    version: str,
    rows: Iterable[CaseRow],
    partition: str,
    file: str,
    now: datetime,
    follows: str | None = None,
    load: Load | None = None,
) -> tuple[CaseSet, LoadCounts]:
    """Load a case set, or check that the one already there holds exactly these cases.

    `follows` names the version whose cases it corrects: a case with other content than there gets the next
    version, all others keep theirs. With `load`, it becomes visible with everything else that is part of that.
    """
    with part_of(load, project=project, now=now) as part:
        earlier = _followed(part, name, follows)
        case_set = part.begin(CaseSet, project=project, name=name, version=version, defaults={"follows": earlier})
        if case_set.follows != earlier:
            part.conflict(_other_ancestor(case_set, follows))

        def given(row: CaseRow) -> str:
            return _content_hash(text_hash(row.input), row, partition)

        counts = load_rows(
            part,
            case_set,
            rows,
            prepare=lambda chunk: _cases_written(part, case_set, chunk, partition),
            given=given,
            stored=lambda case_ids: {key: content for key, (_, content) in _stored(case_set, case_ids).items()},
            count=case_set.cases.count,
            file=file,
        )
    return case_set, counts


def _followed(load: Load, name: str, version: str | None) -> CaseSet | None:
    if version is None:
        return None
    versions = CaseSet.objects.filter(project=load.project, name=name, state=LoadState.COMPLETE)
    found = versions.filter(version=version).first()
    if found is None:
        allowed = ", ".join(versions.order_by("pk").values_list("version", flat=True)) or "none: it is the first"
        what = f"there is no such version of {name}"
        load.conflict(Problem(what, key="case_set.follows", value=version, allowed=allowed))
    return found


def _other_ancestor(case_set: CaseSet, follows: str | None) -> Problem:
    stored = f"follows: {case_set.follows.version}" if case_set.follows else "no follows"
    what = f"case set {case_set} is frozen and follows another version"
    return Problem(what, key="case_set.follows", value=follows, allowed=f"{stored}, or a new version")


def _stored(case_set: CaseSet, case_ids: list[str]) -> dict[str, tuple[int, str]]:
    """Version and content hash by case id."""
    fields = ("case_id", "version", "input_hash", "slices", "partition", "cluster")
    rows = case_set.cases.filter(case_id__in=case_ids).values_list(*fields)
    return {case_id: (version, value_hash(content)) for case_id, version, *content in rows}


def _content_hash(input_hash: str, row: CaseRow, partition: str) -> str:
    return value_hash([input_hash, dict(row.slices), row.partition or partition, row.cluster])


def _cases_written(load: Load, case_set: CaseSet, rows: list[CaseRow], partition: str) -> Callable[[], None]:
    earlier = _stored(case_set.follows, [row.case_id for row in rows]) if case_set.follows else {}
    values, set_pk = [], case_set.pk
    for row in rows:
        input_hash, version = load.texts.add(row.input), 1
        if row.case_id in earlier:
            version, content = earlier[row.case_id]
            version += content != _content_hash(input_hash, row, partition)
        slices = _as_json_once(tuple(row.slices.items()))
        values.append((set_pk, row.case_id, version, input_hash, slices, row.partition or partition, row.cluster))
    keyed = _keyed(load, Case, case_set, rows, values)
    return lambda: rows_write(Case, CASE, keyed)


@lru_cache(maxsize=1000)
def _as_json_once(slices: tuple[tuple[str, str], ...]) -> str:
    """Many cases are in the same slices."""
    return as_json(dict(slices))


def _keyed(
    load: Load,
    model: type[Case | Artifact],
    target: Loaded,
    rows: Sequence[CaseRow | ArtifactRow],
    values: list[tuple[Any, ...]],
) -> list[tuple[Any, ...]]:
    """Values with their keys, one for each row, in the order of the file; what refers to them will need the keys. After
    a problem nothing is written any more, and nothing may seem to be."""
    if load.problems.total:
        return []
    keys = ids_taken(model, len(values))
    load.keys.note(target, rows, keys)
    return [(key, *row) for key, row in zip(keys, values, strict=True)]


def artifacts_load(
    *,
    case_set: CaseSet,
    system_version: str,
    rows: Iterable[ArtifactRow],
    file: str,
    now: datetime,
    load: Load | None = None,
) -> tuple[SystemVersion, LoadCounts]:
    """Load one system version's artifacts, or check that those already there are exactly these."""
    with part_of(load, project=case_set.project, now=now) as part:
        system = part.begin(SystemVersion, case_set=case_set, name=system_version)

        def stored(case_ids: list[str]) -> dict[str, str]:
            artifacts = system.artifacts.filter(case__case_id__in=case_ids)
            hashes = artifacts.values_list("case__case_id", "output_hash", "evidence_hash")
            return {case_id: value_hash(content) for case_id, *content in hashes}

        def given(row: ArtifactRow) -> str:
            return value_hash([text_hash(row.output), sequence_hash(map(text_hash, row.evidence))])

        counts = load_rows(
            part,
            system,
            rows,
            prepare=lambda chunk: _artifacts_written(part, system, chunk),
            given=given,
            stored=stored,
            count=system.artifacts.count,
            file=file,
        )
    return system, counts


def _artifacts_written(load: Load, system: SystemVersion, rows: list[ArtifactRow]) -> Callable[[], None]:
    def ask(case_ids: list[str]) -> dict[str, int]:
        return dict(found(CASES_BY_ID, case_ids, system.case_set_id))

    written, values, system_pk = [], [], system.pk
    for row, case in zip(rows, load.keys.of(system.case_set, rows, ask), strict=True):
        if case == NONE:
            continue  # the stored case set lacks it, which is a problem already
        output = load.texts.add(row.output)
        evidence = [load.texts.add(text) for text in row.evidence]
        parts, evidence_hash = f'[["output","{output}"]]', NO_EVIDENCE
        if evidence:
            named = [["output", output], *([f"evidence {n}", sha256] for n, sha256 in enumerate(evidence, 1))]
            parts, evidence_hash = as_json(named), sequence_hash(evidence)
        written.append(row)
        values.append((case, system_pk, parts, output, evidence_hash))
    keyed = _keyed(load, Artifact, system, written, values)
    return lambda: rows_write(Artifact, ARTIFACT, keyed)
