"""From settled labels to cases that people practise on or are measured by: those of an earlier audit, of an anchor set,
or of a file. All are matched by content, so that a label never meets another output."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from adjudication.models import QueuePurpose
from adjudication.services.calibrating import KnownCase, known_cases_add
from audits.anchorsets import CONTENT, labels_of, records_of
from audits.exports.anchorfiles import SET_FORMATS
from audits.exports.anchors import anchors_of
from audits.exports.cells import recovered
from audits.exports.tables import format_of
from audits.models import AnchorSet, Audit, Job, JobKind
from audits.selectors import require_registered
from audits.services.anchorsets import LONGEST_NAME, anchor_set_take
from audits.services.jobs import job_ask
from core.batches import batches
from core.errors import InputError, Problem
from core.identity import file_hash
from core.models import Author, Project
from core.texts import require_storable
from judges.holdouts import require_open
from judges.intake.problems import Problems
from judges.intake.readers import Table, read_header, read_rows
from judges.models import Artifact, Rubric

BATCH = 500
NAMES = ("case_set", "case_set_version", "case_id", "system_version")
NEEDED = (*CONTENT, *NAMES, "rubric", "rubric_version", "rubric_hash", "label")
RATIONALE = "rationale"  # a file of before has none
MOST_OUTPUTS = 2
PURPOSES = (QueuePurpose.PRACTICE, QueuePurpose.ANCHORS)


@dataclass(frozen=True)
class AnchorRow:
    """One artifact's label, as a file or an earlier audit states it."""

    number: int
    fields: Mapping[str, str]

    @property
    def content(self) -> tuple[str, ...]:
        return tuple(self.fields[name] for name in CONTENT)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.fields[name] for name in NAMES)


@dataclass(frozen=True)
class MadeSet:
    """What came of it. `incomplete` cases were left out: fewer of their outputs have a label than those of others.
    `absent` anchors of a set were, as the project has no such content, or several labels of it."""

    name: str
    purpose: QueuePurpose
    source: str
    rubric: str
    added: int
    present: int
    incomplete: int
    absent: int = 0

    @property
    def words(self) -> str:
        left_out = ""
        if self.incomplete:
            left_out += f"; {self.incomplete} cases left out, of which not every output has a label"
        if self.absent:
            left_out += f"; {self.absent} anchors left out, of whose content the project has nothing, or several labels"
        return f"{self.name}: {self.added} cases added from {self.source}, {self.present} there already{left_out}"


def known_set_ask(*, anchor_set: AnchorSet, name: str, purpose: str, actor: Author, now: datetime) -> Job:
    """Ask a worker for a set of the anchors that the project has, or for them to be added to one."""
    require_storable("name", name, longest=LONGEST_NAME)
    problems = []
    if not name.strip():
        problems.append(Problem("say a name", key="name", allowed="a new one, or that of a set to add to"))
    if purpose not in PURPOSES:
        problems.append(Problem("say what it is for", key="purpose", value=purpose, allowed=" or ".join(PURPOSES)))
    if problems:
        raise InputError(problems)
    asked = {"anchor_set": anchor_set.pk, "name": name.strip(), "purpose": purpose}
    return job_ask(kind=JobKind.KNOWN_SET, actor=actor, now=now, asked=asked)


def known_set_from_audit(*, audit: Audit, name: str, purpose: QueuePurpose, actor: Author, now: datetime) -> MadeSet:
    """Make a set of the references in force of an audit, or add them to one. Refused for a sealed holdout."""
    require_registered(audit)
    require_open(audit.comparison)
    rows = [AnchorRow(n, _texts(anchor._asdict())) for n, anchor in enumerate(anchors_of(audit), 1)]
    return _store(audit.project, rows, f"audit {audit.name}", name, purpose, actor, now)


