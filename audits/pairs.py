"""What the pages about single pairs show: pairs by state, the cache audit, another reader."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audits.models import Audit
from audits.overview import address
from audits.pages import audit_context
from core.characters import shown
from core.errors import InputError, Problem
from judges.diagnosis import PairDiagnosis, diagnoses_of
from judges.holdouts import require_open
from judges.models import Mapping as LabelMapping
from judges.models import Reader, Run
from judges.pair_index import MARKS, STATES, caches_of, cases_found, pair_index_of, those_after
from judges.parsing import PARSERS, Parser
from judges.rereading import Rereading, reread
from judges.services.texts import texts_shown

PAGE = 50
REREAD = 500  # responses that the page reads; the command reads as many as it is told
LISTED = 20
SHOWN_RAW = 2000
SIDES = {"baseline": "Old (baseline)", "candidate": "New (candidate)"}


@dataclass(frozen=True)
class PairsPage:
    """One page of diagnoses, in the order of the cases. `after` is where the next begins."""

    pairs: Sequence[PairDiagnosis]
    after: int | None
    number: int | None = None  # of pairs found in all, where that is known without counting


def pairs_page(
    audit: Audit, *, case: str = "", states: Sequence[str] = (), after: int = 0, number: int = PAGE
) -> PairsPage:
    """The pairs with this case id, or in these states or marks, or all. Refused while the holdout is sealed."""
    comparison = audit.comparison
    require_open(comparison)
    if unknown := [state for state in states if state not in (*STATES, *MARKS)]:
        raise InputError(Problem("no such state", key="state", value=unknown[0], allowed=", ".join((*STATES, *MARKS))))
    within = cases_found(pair_index_of(comparison), states or STATES)
    if case:
        versions = comparison.case_set.cases.filter(partition=comparison.partition, case_id=case, pk__gt=after)
        keys = versions.order_by("pk").values_list("pk", flat=True)
        found, total = [key for key in keys if key in within][: number + 1], None
    else:
        found, total = those_after(within, after, number + 1), len(within)
    return PairsPage(
        diagnoses_of(comparison, found[:number]), found[number - 1] if len(found) > number else None, total
    )


def pairs_context(audit: Audit, case: str, state: str, after: int) -> dict[str, Any]:
    page = pairs_page(audit, case=case, states=[state] if state else [], after=after)
    return audit_context(audit, "pairs") | {
        "page": page,
        "case": case,
        "state": state,
        "states": STATES,
        "first": not after,
        "responses": _responses(audit, page.pairs[0]) if case and len(page.pairs) == 1 else [],
        "pairs_url": address("pairs", audit),
        "caches_url": address("caches", audit),
        "readers_url": address("readers", audit),
    }


def _responses(audit: Audit, pair: PairDiagnosis) -> list[tuple[str, str]]:
    """What both judges answered, for the page of one pair."""
    sides = [(words, side.raw_hash) for words, side in zip(SIDES.values(), (pair.old, pair.new), strict=True)]
    texts = texts_shown(project=audit.project, hashes=[sha256 for _, sha256 in sides if sha256])
    return [(words, shown(texts[sha256])) for words, sha256 in sides if sha256]


def caches_context(audit: Audit, after: int) -> dict[str, Any]:
    page = pairs_page(audit, states=MARKS, after=after)
    return audit_context(audit, "pairs") | {
        "page": page,
        "runs": run_caches(audit),
        "first": not after,
        "pairs_url": address("pairs", audit),
    }


def run_caches(audit: Audit) -> list[dict[str, Any]]:
    """Of both runs: how many judgments came fresh or from a cache, by what their provenance proves."""
    comparison, caches = audit.comparison, caches_of(pair_index_of(audit.comparison))
    runs = {"old": comparison.old_run, "new": comparison.new_run}
    return [{"side": side, "run": str(run), "judgments": caches[side]} for side, run in runs.items()]


def reader_of(audit: Audit, side: str) -> tuple[Run, Reader]:
    comparison = audit.comparison
    if side == "baseline":
        return comparison.old_run, comparison.old_reader
    return comparison.new_run, comparison.new_reader


def rereading_of(
    audit: Audit, *, side: str, parser: str, setting: str, mapping: str, first: int | None, listed: int = LISTED
) -> Rereading:
    """One side's stored readings against another reader. Refused while the holdout is sealed."""
    require_open(audit.comparison)
    problems = [
        Problem(f"no such {key}", key=key, value=value, allowed=", ".join(known))
        for key, value, known in (("side", side, SIDES), ("parser", parser, PARSERS))
        if value not in known
    ]
    problems += _setting_problems(PARSERS.get(parser), setting)
    if problems:
        raise InputError(problems)
    run, reader = reader_of(audit, side)
    mapped = mapping_named(audit, mapping) if mapping else reader.mapping
    return reread(
        run=run,
        reader=reader,
        other=Reader(parser=parser, setting=setting, mapping=mapped),
        partition=audit.comparison.partition,
        first=first,
        listed=listed,
    )


def _setting_problems(parser: Parser | None, setting: str) -> list[Problem]:
    """What is wrong with what was said beside the parser: some need a field or a pattern, the others nothing."""
    if parser is None:
        return []
    if not parser.setting:
        what = f"{parser.key} needs none"
        return [Problem(what, key="setting", value=setting, allowed="nothing")] if setting else []
    fault = "missing" if not setting else parser.fault(setting) if parser.fault else ""
    allowed = f"the {parser.setting} that {parser.key} reads by"
    return [Problem(fault, key="setting", value=setting or None, allowed=allowed)] if fault else []


def mapping_named(audit: Audit, written: str) -> LabelMapping:
    name, _, version = written.rpartition("@")
    found = LabelMapping.objects.filter(project=audit.project, name=name, version=version).first()
    if found is None:
        known = LabelMapping.objects.filter(project=audit.project).order_by("name", "version")[:LISTED]
        raise InputError(Problem("no such mapping", key="mapping", value=written, allowed=", ".join(map(str, known))))
    return found


def readers_context(audit: Audit, asked: Mapping[str, str]) -> dict[str, Any]:
    """Both sides' readers with their tables, and, once asked for, what another would read."""
    require_open(audit.comparison)
    wanted = {name: asked.get(name, "") for name in ("side", "parser", "setting", "mapping")}
    return audit_context(audit, "pairs") | {
        "readers": [(words, *reader_of(audit, key)) for key, words in SIDES.items()],
        "sides": SIDES.items(),
        "parsers": list(PARSERS),
        "mappings": LabelMapping.objects.filter(project=audit.project).order_by("name", "version")[:100],
        "asked": wanted,
        "most": REREAD,
        "listed": LISTED,
        "shown_raw": SHOWN_RAW,
        "rereading": rereading_of(audit, **wanted, first=REREAD) if wanted["parser"] else None,
        "pairs_url": address("pairs", audit),
    }
