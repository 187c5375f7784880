"""Taking in labels that people gave elsewhere, for the cases that an audit drew."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from django.db import transaction

from adjudication.models import Item, ItemState
from adjudication.services.imports import Imported, ImportedAnswers, labels_import
from adjudication.services.queues import NewItem, items_add
from audits.exports.cells import neutral
from audits.models import Audit, JobKind
from audits.selectors import require_registered
from audits.services.registering import artifacts_of
from audits.services.telling import import_without_job_tell
from core.batches import batches
from core.errors import InputError, Problem
from core.models import Author
from core.services import imported_author
from judges.intake.columns import read_labels
from judges.intake.problems import Problems
from judges.intake.rows import CaseIndex, LabelRow, Tally
from judges.intake.specs import Join, Layout, ReviewColumns, ReviewSource
from judges.models import Mapping as LabelMapping
from judges.services.loads import CHUNK

Scope = Literal["drawn or refused", "drawn only", "all"]
FINAL = "adjudicated"
NAMED = 20


@dataclass
class ReviewImport:
    """`not_drawn` counts cases left out by `drawn only`, or taken as outside the sample by `all`. `elsewhere` counts
    those of other partitions, which no sample of this audit can hold: they are always left out."""

    file: str
    tally: Tally
    not_drawn: int = 0
    elsewhere: int = 0
    imported: Imported = field(default_factory=Imported)

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": self.file,
            **asdict(self.tally),
            "not_drawn": self.not_drawn,
            "elsewhere": self.elsewhere,
            **asdict(self.imported),
        }

    @property
    def words(self) -> str:
        of = self.imported
        return (
            f"{of.reviews} reviews and {of.adjudications} final decisions stored, {of.duplicate} reviews there already"
        )


@dataclass(frozen=True)
class _CaseLabels:
    """One case's rows of the file: one in a swap, one per side in an upgrade."""

    case: int
    number: int
    rows: tuple[LabelRow, ...]


def reviews_import(
    *, audit: Audit, paths: Sequence[Path], scope: Scope, actor: Author, now: datetime, by_job: bool = False
) -> ReviewImport:
    """Store the labels of a file, or of several that follow each other, under imported authors, all or nothing.

    Labels of cases that were not drawn are refused, unless the scope says to leave them out or to take
    them as outside the sample, where no estimate uses them. A job tells webhooks of its end itself.
    """
    require_registered(audit)
    # What the manifest says of its own file holds for this one, and messages name the file that was given.
    source = _as_given(review_source(audit, paths), paths)
    tally = Tally()
    rows = list(_rows_by_case(audit, read_labels(tuple(paths), source, case_index(audit), tally=tally), source))
    pool = set(
        audit.comparison.case_set.cases.filter(partition=audit.comparison.partition).values_list("pk", flat=True)
    )
    report = ReviewImport(file=source.file, tally=tally, elsewhere=sum(row.case not in pool for row in rows))
    rows = [row for row in rows if row.case in pool]
    with transaction.atomic():
        _lock(audit)
        drawn = set(audit.draws.values_list("case", flat=True))
        outside = [row for row in rows if row.case not in drawn]
        report.not_drawn = len(outside)
        if outside and scope == "drawn or refused":
            raise InputError(_not_drawn(source.file, outside))
        if scope == "drawn only":
            rows = [row for row in rows if row.case in drawn]
        for chunk in batches(rows, CHUNK):
            _merge(report.imported, _import_chunk(audit, source, chunk, source.file, actor, now))
        if not by_job:
            import_without_job_tell(kind=JobKind.LABELS, brought=audit, now=now)
    return report


def _lock(audit: Audit) -> None:
    """Imports and extensions of an audit go one after the other. Items are locked before any settlement is
    numbered, the order in which a submit takes its locks: otherwise the two could wait for each other.
    `no_key`, because whoever claims a slot holds it while the lease's foreign key asks for the item."""
    Audit.objects.select_for_update(no_key=True).get(pk=audit.pk)
    unsettled = audit.queue.items.exclude(state=ItemState.SETTLED).order_by("pk")
    for _ in unsettled.select_for_update(no_key=True).values_list("pk").iterator():
        pass


def review_source(audit: Audit, paths: Sequence[Path]) -> ReviewSource:
    """What the manifest says about these files: by the first one's name, or the only entry there is."""
    path = paths[0]
    sources = [_source(entry) for entry in audit.review["sources"]]
    named = [source for source in sources if source.file == path.name]
    if len(named or sources) != 1:
        raise InputError(
            Problem(
                "the manifest does not say how to read this file",
                file=path.name,
                key="reviews",
                allowed=", ".join(source.file for source in sources) or "an entry for it in the manifest",
            )
        )
    absent = [path for path in paths if not path.is_file()]
    if absent:
        raise InputError(Problem("there is no such file", file=str(path)) for path in absent)
    return (named or sources)[0]


def _as_given(source: ReviewSource, paths: Sequence[Path]) -> ReviewSource:
    if len(paths) == 1:
        return replace(source, file=paths[0].name)
    names = tuple(str(path) for path in paths)
    return replace(source, file=f"{names[0]} and {len(names) - 1} more", layout=replace(source.layout, files=names))


def _source(entry: Mapping[str, Any]) -> ReviewSource:
    sides = {side: ReviewColumns(**columns) for side, columns in entry["sides"].items()}
    layout = Layout(**entry.get("layout", {}))  # an audit opened before there were layouts has none
    return ReviewSource(**{**entry, "join": Join(**entry["join"]), "sides": sides, "layout": layout})


