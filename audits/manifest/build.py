"""From a document that passed every check to typed specs. Nothing is decided here."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from audits.manifest.document import list_at, mapping_at, names_at, number_at, text_at, texts_at
from audits.manifest.runs import further_role, run_numbers
from audits.manifest.sources import BY_ROW, artifact_sides, file_format, file_quoting
from audits.manifest.specs import CutoverSpec, GateRule, IntegritySpec, Manifest, PlanSpec, RepeatsSpec, ReviewSpec
from core.identity import text_hash
from judges.intake.specs import (
    AS_GIVEN,
    SIDES,
    FurtherRun,
    GeneratorSpec,
    Join,
    Layout,
    MappingSpec,
    ReaderSpec,
    Repair,
    ReviewColumns,
    ReviewSource,
    RubricSpec,
    ScaleLabel,
    SideName,
    SideSpec,
    Source,
)
from judges.parsing import PARSERS

Document = dict[str, Any]


def build(name: str, text: str, document: Document, guideline: str, paths: Mapping[str, Path]) -> Manifest:
    sides: dict[SideName, SideSpec] = {side: _side(document["judges"][side]) for side in SIDES}
    sources = tuple(source_of(document, source, place == 0) for place, source in enumerate(document["sources"]))
    return Manifest(
        name=name,
        text=text,
        hash=text_hash(text),
        migration_id=document["migration_id"],
        project=document["project"],
        case_set_name=document["case_set"]["name"],
        case_set_version=document["case_set"]["version"],
        case_set_follows=document["case_set"].get("follows"),
        partition=document.get("partition", "development"),
        kind=document["kind"],
        rubric=_rubric(document["rubric"], guideline),
        sides=sides,
        mappings={key: _mapping(key, table) for key, table in document["mappings"].items()},
        sources=sources,
        further_runs=tuple(_further_runs(document, sides, sources)),
        reviews=tuple(review_source_of(document, review) for review in list_at(document, "reviews")),
        integrity=IntegritySpec(**_flags(document, "integrity")),
        slices=tuple(texts_at(document, "slices")),
        blocking_slices=tuple(_slice_value(text) for text in texts_at(document, "blocking_slices")),
        review=_review(document),
        plan=_plan(document["plan"]),
        repeats=RepeatsSpec(**mapping_at(document, "repeats")),
        partitions=mapping_at(document, "partitions"),
        cutover=cutover_of(mapping_at(document, "cutover")),
        paths=paths,
    )


def _flags(document: Document, group: str) -> dict[str, bool]:
    return {key: value == "true" for key, value in mapping_at(document, group).items() if value in ("true", "false")}


def _rubric(rubric: Document, guideline: str) -> RubricSpec:
    scale = tuple(ScaleLabel(entry["label"], number_at(entry, "value")) for entry in rubric["scale"])
    return RubricSpec(rubric["name"], rubric["version"], guideline, scale)


def _side(judge: Document) -> SideSpec:
    generator = dict(judge["generator"])
    generator["label_vocabulary"] = tuple(generator.get("label_vocabulary", ()))
    return SideSpec(
        system_version=judge["system_version"],
        generator=GeneratorSpec(**generator),
        reader=_reader(judge["reader"]),
        run=int(judge.get("run", "1")),
        presentation_order=judge.get("presentation_order", AS_GIVEN),
    )


def _reader(reader: Document) -> ReaderSpec:
    setting = PARSERS[reader["parser"]].setting
    return ReaderSpec(reader["parser"], reader["mapping"], reader.get(setting, ""))


def _mapping(key: str, entry: Document) -> MappingSpec:
    name, _, version = key.partition("@")
    return MappingSpec(name, version, entry["approved_by"], entry["table"], entry.get("note", ""))


def source_of(document: Document, source: Document, defines_cases: bool) -> Source:
    roles = source["roles"]
    evidence = roles.get("evidence", ())
    repair = text_at(source, "repair", "split_first_column_by")
    case_id = roles.get("case_id")
    return Source(
        file=_file_name(source),
        format=cast(Any, file_format(document, source)),
        quoting=cast(Any, file_quoting(document, source)),
        join=_join(case_id if defines_cases else source["join"]),
        judgments_of=source.get("judgments_of"),
        artifacts_of=cast(tuple[SideName, ...], artifact_sides(source)),
        defines_cases=defines_cases,
        input=roles.get("input"),
        output=roles.get("output"),
        evidence=(evidence,) if isinstance(evidence, str) else tuple(evidence),
        label=roles.get("label"),
        raw=roles.get("raw"),
        score=roles.get("score"),
        tokens=roles.get("tokens"),
        cost=roles.get("cost"),
        slices=roles.get("slices", {}),
        partition=roles.get("partition"),
        cluster=roles.get("cluster"),
        provenance=roles.get("provenance", {}),
        repair=Repair(repair) if repair else None,
        layout=_layout(source),
        judge_version=roles.get("judge_version"),
        judge_named=_judge_named(document, source) if "judge_version" in roles else "",
        pipelines=tuple(texts_at(document, "judges", str(source.get("judgments_of")), "pipelines")),
        further=cast(Any, further_role(document, source)),
    )


def _judge_named(document: Document, source: Document) -> str:
    judge = document["judges"][source["judgments_of"]]
    return str(judge.get("recorded_as", judge["generator"]["model"]))


def _further_runs(
    document: Document, sides: Mapping[SideName, SideSpec], sources: tuple[Source, ...]
) -> Iterator[FurtherRun]:
    for source, number, entry in zip(sources, run_numbers(document), document["sources"], strict=True):
        if source.further is None or source.judgments_of is None:
            continue
        side = sides[source.judgments_of]
        spec = replace(
            side,
            run=number,
            presentation_order=entry.get("presentation_order", side.presentation_order),
            packaging=entry.get("evidence_probe", AS_GIVEN),
            reader=replace(side.reader, mapping=entry.get("mapping", side.reader.mapping)),
        )
        yield FurtherRun(source.judgments_of, source.further, spec, source)


def _join(columns: Any) -> Join:
    """By row: `row`, or for the case source the mapping `{row: number}`."""
    if columns == BY_ROW or isinstance(columns, dict):
        return Join(None)
    return Join(columns if isinstance(columns, str) else tuple(columns))


def _file_name(entry: Document) -> str:
    """What errors call it, where they do not know which of several files they are about."""
    names = names_at(entry, "file")
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _layout(entry: Document) -> Layout:
    return Layout(
        files=tuple(names_at(entry, "file")),
        rows=entry.get("rows", ""),
        columns=tuple(texts_at(entry, "columns")),
        where=mapping_at(entry, "where"),
        occurrence=int(entry["occurrence"]) if "occurrence" in entry else None,
        unknown_cases=entry.get("unknown_cases", "refuse"),
    )


def review_source_of(document: Document, review: Document) -> ReviewSource:
    sides = review.get("sides") or {"both": review}
    return ReviewSource(
        file=_file_name(review),
        format=cast(Any, file_format(document, review)),
        quoting=cast(Any, file_quoting(document, review)),
        join=_join(review["join"]),
        mapping=review["mapping"],
        sides={side: _people(people) for side, people in sides.items()},
        layout=_layout(review),
    )


def _people(people: Document) -> ReviewColumns:
    authors = people.get("authors", {})
    by_author = authors if isinstance(authors, dict) else {column: column for column in authors}
    return ReviewColumns(by_author, people.get("adjudicated"))


def _slice_value(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _review(document: Document) -> ReviewSpec:
    flags = _flags(document, "review")
    slices = mapping_at(document, "review", "double_review_slices")
    by_slice = {text: float(share) for text, share in slices.items()}
    share = number_at(document, "review", "double_review_share")
    every = text_at(document, "review", "hidden_anchor_every")
    return ReviewSpec(
        double_review_share=ReviewSpec.double_review_share if share is None else share,
        double_review_slices=by_slice,
        reuse_anchors=text_at(document, "review", "reuse_anchors") or "",
        practice_set=text_at(document, "review", "practice_set") or "",
        hidden_anchors=text_at(document, "review", "hidden_anchors") or "",
        hidden_anchor_every=int(every) if every else None,
        **flags,
    )


def _plan(plan: Document) -> PlanSpec:
    strata, allocation = mapping_at(plan, "strata"), dict(mapping_at(plan, "allocation"))
    agree_minimum = int(allocation.pop("agree_minimum", "30"))
    return PlanSpec(
        estimand=plan["estimand"],
        target=plan["target"],
        level=float(plan["level"]),
        policy=plan["policy"],
        seed=plan["seed"],
        side=plan.get("side"),
        half_width=number_at(plan, "half_width"),
        detectable_difference=number_at(plan, "detectable_difference"),
        power=number_at(plan, "power"),
        strata_by=strata.get("by", "agreement"),
        strata_slices=tuple(texts_at(strata, "slices")),
        merge_below=int(strata.get("merge_below", "10")),
        allocation={group: int(text) if text.isdigit() else text for group, text in allocation.items()},
        agree_minimum=agree_minimum,
        predictor=plan.get("predictor", "cells"),
        budget=int(plan["budget"]) if "budget" in plan else None,
    )


def cutover_of(cutover: Document) -> CutoverSpec:
    return CutoverSpec(
        gate=tuple(GateRule(gate["rule"], number_at(gate, "value")) for gate in list_at(cutover, "gate")),
        release_owner=cutover.get("release_owner", ""),
        rollback_to=cutover.get("rollback_to", "baseline"),
        downstream=tuple(texts_at(cutover, "downstream")),
    )