def known_set_from_file(
    *, project: Project, path: Path, name: str, purpose: QueuePurpose, actor: Author, now: datetime
) -> MadeSet:
    """Make a set of the anchors of a file, or add them to one: all of them, or none. A file of an anchor set is taken
    in as that set first, which checks its hash."""
    kind = format_of(path, SET_FORMATS)
    if not path.is_file():
        raise InputError(Problem("there is no such file", file=str(path)))
    if "content_hash" in read_header(Table(path, kind)):  # type: ignore[arg-type]
        taken = anchor_set_take(path=path, card=None, actor=actor, now=now).anchor_set
        return known_set_from_anchors(anchor_set=taken, name=name, purpose=purpose, actor=actor, now=now)
    source = f"{path.name}, sha256 {file_hash(path)[:12]}"
    return _store(project, list(_file_rows(path, kind)), source, name, purpose, actor, now)


def known_set_from_anchors(
    *, anchor_set: AnchorSet, name: str, purpose: QueuePurpose, actor: Author, now: datetime
) -> MadeSet:
    """Make a set of those anchors whose content the project has, or add them to one."""
    project, labels = anchor_set.project, labels_of(records_of(anchor_set))
    rows: dict[int, AnchorRow] = {}  # by artifact
    seen = 0
    for batch in batches(records_of(anchor_set), BATCH):
        few = [
            AnchorRow(seen + n, _texts({name: record[name] for name in (*NEEDED, RATIONALE)}))
            for n, record in enumerate(batch, 1)
            if labels.of(record[name] for name in CONTENT) is not None
        ]
        seen += len(batch)
        matched = _artifacts_of(project, few)
        for row in few:
            if row.number in matched:
                rows.setdefault(matched[row.number].pk, row)
    if not rows:
        allowed = "a set with cases of this project, byte for byte"
        what = "the project has the content of none of the anchors"
        raise InputError(Problem(what, value=str(anchor_set), allowed=allowed))
    made = _store(project, list(rows.values()), f"anchor set {anchor_set}", name, purpose, actor, now)
    return replace(made, absent=anchor_set.anchors - len(rows))


def _file_rows(path: Path, kind: str) -> Iterator[AnchorRow]:
    for row in read_rows(Table(path, kind, fields=(*NEEDED, RATIONALE))):
        texts = {name: recovered(cell) for name, cell in row.cells.items()} if kind == "csv" else row.cells
        yield AnchorRow(row.number, texts)


def _texts(record: Mapping[str, object]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in record.items()}


def _store(
    project: Project,
    rows: Sequence[AnchorRow],
    source: str,
    name: str,
    purpose: QueuePurpose,
    actor: Author,
    now: datetime,
) -> MadeSet:
    if not rows:
        raise InputError(Problem("there is no anchor", file=source, allowed="at least one settled label"))
    problems = Problems()
    _columns_are_there(rows, source, problems)
    rubric = _rubric_of(project, rows, source, problems)
    artifacts = _artifacts_of(project, rows)
    seen: dict[int, int] = {}
    for row in rows:
        if row.number not in artifacts:
            problems.add(_unmatched(project, row, source))
        elif (first := seen.setdefault(artifacts[row.number].pk, row.number)) != row.number:
            problems.add(_at(row, "output_hash", f"the artifact has a label in row {first} already", source))
    problems.raise_if_any()
    cases, incomplete = _cases(rows, artifacts, source)
    added = known_cases_add(rubric=rubric, name=name, purpose=purpose, cases=cases, source=source, actor=actor, now=now)
    return MadeSet(name, purpose, source, str(rubric), added.added, added.present, incomplete)


def _columns_are_there(rows: Iterable[AnchorRow], source: str, problems: Problems) -> None:
    for row in rows:
        for column in NEEDED:
            if not row.fields.get(column):
                what = "missing; a file as export_anchors writes it has this column in every row"
                problems.add(Problem(what, file=source, row=row.number, column=column))
    problems.raise_if_any()


