"""Reports as plain lines, for the commands."""

from collections.abc import Mapping, Sequence
from typing import Any

from audits.diagnoses import CaseDiagnosis
from audits.exports.comparison import floor_words, integrity_warnings, spent_rows, stability_changes
from audits.templatetags.figures import amount
from core.errors import shortened
from judges.diagnosis import PairDiagnosis


def integrity_lines(
    report: dict[str, Any],
    runs: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    columns: Sequence[str] = (),
) -> list[str]:
    lines = [f"integrity: {report['eligible']} of {report['cases']} cases are eligible"]
    for state, number in report["pairs"].items():
        if number:
            named = report["cases_named"].get(state)
            lines.append(f"  {state}: {number}" + (f" ({', '.join(named)})" if named else ""))
    for side in ("old", "new"):
        counts = report[side]
        states = ", ".join(f"{number} {state}" for state, number in counts["states"].items() if number)
        marks = ", ".join(f"{number} {mark}" for mark, number in counts["provenance"].items() if number)
        lines.append(
            f"  {side}: {counts['judged']} judged, {counts['missing']} missing; {states}; provenance {marks}; "
            f"{counts['labels_mapped']} of {counts['labels_seen']} labels seen are mapped"
        )
        lines += _evidence_and_cache(side, counts, report["recorded"]["other_evidence"][side])
    for side, further in (runs or {}).items():
        for run in further[1:]:
            states = ", ".join(f"{number} {state}" for state, number in run["states"].items() if number)
            lines.append(f"  {side} {run['name']}, {run['role']}: {run['judged']} judged; {states}")
    for spent in spent_rows(report):
        each = f"{amount(spent.old_each)} old, {amount(spent.new_each)} new"
        lines.append(f"  {spent.kind} for each judgment: {each}; the new side takes {spent.words}")
    lines += _rows_and_slices(report)
    lines += [f"  WARNING {warning}" for warning in integrity_warnings(report, columns)]
    lines += [f"  NOT MET {failure}" for failure in report["failures"]]
    return lines


def _evidence_and_cache(side: str, counts: dict[str, Any], evidence: dict[str, int]) -> list[str]:
    lines = []
    if any(evidence.values()):
        found = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in evidence.items() if number)
        lines.append(f"  {side}: other evidence than the artifact's: {found}")
    if counts["cached"]:
        lines.append(f"  {side}: {counts['cached']} answers from a cache, {counts['stale_from_cache']} of them stale")
    return lines


def _rows_and_slices(report: dict[str, Any]) -> list[str]:
    lines = [
        f"  {file['file']}, {file['what']}: {file['rows']} rows, {file['missing']} without an answer, "
        f"{file['duplicates']} repeated, {file['absent']} cases without a row"
        + (f", {file['left_out']} left out with their cases" if file.get("left_out") else "")
        for file in report["recorded"]["files"]
        if file["missing"] or file["duplicates"] or file["absent"] or file.get("left_out")
    ]
    same = report["recorded"]["same_material"]
    if same["cases"]:
        named = "; ".join(", ".join(group) for group in same["named"])
        lines.append(f"  {same['cases']} cases are the same bytes as another: {named}")
    for test in report["missing_by_slice"]:
        if test["p_value"] is not None:
            lines.append(f"  missing by {test['slice']}: p = {test['p_value']:.4f} over {test['values']} values")
    for name, values in report["slices"].items():
        for value, counts in values.items():
            unparsed = counts["old"]["unparsed"], counts["new"]["unparsed"]
            if counts["missing"] or any(unparsed):
                lines.append(
                    f"  {name}={value or '(none)'}: {counts['cases']} cases, {counts['missing']} missing; unparsed "
                    f"{unparsed[0]} of {counts['old']['judged']} old, {unparsed[1]} of {counts['new']['judged']} new"
                )
    return lines


