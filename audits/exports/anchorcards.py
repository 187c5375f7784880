"""The data card of an anchor set: what somebody must know who uses its labels and was not there."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from adjudication.models import SettlementHow
from audits.anchorsets import COLUMNS, content_key
from audits.exports.wording import agreement_words
from audits.models import Audit
from audits.selectors import reviewer_agreement, standing_settlements
from core.models import Author
from core.version import VERSION
from judges.holdouts import holdout_of

MONITORS = (
    "Anchors monitor a judge; they do not validate a comparison. They are no sample of the cases of a later run, "
    "and a judge may have been revised with them in view."
)
HASHED = (
    "SHA-256 over lines of canonical JSON (keys in order, no spaces, UTF-8, each with its line feed): one of "
    "anchor_set, anchor_set_version and licence, then one for each anchor in the order of the file"
)
NO_CARD = "no card came with the file"

Card = dict[str, Any]


class Tally:
    """What the anchors of a set add up to, seen one by one."""

    def __init__(self) -> None:
        self.anchors = 0
        self.first: Mapping[str, Any] = {}
        self._cases: set[bytes] = set()
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("label", "how_settled", "labelled_by", "reused_from", "system_version")
        }
        self._strata: dict[str | None, list[Any]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        self.first = self.first or record
        self.anchors += 1
        self._cases.add(content_key(str(record[name]) for name in ("case_set", "case_set_version", "case_id")))
        for name, counts in self._counts.items():
            counts[record[name]] += 1
        stratum = self._strata.setdefault(record["stratum"], [record["inclusion_probability"], 0])
        stratum[1] += 1

    def of_file(self, contradictory: int) -> Card:
        """All that a card says and the anchors tell by themselves."""
        outside = self._strata.get(None, [None, 0])[1]
        return {
            "rubric": {
                "name": self.first["rubric"],
                "version": self.first["rubric_version"],
                "hash": self.first["rubric_hash"],
            },
            "case_set": {"name": self.first["case_set"], "version": self.first["case_set_version"]},
            "system_versions": sorted(self._counts["system_version"]),
            "anchors": self.anchors,
            "cases": len(self._cases),
            "labels": _ordered(self._counts["label"]),
            "contents_with_several_labels": contradictory,
            "sampled": {
                "strata": [
                    {"stratum": name, "inclusion_probability": inclusion, "anchors": number}
                    for name, (inclusion, number) in sorted(self._strata.items(), key=lambda one: str(one[0]))
                    if name is not None
                ],
                "anchors_outside_the_sample": outside,
            },
            "settled": {
                "how": _ordered(self._counts["how_settled"]),
                "reused_from": _ordered(self._counts["reused_from"]),
            },
            "labelled_by": _ordered(self._counts["labelled_by"], blank="nobody here"),
        }


def _ordered(counts: Counter[str], blank: str = "") -> dict[str, int]:
    """The commonest first. What is blank stands under another word, or is left out."""
    named = ((what or blank, number) for what, number in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return {what: number for what, number in named if what}


def card_head(*, name: str, version: int, licence: str, content_hash: str) -> Card:
    return {
        "anchor_set": name,
        "anchor_set_version": version,
        "licence": licence,
        "content_hash": content_hash,
        "content_hash_is": HASHED,
        "columns": list(COLUMNS),
        "use": MONITORS,
    }


def card_of_audit(audit: Audit, found: Card, actor: Author, now: datetime) -> Card:
    """What the anchors tell, and what only the audit knows."""
    strata = {one.name: one for one in audit.strata.all()}
    drawn = audit.registrations.latest("n").labels
    told = {one["stratum"]: one["anchors"] for one in found["sampled"]["strata"]}
    holdout = holdout_of(audit.comparison)
    return found | {
        "made": {"at": now.isoformat(), "by": actor.pseudonym, "with": f"Tertium {VERSION}"},
        "from": {
            "project": audit.project.name,
            "audit": audit.name,
            "kind": audit.comparison.kind,
            "partition": audit.comparison.partition,
            "holdout": holdout.words if holdout else "",
            "manifest_hash": audit.manifest_hash,
        },
        "rubric": found["rubric"] | {"labels": audit.rubric.labels},
        "sampled": found["sampled"]
        | {
            "strata": [
                {
                    "stratum": name,
                    "kind": one.kind,
                    "cases": one.size,
                    "drawn": drawn.get(name, 0),
                    "inclusion_probability": drawn.get(name, 0) / one.size,
                    "anchors": told.get(name, 0),
                }
                for name, one in sorted(strata.items())
            ],
            "registrations": [
                {
                    "n": one.n,
                    "at": one.at.isoformat(),
                    "seed": one.seed,
                    "frame_hash": one.frame_hash,
                    "drawn": sum(one.labels.values()),
                }
                for one in audit.registrations.order_by("n")
            ],
        },
        "settled": found["settled"]
        | {
            "underspecified_cases_without_anchor": standing_settlements(audit)
            .filter(how=SettlementHow.UNDERSPECIFIED)
            .count()
        },
        "agreement": asdict(reviewer_agreement(audit)),
    }


def card_of_file(found: Card) -> Card:
    return found | {"agreement": {"raw": None, "alpha": None, "cases": 0, "reviews": 0, "reason": NO_CARD}}


def card_markdown(card: Card) -> str:
    """The card for people. What others wrote stands in code marks, so that nothing of it is read as Markdown."""
    sections = [
        (f"Anchor set {_code(card['anchor_set'])}, version {card['anchor_set_version']}", _facts(card)),
        ("How sampled", _sampled(card["sampled"])),
        ("How settled", _settled(card)),
        ("Agreement of reviewers", [agreement_words(card["agreement"])]),
        ("Use", [card["use"]]),
        ("Hashes", _hashes(card)),
    ]
    return "\n".join(
        f"{'#' if place == 0 else '##'} {title}\n\n" + "\n".join(lines) + "\n"
        for place, (title, lines) in enumerate(sections)
    )


def _facts(card: Card) -> list[str]:
    rubric, case_set, origin = card["rubric"], card["case_set"], card.get("from")
    made = card.get("made")
    return [
        f"- Anchors: {card['anchors']:,}, of {card['cases']:,} cases",
        f"- Labels: {_counted(card['labels'])}",
        f"- Rubric: {_code(rubric['name'])}, version {_code(rubric['version'])}",
        f"- Case set: {_code(case_set['name'])}, version {_code(case_set['version'])}; systems "
        + ", ".join(map(_code, card["system_versions"])),
        *([f"- From: audit {_code(origin['audit'])} of project {_code(origin['project'])}"] if origin else []),
        *([f"- {origin['holdout']}"] if origin and origin["holdout"] else []),
        *([f"- Made: {made['at']} by {_code(made['by'])}, with {made['with']}"] if made else []),
        f"- Licence: {_code(card['licence'])}",
        f"- Contents that have several labels here: {card['contents_with_several_labels']:,}",
    ]


def _sampled(sampled: Mapping[str, Any]) -> list[str]:
    lines = ["| Stratum | Cases | Drawn | Inclusion probability | Anchors |", "|---|---:|---:|---:|---:|"]
    for one in sampled["strata"]:
        size, drawn = one.get("cases"), one.get("drawn")
        cells = ["" if number is None else f"{number:,}" for number in (size, drawn)]
        chance = f"{one['inclusion_probability']:.4f}"
        lines.append(f"| {_code(one['stratum'])} | {cells[0]} | {cells[1]} | {chance} | {one['anchors']:,} |")
    dated = [
        f"- Registration {one['n']}: {one['at']}, {one['drawn']:,} cases drawn, seed {_code(one['seed'])}"
        for one in sampled.get("registrations", ())
    ]
    return [*lines, "", *dated, f"- From outside the sample: {sampled['anchors_outside_the_sample']:,}"]


def _settled(card: Card) -> list[str]:
    settled = card["settled"]
    lines = [f"- {_counted(settled['how'])}", f"- Labelled by: {_counted(card['labelled_by'])}"]
    lines += [f"- Reused from {_code(source)}: {number:,}" for source, number in settled["reused_from"].items()]
    if (none := settled.get("underspecified_cases_without_anchor")) is not None:
        lines.append(f"- Underspecified cases, which have no anchor: {none:,}")
    return lines


def _hashes(card: Card) -> list[str]:
    registrations: Sequence[Mapping[str, Any]] = card["sampled"].get("registrations", ())
    return [
        f"- Content: `{card['content_hash']}`",
        f"- Rubric: `{card['rubric']['hash']}`",
        *([f"- Manifest: `{card['from']['manifest_hash']}`"] if "from" in card else []),
        *([f"- Frame: `{registrations[0]['frame_hash']}`"] if registrations else []),
        "",
        f"The content hash is {card['content_hash_is']}.",
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {_code(what)}" for what, number in counts.items())


def _code(text: str) -> str:
    """In code marks, on one line. The card as JSON has the text as it is."""
    return "`" + " ".join(str(text).split()).replace("`", "'").replace("|", "\\|") + "`"
