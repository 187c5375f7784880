"""Taking in judgments, and reading them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import transaction

from core.batches import batches
from core.errors import Problem
from core.identity import sequence_hash, text_hash, value_hash
from judges.intake.rows import NOTHING_RECORDED, JudgmentRow
from judges.intake.specs import AS_GIVEN, SideSpec
from judges.models import (
    CacheState,
    Generator,
    Judgment,
    ProvenanceMark,
    Reader,
    Reading,
    ReadingState,
    Run,
    SystemVersion,
)
from judges.parsing import Unparsed, parser_of
from judges.progress import Progress, silent
from judges.services.cases import NO_EVIDENCE
from judges.services.keys import NONE
from judges.services.loads import CHUNK, Load, LoadCounts, load_rows, part_of
from judges.services.rows import found, ids_taken, new_rows_write, rows_write
from judges.services.texts import texts_of

STATED = (
    "raw_hash",
    "recorded_label",
    "seen_output_hash",
    "seen_evidence_hash",
    "pipeline",
    "cache",
    "made_at",
    "raw_reference",
    "score",
    "tokens",
    "cost",
)
SEEN, CACHE = slice(2, 4), 5  # of STATED
NOTHING_MORE = ("", "", "", CacheState.UNRECORDED.value, "", "", None, None, None)  # of STATED, after the label
CACHE_STATES = frozenset(CacheState.values)
JUDGMENT = ("id", "run_id", "artifact_id", *STATED, "provenance")
JUDGMENT_TYPES = (*["bigint"] * 3, "varchar", "text", *["varchar"] * 6, "float8", "bigint", "float8", "varchar")
# Where nothing more is recorded: the database has the rest by itself, and need not be told of millions.
BARE, BARE_TYPES = (*JUDGMENT[:5], JUDGMENT[-1]), (*JUDGMENT_TYPES[:5], JUDGMENT_TYPES[-1])
READING = ("judgment_id", "reader_id", "state", "raw_label", "reason", "verdict")
READING_TYPES = ("bigint", "bigint", "varchar", "text", "varchar", "varchar")
ARTIFACTS_BY_CASE = """
SELECT judged.case_id, artifact.id, artifact.output_hash, artifact.evidence_hash
FROM judges_case judged JOIN judges_artifact artifact ON artifact.case_id = judged.id
WHERE judged.case_id {keys} AND judged.case_set_id = %s AND artifact.system_version_id = %s
"""
Read = tuple[str, str, str, str | None]
REMEMBERED_LABELS, LONG_LABEL = 1000, 200
# As they are stored: a million rows are too many for members of an enumeration.
CONTRADICTED, VERIFIED = ProvenanceMark.CONTRADICTED.value, ProvenanceMark.VERIFIED.value
UNVERIFIED, LEGACY = ProvenanceMark.UNVERIFIED.value, ProvenanceMark.LEGACY.value


def run_load(
    *,
    generator: Generator,
    system: SystemVersion,
    spec: SideSpec,
    rows: Iterable[JudgmentRow],
    file: str,
    now: datetime,
    reader: Reader | None = None,
    load: Load | None = None,
    whole: bool = True,
    file_hash: str = "",
    reading_hash: str = "",
) -> tuple[Run, LoadCounts]:
    """Load a run's judgments, or check that the complete run already there holds exactly these.

    With `reader`, each is read on its way in, while its text is at hand. `whole` says that no artifact is
    missing because of a problem that is told already.
    """
    with part_of(load, project=generator.project, now=now) as part:
        run = part.begin(
            Run,
            generator=generator,
            case_set=system.case_set,
            system_version=system,
            ordinal=spec.run,
            defaults={
                "presentation_order": spec.presentation_order,
                "packaging": spec.packaging,
                "file_hash": file_hash,
                "reading_hash": reading_hash,
            },
        )
        for conflict in _shown_otherwise(run, spec):
            part.conflict(conflict)

        def stored(case_ids: list[str]) -> dict[str, str]:
            judgments = run.judgments.filter(artifact__case__case_id__in=case_ids)
            rows = judgments.values_list("artifact__case__case_id", *STATED)
            return {case_id: value_hash(content) for case_id, *content in rows}

        counts = load_rows(
            part,
            run,
            rows,
            prepare=lambda chunk: _judgments_written(part, run, reader, chunk, file, whole),
            given=lambda row: value_hash(_stated(row, text_hash(row.raw))),
            stored=stored,
            count=run.judgments.count,
            file=file,
        )
    return run, counts


def _judgments_written(
    load: Load, run: Run, reader: Reader | None, rows: list[JudgmentRow], file: str, whole: bool
) -> Callable[[], None]:
    system, run_pk, repackaged = run.system_version, run.pk, run.packaging != AS_GIVEN
    recorded = [row.case_id for row in rows if row.recorded is not NOTHING_RECORDED]
    shown = _artifacts(system, recorded) if recorded else {}
    stated_of = _stated if recorded else _bare
    read, reader_pk = (None, None) if reader is None else (reading_by(reader), reader.pk)
    add_text = load.texts.add

    def ask(case_ids: list[str]) -> dict[str, int]:
        return {case_id: artifact.pk for case_id, artifact in _artifacts(system, case_ids).items()}

    judgments, readings = [], []
    keys, artifacts = ids_taken(Judgment, len(rows)), load.keys.of(system, rows, ask)
    for row, key, artifact in zip(rows, keys, artifacts, strict=True):
        if artifact == NONE:
            if whole:
                what = f"a judgment of a case for which {system} has no artifact"
                load.problems.add(Problem(what, file=file, row=row.number, value=row.case_id))
            continue
        stated, mark = stated_of(row, add_text(row.raw)), LEGACY
        if row.recorded is not NOTHING_RECORDED:
            if stated[CACHE] not in CACHE_STATES:
                load.problems.add(_unknown_cache_state(row.number, stated[CACHE], file))
            cache = row.recorded.provenance.get("cache", "")
            mark = provenance_mark(shown[row.case_id], seen=stated[SEEN], cache=cache, repackaged=repackaged)
        judgments.append((key, run_pk, artifact, *stated, mark))
        if read is not None:
            readings.append((key, reader_pk, *read(row.label, row.raw, mark)))
    columns, types = (JUDGMENT, JUDGMENT_TYPES) if recorded else (BARE, BARE_TYPES)

    def write() -> None:
        rows_write(Judgment, columns, judgments, types=types)
        if reader is not None:
            rows_write(Reading, READING, readings, types=READING_TYPES)

    return write


def _unknown_cache_state(number: int, cache: str, file: str) -> Problem:
    what, allowed = "the cache state is not one of ours", ", ".join(CacheState.values)
    return Problem(what, file=file, row=number, value=cache, allowed=allowed)


def _shown_otherwise(run: Run, spec: SideSpec) -> Iterator[Problem]:
    """The same number cannot stand for what was shown in another way."""
    shown = [
        ("presentation order", "presentation_order", run.presentation_order, spec.presentation_order),
        ("packaging of the evidence", "evidence_probe", run.packaging, spec.packaging),
    ]
    for noun, key, stored, given in shown:
        if stored != given:
            what = f"{run} is complete with another {noun}"
            yield Problem(what, key=key, value=given, allowed=f"{stored}, or another run number")


def _bare(row: JudgmentRow, raw_hash: str) -> tuple[Any, ...]:
    """What a row states that records nothing more."""
    return raw_hash, row.label


def _stated(row: JudgmentRow, raw_hash: str) -> tuple[Any, ...]:
    """What a row states, in the order of STATED."""
    recorded = row.recorded
    if recorded is NOTHING_RECORDED:
        return raw_hash, row.label, *NOTHING_MORE
    said = recorded.provenance
    return (
        raw_hash,
        row.label,
        said.get("seen_output_hash") or _hash_of(recorded.seen_output),
        said.get("seen_evidence_hash") or _hash_of_all(recorded.seen_evidence),
        said.get("pipeline", ""),
        said.get("cache") or CacheState.UNRECORDED.value,
        said.get("created_at", ""),
        said.get("raw_reference", ""),
        float(recorded.score) + 0.0 if recorded.score else None,  # a database may keep no sign of a zero
        int(recorded.tokens) if recorded.tokens else None,
        float(recorded.cost) + 0.0 if recorded.cost else None,
    )


class Shown(NamedTuple):
    """What a judgment is held against: the artifact as stored."""

    case_id: str
    pk: int
    output_hash: str
    evidence_hash: str

    @property
    def has_evidence(self) -> bool:
        return self.evidence_hash != NO_EVIDENCE


def provenance_mark(artifact: Shown, *, seen: Sequence[str | None], cache: str, repackaged: bool = False) -> str:
    """What the record says, held against the artifact. Only what was recorded can contradict. Evidence that was
    `repackaged` on purpose, by an evidence probe, is not the artifact's and need not be."""
    output, evidence = seen
    other_evidence = evidence and evidence != artifact.evidence_hash and not repackaged
    if (output and output != artifact.output_hash) or other_evidence:
        return CONTRADICTED
    if output and (evidence or not artifact.has_evidence):
        return VERIFIED
    # A saved answer that does not say what it was an answer to proves nothing about this artifact.
    return UNVERIFIED if cache == CacheState.CACHED else LEGACY


