"""What may stand in the cells that name, class, hash or count something. Texts are free; these are stored and
compared.
"""

import math
import re
from collections.abc import Iterator

from core.characters import UNSTORABLE
from core.errors import Problem
from judges.intake.readers import Row
from judges.intake.rows import CaseRow, Recorded
from judges.intake.specs import Source

PARTITIONS = ("development", "holdout", "smoke")
CACHE_STATES = ("fresh", "cached", "unrecorded")
LONGEST_NAME = 200
LONGEST_TIME = 40
HASH = re.compile(r"[0-9a-f]{64}")
TOKENS = re.compile(r"[0-9]{1,15}")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def case_faults(case: CaseRow, source: Source) -> list[Problem]:
    """Faults of a case's id, cluster, slices and partition."""
    if not (case.slices or case.cluster or case.partition) and not name_fault(case.case_id):
        return []
    key, faults = source.join.name, []
    names: list[tuple[str | None, str]] = [(key, case.case_id), (source.cluster, case.cluster)]
    names += [(source.slices.get(name), value) for name, value in case.slices.items()]
    for column, value in names:
        if column and (value or column == key) and (fault := name_fault(value)):
            allowed = "a name on one line"
            faults.append(Problem(fault, source.file, case.number, column, value=value, allowed=allowed))
    if case.partition and case.partition not in PARTITIONS:
        column, allowed = source.partition or "", ", ".join(PARTITIONS)
        what = "no such partition"
        faults.append(Problem(what, source.file, case.number, column, value=case.partition, allowed=allowed))
    return faults


def label_fault(label: str, source: Source) -> Problem | None:
    """What keeps a label from being stored and compared."""
    found = UNSTORABLE.search(label)
    if found is None:
        return None
    what = "a label with a NUL character" if found[0] == "\x00" else "a label with half of a character"
    return Problem(what, column=source.label or "", value=label, allowed="a text")


def recorded_faults(recorded: Recorded, source: Source) -> Iterator[Problem]:
    """Faults of what was recorded beside label and response."""
    if recorded.score and not is_finite_number(recorded.score):
        what, allowed = "a score that is no finite number", "a number such as 0.85, or nothing"
        yield Problem(what, column=source.score or "", value=recorded.score, allowed=allowed)
    if recorded.tokens and not TOKENS.fullmatch(recorded.tokens):
        what, allowed = "not a number of tokens", "a whole number from 0 of at most 15 digits, or nothing"
        yield Problem(what, column=source.tokens or "", value=recorded.tokens, allowed=allowed)
    if recorded.cost and not (is_finite_number(recorded.cost) and float(recorded.cost) >= 0):
        what, allowed = "a cost that is no number from 0", "a number such as 0.0021, or nothing"
        yield Problem(what, column=source.cost or "", value=recorded.cost, allowed=allowed)
    for role, value in recorded.provenance.items():
        fault, allowed = _provenance_fault(role, value)
        if not fault and role == "pipeline" and source.pipelines and value not in source.pipelines:
            fault = f"a pipeline that the manifest does not permit for the {source.judgments_of} side"
            allowed = ", ".join(source.pipelines)
        if fault:
            yield Problem(fault, column=source.provenance[role], value=value, allowed=allowed)


def version_faults(row: Row, source: Source) -> Iterator[Problem]:
    """A row of another judge version than the side declares would be booked under the wrong name."""
    if source.judge_version and row.cells[source.judge_version] != source.judge_named:
        what = f"a judge version that the {source.judgments_of} side does not declare"
        found = row.cells[source.judge_version]
        yield Problem(what, source.file, row.number, source.judge_version, value=found, allowed=source.judge_named)


def name_fault(value: str, longest: int = LONGEST_NAME) -> str:
    """Names are compared, listed and sorted: one that only looks like another would divide a case in two."""
    if not value.strip():
        return "blank"
    if value != value.strip():
        return "spaces at an end"
    if not value.isprintable():
        return "a character that cannot be seen"
    return f"longer than {longest} characters" if len(value) > longest else ""


def is_finite_number(text: str) -> bool:
    """Decimal digits only: `float` alone would take `nan`, `1_000` and the digits of other scripts."""
    return bool(NUMBER.fullmatch(text)) and math.isfinite(float(text))


def _provenance_fault(role: str, value: str) -> tuple[str, str]:
    if role in ("seen_output_hash", "seen_evidence_hash"):
        return ("" if HASH.fullmatch(value) else "not a SHA-256 hash"), "64 lower-case hexadecimal digits"
    if role == "cache":
        return ("" if value in CACHE_STATES else "no such cache state"), ", ".join(CACHE_STATES)
    longest = LONGEST_TIME if role == "created_at" else LONGEST_NAME
    return name_fault(value, longest), f"a text on one line of at most {longest} characters"
