"""Making versions of anchor sets from an audit's references, and taking them in from a file, unchanged."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction

from audits.anchorsets import (
    COLUMNS,
    SET_COLUMNS,
    SET_NAME,
    ContentHash,
    Record,
    anchor_sets_of,
    changes_between,
    labels_of,
    line_of,
    packed,
    unpacked,
)
from audits.exports.anchorcards import Card, Tally, card_head, card_of_audit, card_of_file
from audits.exports.anchorfiles import NUMBERS, SET_FORMATS, WHOLE_NUMBERS
from audits.exports.anchors import anchors_of
from audits.exports.cells import recovered
from audits.exports.tables import format_of
from audits.models import AnchorPart, AnchorSet, Audit, Job, JobKind
from audits.selectors import require_registered
from audits.services.jobs import job_ask
from audits.services.telling import import_without_job_tell
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.identity import file_hash
from core.models import Author
from core.texts import require_storable
from judges.holdouts import require_open
from judges.intake.problems import Problems
from judges.intake.readers import Row, Table, read_rows

PART = 1000  # anchors
NULLABLE = {"value", "stratum", "position", "inclusion_probability"}
LONGEST_NAME, LONGEST_LICENCE = 100, 200
SAME_IN_ALL = (*SET_COLUMNS, "rubric", "rubric_version", "rubric_hash")
WHOLE = "the file as it was exported"
TOLD_BY_THE_ANCHORS = (*SET_COLUMNS, "anchors", "cases", "labels", "labelled_by", "case_set", "system_versions")

Progress = Callable[[str, Iterator[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Packed:
    """Anchors on their way into a set: in parts, with what they add up to."""

    parts: Sequence[bytes]
    tally: Tally
    contradictory: int

    def lines(self) -> Iterator[str]:
        for part in self.parts:
            yield from unpacked(part)


def _pack(records: Iterable[Mapping[str, Any]], *hashes: ContentHash) -> Packed:
    parts: list[bytes] = []
    held: list[str] = []
    tally = Tally()

    def seen() -> Iterator[Mapping[str, Any]]:
        for record in records:
            line = line_of(record)
            for one in hashes:
                one.add(line)
            tally.add(record)
            held.append(line)
            if len(held) == PART:
                parts.append(packed(held))
                held.clear()
            yield record

    labels = labels_of(seen())
    if held:
        parts.append(packed(held))
    return Packed(parts, tally, labels.contradictory)


def anchor_set_ask(*, audit: Audit, name: str, licence: str, actor: Author, now: datetime) -> Job:
    """Ask for the next version, where there may be one."""
    check_words(name, licence)
    require_registered(audit)
    require_open(audit.comparison)
    asked = {"name": name, "licence": licence}
    return job_ask(kind=JobKind.MAKE_ANCHORS, audit=audit, actor=actor, now=now, asked=asked)


def anchor_set_make(
    *, audit: Audit, name: str, licence: str, actor: Author, now: datetime, progress: Progress | None = None
) -> AnchorSet:
    """The next version of a set from the references in force. Refused where nothing has changed since the last one."""
    check_words(name, licence)
    require_registered(audit)
    require_open(audit.comparison)
    before = anchor_sets_of(audit.project).filter(name=name).first()
    if before is not None and before.audit_id != audit.pk:
        allowed = "another name; the versions of a set are of one audit"
        raise Refused(Problem("a set of this name comes from elsewhere", key="name", value=name, allowed=allowed))
    version = before.version + 1 if before else 1
    content = ContentHash(name, version, licence)
    as_before = [ContentHash(name, before.version, licence)] if before else []
    anchors = (anchor._asdict() for anchor in anchors_of(audit))
    found = _pack(progress("Anchors", anchors) if progress else anchors, content, *as_before)
    if not found.tally.anchors:
        raise Refused(Problem(f"{audit} has no settled label", allowed="at least one settled label"))
    if before and as_before[0].hexdigest() == before.content_hash:
        what = f"nothing was settled otherwise since {before}, under the same licence"
        raise Refused(Problem(what, key="name", value=name, allowed="new settlements, or another licence"))
    head = card_head(name=name, version=version, licence=licence, content_hash=content.hexdigest())
    card = head | card_of_audit(audit, found.tally.of_file(found.contradictory), actor, now)
    return _store(card, found, before, audit=audit, source="", actor=actor, now=now)


def check_words(name: str, licence: str) -> None:
    require_storable("name", name, longest=LONGEST_NAME)
    require_storable("licence", licence, longest=LONGEST_LICENCE)
    problems = []
    if not SET_NAME.fullmatch(name):
        allowed = "one line without @ and /, without spaces at its ends"
        problems.append(Problem("no name of a set", key="name", value=name, allowed=allowed))
    if not licence.strip():
        allowed = "what others may do with it, such as CC-BY-4.0 or internal use only"
        problems.append(Problem("say the licence", key="licence", allowed=allowed))
    if problems:
        raise InputError(problems)


@transaction.atomic
def _store(
    card: Card,
    found: Packed,
    before: AnchorSet | None,
    *,
    audit: Audit | None,
    source: str,
    actor: Author,
    now: datetime,
) -> AnchorSet:
    try:
        with transaction.atomic():
            made = AnchorSet.objects.create(
                project=actor.project,
                name=card["anchor_set"],
                version=card["anchor_set_version"],
                audit=audit,
                source=source,
                rubric=found.tally.first["rubric"],
                rubric_version=found.tally.first["rubric_version"],
                rubric_hash=found.tally.first["rubric_hash"],
                licence=card["licence"],
                anchors=found.tally.anchors,
                content_hash=card["content_hash"],
                card_text=json.dumps(card, ensure_ascii=False),
                changes=changes_between(before, found.lines()).as_dict() if before else {},
                actor=actor,
                at=now,
            )
    except IntegrityError as error:  # one_anchor_set_per_version: two leads at once
        raise Refused(Problem("somebody else made this version in the same moment", allowed="look at it")) from error
    AnchorPart.objects.bulk_create(
        (AnchorPart(anchor_set=made, n=n, lines=part) for n, part in enumerate(found.parts, 1)), batch_size=10
    )
    payload = {"anchor_set": made.pk, "content_hash": made.content_hash, "anchors": made.anchors, "source": source}
    event_record(name="audits.anchor-set-made", actor=actor, now=now, payload=payload)
    return made


@dataclass(frozen=True)
class Taken:
    anchor_set: AnchorSet
    present: bool  # it was there already, with the same content


def anchor_set_take(
    *,
    path: Path,
    card: Path | None,
    actor: Author,
    now: datetime,
    progress: Progress | None = None,
    by_job: bool = False,
) -> Taken:
    """Take in a set as it was exported, in any of its formats, all of it or nothing. An altered file is refused by its
    hash; the same one again adds nothing. A job tells webhooks of its end itself."""
    kind = format_of(path, SET_FORMATS)
    if not path.is_file():
        raise InputError(Problem("there is no such file", file=str(path)))
    rows = _rows(path, kind)
    records = _checked(progress("Anchors", rows) if progress else rows, kind, path.name)
    first = next(records, None)
    if first is None:
        raise InputError(Problem("there is no anchor", file=path.name, allowed="at least one settled label"))
    said = {name: first[name] for name in SET_COLUMNS}
    check_words(said["anchor_set"], said["licence"])
    content = ContentHash(said["anchor_set"], said["anchor_set_version"], said["licence"])
    found = _pack(_chained(first, records), content)
    if content.hexdigest() != said["content_hash"]:
        what = f"the file was altered: what is in it has the hash {content.hexdigest()}"
        raise InputError(
            Problem(what, file=path.name, column="content_hash", value=said["content_hash"], allowed=WHOLE)
        )
    head = card_head(
        name=said["anchor_set"],
        version=said["anchor_set_version"],
        licence=said["licence"],
        content_hash=said["content_hash"],
    )
    facts = head | found.tally.of_file(found.contradictory)
    told = _card_beside(card, facts) if card else card_of_file(facts)
    sets = anchor_sets_of(actor.project).filter(name=head["anchor_set"])
    if (there := sets.filter(version=head["anchor_set_version"]).first()) is not None:
        return Taken(_same(there, head, path.name), present=True)
    before = sets.filter(version__lt=head["anchor_set_version"]).first()
    source = f"{path.name[:150]}, sha256 {file_hash(path)[:12]}"
    with transaction.atomic():
        made = _store(told, found, before, audit=None, source=source, actor=actor, now=now)
        if not by_job:
            import_without_job_tell(kind=JobKind.TAKE_ANCHORS, brought=made, now=now)
    return Taken(made, present=False)


def _same(there: AnchorSet, head: Card, file: str) -> AnchorSet:
    if there.content_hash != head["content_hash"]:
        what = f"{there} is here already, with other content"
        value, allowed = head["content_hash"], f"{there.content_hash}, or another name or version"
        raise Refused(Problem(what, file=file, column="content_hash", value=value, allowed=allowed))
    return there


def _chained(first: Record, rest: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from rest


def _rows(path: Path, kind: str) -> Iterator[Row]:
    return read_rows(Table(path, kind, fields=(*COLUMNS, *SET_COLUMNS)))  # type: ignore[arg-type]


def _checked(rows: Iterator[Row], kind: str, file: str) -> Iterator[Record]:
    """Records with the types that the hash is over. The first that is none ends it: the rest of an altered file would
    tell no more."""
    first: Record | None = None
    problems = Problems()
    for row in rows:
        missing = [name for name in (*SET_COLUMNS, *COLUMNS) if name not in row.cells]
        if missing or not row.cells["content_hash"]:
            what = "missing; a file of an anchor set has it in every row"
            column = missing[0] if missing else "content_hash"
            problems.stop(Problem(what, file=file, row=row.number, column=column, allowed=WHOLE))
        texts = {name: recovered(cell) if kind == "csv" else cell for name, cell in row.cells.items()}
        record = {name: _typed(name, texts[name], row.number, file, problems) for name in (*COLUMNS, *SET_COLUMNS)}
        first = first or record
        for name in SAME_IN_ALL:
            if record[name] != first[name]:
                what, value = "another than in the first row", str(record[name])
                problems.stop(Problem(what, file, row.number, name, value=value, allowed=str(first[name])))
        yield record


def _typed(name: str, text: str, row: int, file: str, problems: Problems) -> Any:
    if not text and name in NULLABLE:
        return None
    try:
        return int(text) if name in WHOLE_NUMBERS else float(text) if name in NUMBERS else text
    except ValueError:
        problems.stop(Problem("not a number", file=file, row=row, column=name, value=text, allowed=WHOLE))


def _card_beside(path: Path, facts: Card) -> Card:
    """The card as it came, if it says of the anchors what they are."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(Problem("not a readable data card", file=path.name, allowed="the .card.json")) from error
    for name in TOLD_BY_THE_ANCHORS:
        stated = card.get(name) if isinstance(card, dict) else None
        if stated != facts[name]:
            what = "the card is of another set, or was altered"
            raise InputError(Problem(what, file=path.name, key=name, value=str(stated), allowed=str(facts[name])))
    return dict(card)
