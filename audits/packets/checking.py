"""Checking a handoff packet from itself alone: no database, no judge and no person is asked.

Every number is computed again from the packet's own tables, by the code that computed it, and compared.
"""

import html
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from adjudication.models import SlotKind
from audits.diagnoses import counts_of, differs
from audits.exports.wording import conclusion
from audits.frames import frame_bytes, score_of
from audits.gate import Evidence, RuleState, cutover_written, gate_of
from audits.models import DiagnosisKind
from audits.outcomes import Outcome, outcome_of
from audits.packets.archive import Archive
from audits.packets.contents import (
    ANCHORS_CSV,
    ANCHORS_JSONL,
    DIAGNOSES,
    FACTS,
    FILES,
    FORMAT,
    FRAME,
    GUIDELINE,
    INTEGRITY,
    LOOKS,
    MANIFEST,
    PAIRS,
    REPORT_HTML,
    REPORT_JSON,
    REVIEWS,
    STABILITY,
    TRANSITIONS,
    CaseLine,
    DiagnosisLine,
    SettlementLine,
)
from audits.packets.differences import differences, leaves
from audits.packets.reading import Packet, Settled
from audits.plans import estimate_arguments, score_used, target_half_width
from audits.secondary import secondary_findings, slice_findings
from audits.selectors import cells_of
from audits.stats.agreement import agreement
from audits.stats.design import inclusion_probability, permanent_order
from audits.stats.estimate import estimate
from audits.stats.remaining import remaining_audit
from core.errors import InputError, Problem
from core.identity import case_identity, text_hash, value_hash
from judges.integrity import integrity_of
from judges.pairing import pair_state
from judges.selectors import rules_of
from judges.transitions import is_blocking, transitions_of

SHOWN = 20  # differences named per check; all are counted

LOOKED = ("result", "remaining", "secondary", "slices")
REPORTED = ("result", "remaining", "secondary", "by_slice")

Key = tuple[str, int]


@dataclass
class Check:
    """One thing that was computed again: how many values were compared, and which are not as stated."""

    name: str
    compared: int = 0
    different: int = 0
    named: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.different

    def same(self, stated: Any, found: Any, path: str) -> None:
        self.compared += max(leaves(stated), leaves(found))
        for difference in differences(_plain(stated), _plain(found), path):
            self.wrong(difference)

    def wrong(self, difference: str) -> None:
        self.different += 1
        if len(self.named) < SHOWN:
            self.named.append(difference)