def _artifacts(system: SystemVersion, case_ids: list[str]) -> dict[str, Shown]:
    return {row[0]: Shown(*row) for row in found(ARTIFACTS_BY_CASE, case_ids, system.case_set_id, system.pk)}


def readings_make(*, run: Run, reader: Reader, progress: Progress = silent) -> int:
    """Read every judgment of a run that this reader has not read yet. Safe to run twice."""
    made = 0
    for chunk in batches(progress(f"reading {run}", _unread(run, reader)), CHUNK):
        read = reading_by(reader)
        raw = texts_of(project=run.case_set.project, hashes=[raw_hash for _, raw_hash, _, _ in chunk])
        rows = [(key, reader.pk, *read(label, raw[raw_hash], mark)) for key, raw_hash, label, mark in chunk]
        with transaction.atomic():
            new_rows_write(Reading, READING, rows, types=READING_TYPES)
        made += len(chunk)
    return made


def _unread(run: Run, reader: Reader) -> Iterator[tuple[int, str, str | None, str]]:
    fields, last = ("pk", "raw_hash", "recorded_label", "provenance"), 0
    unread = run.judgments.exclude(readings__reader=reader).order_by("pk").values_list(*fields)
    while chunk := list(unread.filter(pk__gt=last)[:CHUNK]):
        last = chunk[-1][0]
        yield from chunk


