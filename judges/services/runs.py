"""Taking in judgments, and reading them."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from core.errors import InputError, Problem
from core.identity import sequence_hash, text_hash, value_hash
from judges.intake.rows import JudgmentRow
from judges.intake.specs import AS_GIVEN, SideSpec
from judges.models import (
    Artifact,
    CacheState,
    Generator,
    Judgment,
    LoadState,
    ProvenanceMark,
    Reader,
    Reading,
    ReadingState,
    Run,
    SystemVersion,
)
from judges.parsing import Unparsed, parser_of
from judges.services.loads import CHUNK, LoadCounts, load_begin, load_rows
from judges.services.texts import texts_of, texts_store

CONTENT = (
    "raw_hash",
    "recorded_label",
    "seen_output_hash",
    "seen_evidence_hash",
    "pipeline",
    "cache",
    "made_at",
    "score",
)


def run_load(
    *,
    generator: Generator,
    system: SystemVersion,
    spec: SideSpec,
    rows: Iterable[JudgmentRow],
    file: str,
    now: datetime,
    file_hash: str = "",
    reading_hash: str = "",
) -> tuple[Run, LoadCounts]:
    """Load a run's judgments, or check that the complete run already there holds exactly these."""
    run = load_begin(
        Run,
        now=now,
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
    if run.state == LoadState.COMPLETE:
        _check_shown(run, spec)

    def stored(case_ids: list[str]) -> dict[str, str]:
        found = run.judgments.filter(artifact__case__case_id__in=case_ids).values("artifact__case__case_id", *CONTENT)
        return {content.pop("artifact__case__case_id"): value_hash(content) for content in found}

    counts = load_rows(
        run,
        rows,
        write=lambda chunk: _write_judgments(run, chunk, file),
        given=lambda row: value_hash(_content(row, text_hash(row.raw), file)),
        stored=stored,
        count=run.judgments.count,
        file=file,
    )
    return run, counts


def _write_judgments(run: Run, rows: list[JudgmentRow], file: str) -> None:
    artifacts = _artifacts(run.system_version, [row.case_id for row in rows])
    _refuse_unanswered(run, rows, artifacts, file)
    raw_hashes = texts_store(project=run.case_set.project, texts=[row.raw for row in rows])
    Judgment.objects.bulk_create(
        _judgment(run, artifacts[row.case_id], row, raw_hash, file)
        for row, raw_hash in zip(rows, raw_hashes, strict=True)
    )


def _refuse_unanswered(run: Run, rows: list[JudgmentRow], artifacts: dict[str, Artifact], file: str) -> None:
    what = f"a judgment of a case for which {run.system_version} has no artifact"
    problems = [
        Problem(what, file=file, row=row.number, value=row.case_id) for row in rows if row.case_id not in artifacts
    ]
    if problems:
        raise InputError(problems)


def _check_shown(run: Run, spec: SideSpec) -> None:
    """The same number cannot stand for what was shown in another way."""
    shown = [
        ("presentation order", "presentation_order", run.presentation_order, spec.presentation_order),
        ("packaging of the evidence", "evidence_probe", run.packaging, spec.packaging),
    ]
    for noun, key, stored, given in shown:
        if stored != given:
            what = f"{run} is complete with another {noun}"
            raise InputError(Problem(what, key=key, value=given, allowed=f"{stored}, or another run number"))


def _judgment(run: Run, artifact: Artifact, row: JudgmentRow, raw_hash: str, file: str) -> Judgment:
    judgment = Judgment(run=run, artifact=artifact, **_content(row, raw_hash, file))
    judgment.provenance = provenance_mark(judgment, artifact, repackaged=run.packaging != AS_GIVEN)
    return judgment


def _content(row: JudgmentRow, raw_hash: str, file: str) -> dict[str, str | float | None]:
    """What a row states, as the columns of a judgment."""
    return {
        "raw_hash": raw_hash,
        "recorded_label": row.label,
        "seen_output_hash": row.provenance.get("seen_output_hash") or _hash_of(row.seen_output),
        "seen_evidence_hash": row.provenance.get("seen_evidence_hash") or _hash_of_all(row.seen_evidence),
        "pipeline": row.provenance.get("pipeline", ""),
        "cache": _cache_state(row, file),
        "made_at": row.provenance.get("created_at", ""),
        "score": float(row.score) + 0.0 if row.score else None,  # a database may keep no sign of a zero
    }


def _cache_state(row: JudgmentRow, file: str) -> str:
    stated = row.provenance.get("cache") or CacheState.UNRECORDED
    if stated not in CacheState.values:
        problem = Problem(
            "the cache state is not one of ours",
            file=file,
            row=row.number,
            value=stated,
            allowed=", ".join(CacheState.values),
        )
        raise InputError(problem)
    return stated


def provenance_mark(judgment: Judgment, artifact: Artifact, *, repackaged: bool = False) -> ProvenanceMark:
    """What the record says, held against the artifact. Only what was recorded can contradict. Evidence that was
    `repackaged` on purpose, by an evidence probe, is not the artifact's and need not be."""
    output, evidence = judgment.seen_output_hash, judgment.seen_evidence_hash
    other_evidence = evidence and evidence != artifact.evidence_hash and not repackaged
    if (output and output != artifact.output_hash) or other_evidence:
        return ProvenanceMark.CONTRADICTED
    has_evidence = len(artifact.parts) > 1
    if output and (evidence or not has_evidence):
        return ProvenanceMark.VERIFIED
    # A saved answer that does not say what it was an answer to proves nothing about this artifact.
    return ProvenanceMark.UNVERIFIED if judgment.cache == CacheState.CACHED else ProvenanceMark.LEGACY


def readings_make(*, run: Run, reader: Reader) -> int:
    """Read every judgment of a complete run that this reader has not read yet. Safe to run twice."""
    made = 0
    while unread := list(
        run.judgments.exclude(readings__reader=reader).select_related("artifact").order_by("pk")[:CHUNK]
    ):
        with transaction.atomic():
            raw = texts_of(project=run.case_set.project, hashes=[judgment.raw_hash for judgment in unread])
            Reading.objects.bulk_create(
                [_reading(judgment, reader, raw[judgment.raw_hash]) for judgment in unread], ignore_conflicts=True
            )
        made += len(unread)
    return made


def _reading(judgment: Judgment, reader: Reader, raw: str) -> Reading:
    parsed = parser_of(reader.parser, reader.setting).read(label=judgment.recorded_label, raw=raw)
    reading = Reading(judgment=judgment, reader=reader)
    if judgment.provenance == ProvenanceMark.CONTRADICTED:
        reading.state, reading.reason = ReadingState.STALE, "recorded provenance contradicts the artifact"
        reading.raw_label = "" if isinstance(parsed, Unparsed) else parsed.label
    elif isinstance(parsed, Unparsed):
        reading.state, reading.reason = ReadingState.UNPARSED, parsed.reason
    else:
        reading.raw_label = parsed.label
        reading.verdict = reader.mapping.table.get(parsed.label)
        reading.state = ReadingState.UNMAPPED if reading.verdict is None else ReadingState.VALID
    return reading


def _artifacts(system: SystemVersion, case_ids: list[str]) -> dict[str, Artifact]:
    rows = system.artifacts.filter(case__case_id__in=case_ids).select_related("case")
    return {artifact.case.case_id: artifact for artifact in rows}


def _hash_of(text: str | None) -> str:
    return "" if text is None else text_hash(text)


def _hash_of_all(texts: tuple[str, ...] | None) -> str:
    return "" if texts is None else sequence_hash(text_hash(text) for text in texts)