def _rubric_of(project: Project, rows: Sequence[AnchorRow], source: str, problems: Problems) -> Rubric:
    """The one rubric of all rows, as the project has it."""
    first = rows[0].fields
    rubric = Rubric.objects.filter(project=project, name=first["rubric"], version=first["rubric_version"]).first()
    if rubric is None:
        known = ", ".join(str(one) for one in Rubric.objects.filter(project=project).order_by("name", "version"))
        named = f"{first['rubric']} {first['rubric_version']}"
        what = "the project has no such rubric"
        raise InputError(Problem(what, file=source, row=rows[0].number, column="rubric", value=named, allowed=known))
    stated = {"rubric": rubric.name, "rubric_version": rubric.version, "rubric_hash": rubric.content_hash}
    for row in rows:
        for column, value in stated.items():
            if row.fields[column] != value:
                what = "another rubric than the project's, or than that of the first row"
                problems.add(_at(row, column, what, source, allowed=value))
        if row.fields["label"] not in rubric.labels:
            problems.add(_at(row, "label", "not a label of the scale", source, allowed=", ".join(rubric.labels)))
    return rubric


def _artifacts_of(project: Project, rows: Sequence[AnchorRow]) -> dict[int, Artifact]:
    """The artifact of each row's very content: the one that the row names, or else the latest."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], Artifact]] = {}
    hashes = sorted({row.fields["input_hash"] for row in rows})
    for start in range(0, len(hashes), BATCH):
        artifacts = Artifact.objects.filter(
            case__case_set__project=project, case__input_hash__in=hashes[start : start + BATCH]
        ).select_related("case__case_set", "system_version")
        for artifact in artifacts.order_by("pk"):
            case = artifact.case
            content = (case.input_hash, artifact.output_hash, artifact.evidence_hash)
            names = (case.case_set.name, case.case_set.version, case.case_id, artifact.system_version.name)
            found.setdefault(content, {})[names] = artifact
    return {
        row.number: named.get(row.names) or list(named.values())[-1]
        for row in rows
        if (named := found.get(row.content))
    }


def _unmatched(project: Project, row: AnchorRow, source: str) -> Problem:
    """Why no artifact is the row's: by the hash that differs from that of the artifact it names, if there is one."""
    case_set, version, case_id, system = row.names
    artifact = (
        Artifact.objects.filter(case__case_set__project=project, case__case_set__name=case_set)
        .filter(case__case_set__version=version, case__case_id=case_id, system_version__name=system)
        .select_related("case")
        .last()
    )
    if artifact is None:
        return _at(row, "output_hash", "no artifact of the project has this content", source)
    stored = (artifact.case.input_hash, artifact.output_hash, artifact.evidence_hash)
    differing = [(name, value) for name, value in zip(CONTENT, stored, strict=True) if row.fields[name] != value]
    column, value = differing[0]
    return _at(row, column, f"not the hash of case {case_id} by {system}", source, allowed=value)


def _at(row: AnchorRow, column: str, what: str, source: str, allowed: str = "") -> Problem:
    return Problem(what, file=source, row=row.number, column=column, value=row.fields[column], allowed=allowed)


def _cases(rows: Sequence[AnchorRow], artifacts: Mapping[int, Artifact], source: str) -> tuple[list[KnownCase], int]:
    """One known case for each case, with as many outputs as the most of them have; how many have fewer comes second."""
    by_case: dict[int, list[AnchorRow]] = {}
    for row in rows:
        by_case.setdefault(artifacts[row.number].case_id, []).append(row)
    whole = max(map(len, by_case.values()))
    if whole > MOST_OUTPUTS:
        what = f"{whole} outputs of one case have a label"
        raise InputError(Problem(what, file=source, allowed=f"at most {MOST_OUTPUTS}, as the desk shows them"))
    counts = Counter(len(found) for found in by_case.values())
    cases = [
        KnownCase(
            case=case,
            labels={artifacts[row.number].pk: row.fields["label"] for row in found},
            rationale=found[0].fields.get(RATIONALE, ""),
            row=found[0].number,
        )
        for case, found in by_case.items()
        if len(found) == whole
    ]
    return cases, counts.total() - counts[whole]