def reading_by(reader: Reader) -> Callable[[str | None, str, str], Read]:
    """Reads one judgment: state, raw label, reason and verdict."""
    parser, table = parser_of(reader.parser, reader.setting), reader.mapping.table
    valid, unparsed, unmapped, stale = (
        state.value for state in (ReadingState.VALID, ReadingState.UNPARSED, ReadingState.UNMAPPED, ReadingState.STALE)
    )

    def read(label: str | None, raw: str, mark: str) -> Read:
        parsed = parser.read(label=label, raw=raw)
        if mark == CONTRADICTED:
            label = "" if isinstance(parsed, Unparsed) else parsed.label
            return stale, label, "recorded provenance contradicts the artifact", None
        if isinstance(parsed, Unparsed):
            return unparsed, "", parsed.reason, None
        verdict = table.get(parsed.label)
        return unmapped if verdict is None else valid, parsed.label, "", verdict

    if parser.reads == "raw":
        return read
    read_before = lru_cache(maxsize=REMEMBERED_LABELS)(read)  # there are few, each in many rows

    def read_label(label: str | None, raw: str, mark: str) -> Read:
        short = label is not None and len(label) < LONG_LABEL
        return read_before(label, "", mark) if short else read(label, raw, mark)

    return read_label


def _hash_of(text: str | None) -> str:
    return "" if text is None else text_hash(text)


def _hash_of_all(texts: tuple[str, ...] | None) -> str:
    return "" if texts is None else sequence_hash(text_hash(text) for text in texts)