def case_index(audit: Audit) -> CaseIndex:
    """The cases of the audit's set, in the order of their file, to which its rows are joined: by their ids, or as
    `export_sample` has written these for a spreadsheet."""
    index = CaseIndex()
    case_ids = audit.comparison.case_set.cases.order_by("pk").values_list("case_id", flat=True)
    for number, case_id in enumerate(case_ids.iterator(), 1):
        index.add(case_id, number)
        if (written := neutral(case_id)) != case_id:
            index.spelled[written] = case_id
    return index


def _rows_by_case(audit: Audit, rows: Iterable[LabelRow], source: ReviewSource) -> Iterable[_CaseLabels]:
    cases = dict(audit.comparison.case_set.cases.order_by("version").values_list("case_id", "pk"))
    grouped: dict[str, list[LabelRow]] = {}
    problems = Problems()
    table = _table(audit, source)
    for row in rows:
        grouped.setdefault(row.case_id, []).append(_mapped(row, table, source, problems))
    problems.raise_if_any()
    return [_CaseLabels(cases[case_id], rows[0].number, tuple(rows)) for case_id, rows in grouped.items()]


def _table(audit: Audit, source: ReviewSource) -> dict[str, str]:
    name, _, version = source.mapping.rpartition("@")
    table: dict[str, str] = LabelMapping.objects.get(project=audit.project, name=name, version=version).table
    return table


def _mapped(row: LabelRow, table: Mapping[str, str], source: ReviewSource, problems: Problems) -> LabelRow:
    """The row in canonical labels. A label outside the table is a problem: nobody guesses what it meant."""
    columns = source.sides[row.side]
    given = [(columns.authors[author], label) for author, label in row.authors.items()]
    if row.adjudicated is not None:
        given.append((columns.adjudicated or FINAL, row.adjudicated))
    unknown = [(column, label) for column, label in given if label not in table]
    for column, label in unknown:
        problems.add(
            Problem(
                f"the label is not in mapping {source.mapping}",
                file=source.file,
                row=row.number,
                column=column,
                value=label,
                allowed=", ".join(sorted(table)),  # PostgreSQL keeps no order of keys
            )
        )
    if unknown:
        return row
    authors = {author: table[label] for author, label in row.authors.items()}
    return LabelRow(
        row.number, row.case_id, row.side, authors, None if row.adjudicated is None else table[row.adjudicated]
    )


def _not_drawn(file: str, outside: list[_CaseLabels]) -> list[Problem]:
    problems = [
        Problem("the case was not drawn", file=file, row=row.number, value=row.rows[0].case_id)
        for row in outside[:NAMED]
    ]
    left = len(outside) - len(problems)
    more = f" ({left} more rows like these)" if left else ""
    choices = "cases of the sample; --drawn-only leaves the others out, --all takes them as outside the sample"
    problems.append(Problem(f"{len(outside)} cases were not drawn{more}", file=file, allowed=choices))
    return problems


def _import_chunk(
    audit: Audit, source: ReviewSource, rows: list[_CaseLabels], file: str, actor: Author, now: datetime
) -> Imported:
    artifacts = artifacts_of(audit, [row.case for row in rows])
    _refuse_unanswered(rows, artifacts, file)
    items = _items(audit, rows, artifacts)
    authors = {
        name: imported_author(project=audit.project, name=name).pk
        for name in sorted({author for row in rows for labels in row.rows for author in labels.authors})
    }
    return labels_import(
        queue=audit.queue,
        rows=[_answers(audit, row, items[row.case], artifacts[row.case], authors) for row in rows],
        adjudicator=imported_author(project=audit.project, name=None),
        file=file,
        actor=actor,
        now=now,
    )


def _refuse_unanswered(rows: list[_CaseLabels], artifacts: Mapping[int, tuple[int, ...]], file: str) -> None:
    what = "a label of a case of which a side has no artifact"
    problems = [
        Problem(what, file=file, row=row.number, value=row.rows[0].case_id) for row in rows if row.case not in artifacts
    ]
    if problems:
        raise InputError(problems[:NAMED])


def _items(audit: Audit, rows: list[_CaseLabels], artifacts: Mapping[int, tuple[int, ...]]) -> dict[int, Item]:
    """The items of these cases; one that nobody drew gets an item that is never served."""
    return items_add(
        queue=audit.queue, items=[NewItem(case=row.case, artifacts=artifacts[row.case], rank=None) for row in rows]
    )


def _answers(
    audit: Audit, row: _CaseLabels, item: Item, artifacts: tuple[int, ...], authors: Mapping[str, int]
) -> ImportedAnswers:
    by_author: dict[int, dict[int, str]] = {}
    final: dict[int, str] = {}
    for labels in row.rows:
        # `both` in a swap; in an upgrade the old artifact stands first.
        artifact = artifacts[-1 if labels.side == "candidate" else 0]
        for author, label in labels.authors.items():
            by_author.setdefault(authors[author], {})[artifact] = label
        if labels.adjudicated is not None:
            final[artifact] = labels.adjudicated
    return ImportedAnswers(item=item, artifacts=artifacts, by_author=by_author, final=final, row=row.number)


def _merge(whole: Imported, part: Imported) -> None:
    whole.reviews += part.reviews
    whole.duplicate += part.duplicate
    whole.adjudications += part.adjudications
    whole.surplus += part.surplus
    whole.waiting += part.waiting
    for how, number in part.settled.items():
        whole.settled[how] = whole.settled.get(how, 0) + number