def packet_check(path: Path) -> Iterator[Check]:
    """The checks, one after another. A packet that cannot be read at all raises InputError."""
    archive = Archive(path)
    packet = Packet(archive)
    try:
        stated = packet.facts["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(Problem("the packet's facts cannot be read", file=f"{path.name}/{FACTS}")) from error
    if stated != FORMAT:
        raise InputError(Problem("a packet of another format", file=path.name, value=str(stated), allowed=FORMAT))
    for name, check_of in CHECKS.items():
        check = Check(name)
        try:
            check_of(packet, check)
        except (KeyError, IndexError, TypeError, ValueError, InputError) as error:
            check.wrong(f"cannot be computed: {type(error).__name__} {error}")
        yield check


def _checksums(packet: Packet, check: Check) -> None:
    wrong = packet.archive.wrong_sums()
    check.compared = len(FILES)
    for name in wrong:
        check.wrong(f"{name}: the bytes are not those that the packet was closed with")


def _identities(packet: Packet, check: Check) -> None:
    facts, rubric = packet.facts, packet.facts["rubric"]
    check.same(facts["manifest_hash"], text_hash(packet.archive.text(MANIFEST)), "manifest_hash")
    content = {"guideline": packet.archive.text(GUIDELINE), "scale": rubric["scale"]}
    check.same(rubric["hash"], value_hash(content), "rubric.hash")
    for name, side in facts["sides"].items():
        generator = dict(side["generator"])
        check.same(generator.pop("identity"), value_hash(generator), f"sides.{name}.generator.identity")
        reader = {"parser": side["reader"]["parser"], "mapping": side["mapping"]["table"]}
        check.same(side["reader"]["identity"], value_hash(reader), f"sides.{name}.reader.identity")


def _pairs(packet: Packet, check: Check) -> None:
    rules = rules_of(packet.comparison)
    slices = {(case.case_id, case.case_version): json.loads(case.slices) for case in packet.cases}
    for pair in packet.pairs:
        place = f"{PAIRS}: case {pair.case_id}"
        check.same(pair.state.value, pair_state(pair.old, pair.new, rules).value, place)
        check.same(pair.slices, slices.pop((pair.case_id, pair.case_version), None), f"{place}, slices")
    for case_id, _ in slices:
        check.wrong(f"{PAIRS}: nothing about case {case_id}")


def _integrity(packet: Packet, check: Check) -> None:
    stated = packet.json(INTEGRITY)
    stated.pop("recorded")  # of files and bytes, which no packet holds
    check.same(stated, integrity_of(packet.comparison, packet.pairs).as_dict(), "integrity")


def _transitions(packet: Packet, check: Check) -> None:
    check.same(packet.json(TRANSITIONS), transitions_of(packet.comparison, packet.pairs).as_dict(), "transitions")


def _frame(packet: Packet, check: Check) -> None:
    """The eligible pairs, in the order that the seed gives them, under the hash of the registration."""
    facts, case_set = packet.facts, packet.facts["case_set"]
    found, _ = frame_bytes(packet.frame)
    for registration in facts["registrations"]:
        check.same(registration["frame_hash"], found, f"registrations[{registration['n'] - 1}].frame_hash")
        check.same(registration["seed"], facts["plan"]["seed"], f"registrations[{registration['n'] - 1}].seed")
    used = score_used(facts["plan"])
    eligible = {
        (pair.case_id, pair.case_version): (*pair.verdicts, score_of(pair, used))
        for pair in packet.pairs
        if pair.eligible
    }
    check.same(len(eligible), len(packet.frame), "eligible cases")
    strata: dict[str, dict[str, int]] = {}
    for row in packet.frame:
        place = f"{FRAME}: case {row.case_id}"
        check.same((row.old, row.new, row.score), eligible.get((row.case_id, row.case_version)), place)
        identity = case_identity(case_set["name"], case_set["version"], row.case_id, row.case_version)
        strata.setdefault(row.stratum, {})[identity] = row.position
    check.same({one["name"]: one["size"] for one in facts["strata"]}, _sizes(strata), "strata")
    for name, places in strata.items():
        for position, identity in enumerate(permanent_order(facts["plan"]["seed"], places), 1):
            check.same(places[identity], position, f"{FRAME}: place of {identity} in {name}")


def _sizes(strata: dict[str, dict[str, int]]) -> dict[str, int]:
    return {name: len(strata[name]) for name in sorted(strata)}


def _looks(packet: Packet, check: Check) -> None:
    """Every look, from the decisions that it had seen."""
    plan = packet.facts["plan"]
    arguments, half_width = estimate_arguments(plan), target_half_width(plan)
    settled = Settled(packet)
    for place, look in enumerate(packet.looks):
        settled.forward(look["watermark"])
        pool = settled.pool(look["registration"])
        found = estimate(pool, **arguments, half_width=half_width)
        check.same(look["result"], found.as_dict(), f"looks[{place}].result")
        check.same(look["final"], found.final, f"looks[{place}].final")
        if look["remaining"] is not None:
            remaining = remaining_audit(pool, **arguments, half_width=half_width or 0.0)
            check.same(look["remaining"], asdict(remaining), f"looks[{place}].remaining")
        if look["secondary"] is not None:
            secondary = secondary_findings(pool, level=plan["level"], by=plan["strata_by"])
            check.same(look["secondary"], secondary, f"looks[{place}].secondary")
        if look["slices"]:
            sliced = {name: arguments[name] for name in ("estimand", "side", "level")}
            check.same(
                look["slices"], slice_findings(settled.slices(look["registration"]), **sliced), f"looks[{place}].slices"
            )


def _anchors(packet: Packet, check: Check) -> None:
    """Both files, from the decisions in force, the hashes of the cases and the registered sample."""
    rows = [json.loads(line) for line in packet.archive.lines(ANCHORS_JSONL)]
    table = list(packet.rows(ANCHORS_CSV))
    check.same(len(rows), len(table), "number of anchors")
    for number, (row, cells) in enumerate(zip(rows, table, strict=False), 1):
        written = {name: "" if value is None else str(value) for name, value in row.items()}
        check.same(written, cells, f"{ANCHORS_CSV}, row {number}")
    expected = _expected_anchors(packet)
    for number, row in enumerate(rows, 1):
        key = (row["case_id"], row["case_version"], row["system_version"])
        stated = {name: row[name] for name in ANCHOR_NUMBERS}
        check.same(stated, expected.pop(key, None), f"{ANCHORS_JSONL}, line {number}")
    for case_id, _, system in expected:
        check.wrong(f"{ANCHORS_JSONL}: no anchor for case {case_id} by {system}")


ANCHOR_NUMBERS = (
    "input_hash",
    "output_hash",
    "evidence_hash",
    "label",
    "value",
    "how_settled",
    "stratum",
    "position",
    "inclusion_probability",
)


def _expected_anchors(packet: Packet) -> dict[tuple[str, int, str], dict[str, Any]]:
    cases = {(case.case_id, case.case_version): case for case in packet.cases}
    sampled = _sampled(packet)
    standing: dict[Key, SettlementLine] = {(line.case_id, line.case_version): line for line in packet.settlements}
    expected = {}
    for key, line in standing.items():
        case = cases[key]
        for system, label, output, evidence in _artifacts(packet, case, line):
            if label:
                stratum, position, inclusion = sampled.get(key, (None, None, None))
                values = (case.input_hash, output, evidence, label, packet.scale[label], line.how)
                expected[(*key, system)] = dict(
                    zip(ANCHOR_NUMBERS, (*values, stratum, position, inclusion), strict=True)
                )
    return expected


def _artifacts(packet: Packet, case: CaseLine, line: SettlementLine) -> Iterator[tuple[str, str, str, str]]:
    """(system version, label, output hash, evidence hash) of each artifact that was judged."""
    sides = packet.facts["sides"]
    if not packet.is_swap:
        yield sides["old"]["system_version"], line.label_old, case.old_output_hash, case.old_evidence_hash
    yield sides["new"]["system_version"], line.label_new, case.new_output_hash, case.new_evidence_hash


def _sampled(packet: Packet) -> dict[Key, tuple[str, int, float]]:
    labels = packet.registrations[max(packet.registrations)]
    sizes = Counter(row.stratum for row in packet.frame)
    return {
        (row.case_id, row.case_version): (
            row.stratum,
            row.position,
            inclusion_probability(labels[row.stratum], sizes[row.stratum]),
        )
        for row in packet.frame
        if row.position <= labels.get(row.stratum, 0)
    }


def _diagnoses(packet: Packet, check: Check) -> None:
    """Each is of a settled difference or a blocking transition, and what the report counts are these."""
    pairs = {(pair.case_id, pair.case_version): pair for pair in packet.pairs if pair.eligible}
    blocking = {key for key, pair in pairs.items() if is_blocking(packet.comparison, pair)}
    differing, ever = set(), set()
    for line in packet.settlements:  # a later decision on a case replaces the earlier
        key = (line.case_id, line.case_version)
        different = key in pairs and differs(pairs[key], packet.labels(line))
        (differing.add if different else differing.discard)(key)
        if different:
            ever.add(key)
    standing: dict[Key, DiagnosisLine] = {}
    for one in packet.diagnoses:
        key = (one.case_id, one.case_version)
        place = f"{DIAGNOSES}: case {one.case_id}"
        check.same(one.revision, standing[key].revision + 1 if key in standing else 1, f"{place}, revision")
        standing[key] = one
        if key not in blocking | ever:
            check.wrong(f"{place}: neither a settled difference nor a blocking transition")
        elif one.kind == DiagnosisKind.INTENDED and pairs[key].verdicts[0] == pairs[key].verdicts[1]:
            check.wrong(f"{place}: no verdict changed, so no transition was intended")
        if not one.words.strip():
            check.wrong(f"{place}: neither a decision nor a component is named")
    counts = counts_of(blocking | differing, ((key, one.owner, one.code) for key, one in standing.items()))
    check.same(packet.json(REPORT_JSON)["diagnoses"], counts.as_dict(), "report.diagnoses")


def _gate(packet: Packet, check: Check) -> None:
    """The rules of the manifest, held to the last look, the decisions and the pairs; and what was signed."""
    facts, report = packet.facts, packet.json(REPORT_JSON)
    labels = packet.registrations[max(packet.registrations)]
    evidence = Evidence(
        plan=facts["plan"],
        drawn=sum(labels.values()),
        result=packet.looks[-1]["result"] if packet.looks else None,
        blocking_slices=bool(facts["blocking_slices"]),
        blocking=_blocking_outcomes(packet),
        integrity=integrity_of(packet.comparison, packet.pairs).as_dict(),
    )
    found = [asdict(one) for one in gate_of(cutover_written(packet.archive.text(MANIFEST)).gate, evidence)]
    check.same(facts["gate"], found, "gate")
    check.same(report["gate"], found, "report.gate")
    check.same(report["sign_offs"], facts["sign_offs"], "report.sign_offs")
    for place, one in enumerate(facts["sign_offs"]):
        check.same(one["n"], place + 1, f"sign_offs[{place}].n")
        unmet = one["kind"] == "cutover" and any(rule["state"] != RuleState.MET for rule in one["gate"])
        check.same(one["overridden"], unmet, f"sign_offs[{place}].overridden")
        check.same(bool(one["override"]), unmet, f"sign_offs[{place}].override")
    _inventory(packet, check)


def _inventory(packet: Packet, check: Check) -> None:
    """What the cutover touches outside is stated, not computed: what is not a lead's words is the manifest's."""
    stated = packet.facts.get("inventory")
    check.same(packet.json(REPORT_JSON).get("inventory"), stated, "report.inventory")
    if stated is None:  # a packet of before says nothing of it
        return
    written = cutover_written(packet.archive.text(MANIFEST))
    check.same(stated["rollback_to"], written.rollback_to, "inventory.rollback_to")
    if not stated["n"]:
        said = {name: stated[name] for name in ("consumers", "thresholds", "rollback")}
        from_manifest = {"consumers": "\n".join(written.downstream), "thresholds": "", "rollback": ""}
        check.same(said, from_manifest, "inventory")


def _blocking_outcomes(packet: Packet) -> dict[str, int]:
    labels = {(line.case_id, line.case_version): packet.labels(line) for line in packet.settlements}
    counts = Counter(
        outcome_of(
            pair.verdicts,
            labels.get((pair.case_id, pair.case_version)),
            is_swap=packet.is_swap,
            scale=packet.scale,
        )
        for pair in packet.pairs
        if is_blocking(packet.comparison, pair)
    )
    return {str(outcome): counts[outcome] for outcome in Outcome if counts[outcome]}


COUNTED = ("counts", "corrected")  # of a person's answers that were not taken back, the last is what they say


def _people(packet: Packet, check: Check) -> None:
    """What the report counts of decisions and of the answers that count."""
    report = packet.json(REPORT_JSON)
    standing: dict[Key, SettlementLine] = {(line.case_id, line.case_version): line for line in packet.settlements}
    drawn = _sampled(packet)
    how = Counter(line.how for key, line in standing.items() if key in drawn)
    check.same(report["settled_how"], dict(how), "report.settled_how")
    eligible = {(pair.case_id, pair.case_version): pair.verdicts for pair in packet.pairs if pair.eligible}
    known = [(eligible[key], packet.labels(line)) for key, line in standing.items() if key in eligible]
    cells = cells_of(
        (one for one in known if all(one[1])),
        is_swap=packet.is_swap,
        scale=packet.scale,
        eligible=len(packet.frame),
    )
    check.same(report["known_cells"], cells.as_dict(), "report.known_cells")
    latest: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in packet.rows(REVIEWS):
        if row["kind"] == SlotKind.REVIEW and row["standing"] in COUNTED and row["label"]:
            artifact = (row["case_id"], row["case_version"], row["system_version"])
            latest.setdefault(artifact, {})[row["author"]] = row["label"]
    found = agreement([list(by_author.values()) for by_author in latest.values()])
    check.same(report["agreement"], asdict(found), "report.agreement")


def _report(packet: Packet, check: Check) -> None:
    """What the report states is what the packet's other files state; its conclusion follows from the last look."""
    report, looks = packet.json(REPORT_JSON), packet.looks
    check.same(report["integrity"], packet.json(INTEGRITY), "report.integrity")
    check.same(report["transitions"], packet.json(TRANSITIONS), "report.transitions")
    check.same(report["stability"], packet.json(STABILITY), "report.stability")
    last = looks[-1] if looks else dict.fromkeys(LOOKED)
    for name, stated in zip(LOOKED, REPORTED, strict=True):
        check.same(report[stated], last[name], f"report.{stated}")
    curve = [
        {"watermark": look["watermark"], "labels": look["result"]["n"], **_limits(look["result"])} for look in looks
    ]
    check.same(report["looks"], curve, "report.looks")
    if looks:
        said = conclusion(last["result"], half_width=target_half_width(packet.facts["plan"]))
        check.compared += 1
        if html.escape(said) not in packet.archive.text(REPORT_HTML):
            check.wrong(f"{REPORT_HTML}: the conclusion is not the one that follows: {said}")


def _limits(result: dict[str, Any]) -> dict[str, Any]:
    interval = result["interval"] or {"low": None, "high": None}
    return {"point": result["point"], "low": interval["low"], "high": interval["high"]}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


CHECKS: dict[str, Callable[[Packet, Check], None]] = {
    "checksums": _checksums,
    "identities": _identities,
    "pairs": _pairs,
    "integrity": _integrity,
    "transitions": _transitions,
    "frame and order": _frame,
    LOOKS: _looks,
    "anchors": _anchors,
    "diagnoses": _diagnoses,
    "gate": _gate,
    "people": _people,
    "report": _report,
}
