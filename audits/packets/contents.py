"""What a handoff packet holds: the names of its files and the shapes of its tables, for the writer and the checker."""

from typing import NamedTuple

FORMAT = "tertium-packet/1"

FACTS = "packet.json"
MANIFEST = "manifest.yaml"
GUIDELINE = "guideline.md"
CASES = "cases.csv"
PAIRS = "pairs.csv"
INTEGRITY = "integrity.json"
TRANSITIONS = "transitions.json"
STABILITY = "stability.json"
FRAME = "frame.csv"
SETTLEMENTS = "settlements.csv"
REVIEWS = "reviews.csv"
DIAGNOSES = "diagnoses.csv"
LOOKS = "looks.jsonl"
ANCHORS_CSV = "anchors.csv"
ANCHORS_JSONL = "anchors.jsonl"
REPORT_JSON = "report.json"
REPORT_HTML = "report.html"
SUMS = "SHA256SUMS"

FILES = {
    FACTS: "what was compared, by which judges, under which plan, and what follows from it",
    MANIFEST: "the manifest, as written",
    GUIDELINE: "what reviewers read",
    CASES: "the frozen case manifest: every case of the partition with its hashes and slices",
    PAIRS: "both sides' readings of every case, and the state of the pair",
    INTEGRITY: "the integrity report: completeness, invalid and missing counts, provenance",
    TRANSITIONS: "old and new verdicts, over all cases and by slice, with every blocking change",
    STABILITY: "what each judge changes by itself: run again, in another order, over other evidence",
    FRAME: "every eligible case with its stratum and its place in the permanent random order",
    SETTLEMENTS: "every decision on a case, in the order in which they were made",
    REVIEWS: "every answer as it was given, under pseudonyms",
    DIAGNOSES: "why people and judge differ on a case, whose it is, and the decision or component that was named",
    LOOKS: "every estimate that was computed, with its intervals",
    ANCHORS_CSV: "gold anchors",
    ANCHORS_JSONL: "the same anchors as JSON Lines",
    REPORT_JSON: "the report's numbers",
    REPORT_HTML: "the report, to read and to print",
}


class CaseLine(NamedTuple):
    """A case of the partition. Hashes of a side's artifact are blank where it has none; `slices` is JSON."""

    case_id: str
    case_version: int
    input_hash: str
    partition: str
    cluster: str
    slices: str
    old_output_hash: str
    old_evidence_hash: str
    new_output_hash: str
    new_evidence_hash: str


class SettlementLine(NamedTuple):
    """A decision on a case. `number` counts the queue's decisions in the order of their commits; a later one on the
    same case replaces it. Labels are blank where the artifact is underspecified."""

    number: int
    case_id: str
    case_version: int
    how: str
    settled_at: str
    label_old: str
    label_new: str


class DiagnosisLine(NamedTuple):
    """What a lead said of a case; a later revision replaces an earlier one. `words` name the policy decision of an
    intended transition, or the component to repair."""

    case_id: str
    case_version: int
    revision: int
    code: str
    owner: str
    kind: str
    words: str
    author: str
    diagnosed_at: str