def stability_lines(transitions: dict[str, Any], stability: dict[str, Any]) -> list[str]:
    lines = []
    for change in stability_changes(stability):
        note = f" ({change.note})" if change.note else ""
        lines.append(f"  {change.group}, {change.name}: {change.changed} of {change.pairs} changed{note}")
    return lines + [f"  {words}" for words in floor_words(transitions, stability)]


def transition_lines(report: dict[str, Any]) -> list[str]:
    whole = report["all"]
    lines = [f"{whole['changed']} of {whole['pairs']} eligible pairs changed ({report['ineligible']} not eligible)"]
    width = max(len(label) for label in report["labels"])
    lines.append("  " + "old \\ new".ljust(width + 10) + "".join(label.rjust(width + 8) for label in report["labels"]))
    for label, counts in zip(report["labels"], whole["counts"], strict=True):
        lines.append("  " + label.ljust(width + 10) + "".join(str(number).rjust(width + 8) for number in counts))
    for name, values in report["slices"].items():
        for value, matrix in values.items():
            lines.append(f"  {name}={value or '(none)'}: {matrix['changed']} of {matrix['pairs']} changed")
    for change in report["blocking_changes"]:
        lines.append(f"  BLOCKING {change['slice']}, case {change['case_id']}: {change['old']} → {change['new']}")
    return lines


def progress_lines(progress: dict[str, Any]) -> list[str]:
    lines = [f"{progress['settled']} of {progress['drawn']} drawn cases are settled"]
    for stratum in progress["strata"]:
        line = f"  {stratum['name']}: {stratum['counting']} count of {stratum['drawn']} drawn of {stratum['size']}"
        if stratum["waiting"]:
            line += f"; {stratum['waiting']} waiting behind {stratum['gaps']}"
        lines.append(line)
    items = ", ".join(f"{number} {state}" for state, number in progress["items"].items())
    lines.append(f"  items: {items}; {progress['reviews']} reviews, {progress['adjudications']} adjudications")
    if progress["labels_outside_sample"]:
        lines.append(f"  {progress['labels_outside_sample']} settled cases stand outside the sample")
    return lines


def cells_line(cells: dict[str, Any]) -> str:
    counts = " / ".join(str(number) for number in cells["counts"].values())
    known = "a census" if cells["census"] else f"{cells['known']} of {cells['eligible']} labels known, not an estimate"
    return f"four cells (both / only old / only new / neither): {counts} ({known})"


def diagnosis_lines(pair: PairDiagnosis) -> list[str]:
    lines = [f"case {pair.case_id}: {pair.state}"]
    for name, side in (("old", pair.old), ("new", pair.new)):
        lines.append(f"  {name}: {side.judge}; {side.execution}; judge called: {side.called}")
        for one in side.identities:
            saw = f"saw {one.stored[:12]}{' DIFFERS' if one.contradicts else ''}" if one.stored else "saw not recorded"
            lines.append(f"    {one.name}: asked about {one.requested[:12]}, {saw}")
        if side.parse_state:
            kept = f", kept at {side.raw_reference}" if side.raw_reference else ""
            read = f"{side.parse_state}{f': {side.reason}' if side.reason else ''}"
            lines += [
                f"    cache {side.cache}, provenance {side.provenance}, pipeline {side.pipeline or 'not recorded'}, "
                f"made at {side.made_at or 'not recorded'}; response {side.raw_hash[:12]}{kept}",
                f"    label {shortened(side.raw_label)!r} by {side.parser}: {read}; mapping {side.mapping}: "
                f"verdict {side.verdict or 'none'}",
            ]
    return lines


def diagnose_line(case: CaseDiagnosis) -> str:
    said, (old, new) = case.diagnosis, case.pair.verdicts
    blocking = f", blocking in {case.blocking}" if case.blocking else ""
    found = f"{said.code}, {said.owner}, {said.kind}: {said.words}" if said else "undiagnosed"
    return f"  case {case.pair.case_id}: {old} → {new}{blocking}; {case.label_words}: {case.outcome}; {found}"
