"""What the anchors say of a judge, run by run: it monitors, and does not validate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audits.calibration import LEVEL, METHOD
from audits.exports.anchorcards import MONITORS
from audits.models import AnchorCheck, AnchorSet
from audits.stats.proportions import proportion_limits
from judges.intake.specs import AS_GIVEN

SHOWN = 50
NONE = "without a verdict"  # of a slice, in a check's result
WITHOUT = {
    "missing": "not judged",
    "unparsed": "unparsed",
    "unmapped": "unmapped",
    "stale": "stale",
}


@dataclass(frozen=True)
class AnchorShare:
    """`right` of `n` verdicts were the anchor's label, with the limits of that share. Where `of` is a label, of the
    anchors with it: the rest are the judge's errors of that class."""

    of: str
    n: int
    right: int
    without: int = 0

    @property
    def wrong(self) -> int:
        return self.n - self.right

    @property
    def share(self) -> float | None:
        return self.right / self.n if self.n else None

    @property
    def limits(self) -> tuple[float, float]:
        return proportion_limits(self.right, self.n, LEVEL)

    def as_dict(self) -> dict[str, Any]:
        low, high = self.limits
        counted = {"n": self.n, "right": self.right, "wrong": self.wrong, "without_verdict": self.without}
        return counted | {"share": self.share, "low": low, "high": high, "level": LEVEL, "method": METHOD}


@dataclass(frozen=True)
class MonitoredRun:
    """One run of a judge on the anchors that its cases hold. Anchors without a verdict are counted apart and stand in
    no share."""

    check: AnchorCheck

    @property
    def anchors(self) -> int:
        found: int = self.check.result["anchors"]
        return found

    @property
    def whole(self) -> AnchorShare:
        return _share("", self.check.result["verdicts"], self.without_in_all)

    @property
    def by_label(self) -> list[AnchorShare]:
        verdicts = self.check.result["verdicts"]
        without = self.check.result["without_by_label"]
        labels = sorted({label for label, _, _ in verdicts} | set(without))
        return [_share(label, [one for one in verdicts if one[0] == label], without.get(label, 0)) for label in labels]

    @property
    def by_slice(self) -> list[AnchorShare]:
        return [
            AnchorShare(name, one.get("right", 0) + one.get("wrong", 0), one.get("right", 0), one.get(NONE, 0))
            for name, one in sorted(self.check.result["slices"].items())  # PostgreSQL keeps no order of keys
        ]

    @property
    def rows(self) -> list[AnchorShare]:
        return [*self.by_label, *self.by_slice]

    @property
    def not_judged(self) -> int:
        return int(self.check.result["without"].get("missing", 0))

    @property
    def invalid(self) -> int:
        return self.without_in_all - self.not_judged

    @property
    def errors(self) -> list[tuple[str, str, int]]:
        """(label, verdict, how often), where they differ; the commonest first."""
        wrong = [(label, verdict, n) for label, verdict, n in self.check.result["verdicts"] if label != verdict]
        return sorted(wrong, key=lambda one: (-one[2], one[0], one[1]))

    @property
    def without(self) -> list[tuple[str, int]]:
        return [(words, self.check.result["without"].get(state, 0)) for state, words in WITHOUT.items()]

    @property
    def without_in_all(self) -> int:
        return sum(self.check.result["without"].values())

    @property
    def judge(self) -> str:
        run = self.check.run
        prompt = run.generator.content.get("prompt_version")
        return f"{run.generator.model}{f', prompt {prompt}' if prompt else ''}"

    @property
    def run_words(self) -> str:
        run = self.check.run
        shown = [one for one in (run.presentation_order, run.packaging) if one != AS_GIVEN]
        return ", ".join([f"run {run.ordinal} on {run.system_version}", *shown])

    def as_dict(self) -> dict[str, Any]:
        check = self.check
        return {
            "judge": self.judge,
            "generator": check.run.generator.identity,
            "reader": str(check.reader),
            "run": check.run.ordinal,
            "system_version": check.run.system_version.name,
            "presentation_order": check.run.presentation_order,
            "packaging": check.run.packaging,
            "comparison": check.comparison.name,
            "partition": check.partition,
            "taken_in_at": check.run.touched_at.isoformat(),
            "checked_at": check.at.isoformat(),
            "anchors_in_its_cases": self.anchors,
            "agreement": self.whole.as_dict(),
            "without_verdict": self.check.result["without"],
            "by_label": {one.of: one.as_dict() for one in self.by_label},
            "errors": [{"label": label, "verdict": verdict, "number": n} for label, verdict, n in self.errors],
            "by_slice": {one.of: one.as_dict() for one in self.by_slice},
        }


def _share(of: str, verdicts: Sequence[Sequence[Any]], without: int) -> AnchorShare:
    n = sum(number for _, _, number in verdicts)
    return AnchorShare(of, n, sum(number for label, verdict, number in verdicts if label == verdict), without)


@dataclass(frozen=True)
class Monitored:
    """`untouched` runs have none of the anchors among their cases."""

    anchor_set: AnchorSet
    runs: Sequence[MonitoredRun]
    untouched: int

    def as_dict(self) -> dict[str, Any]:
        one = self.anchor_set
        return {
            "anchor_set": one.name,
            "version": one.version,
            "content_hash": one.content_hash,
            "anchors": one.anchors,
            "runs": [run.as_dict() for run in self.runs],
            "runs_without_any_of_them": self.untouched,
            "meaning": MONITORS,
        }


def monitored(anchor_set: AnchorSet, most: int | None = None) -> Monitored:
    """Run after run, in the order in which they were taken in; of many the latest."""
    related = ("run__generator", "run__system_version", "reader__mapping", "comparison")
    checks = AnchorCheck.objects.filter(anchor_set=anchor_set).select_related(*related)
    touched = checks.exclude(result__anchors=0).order_by("-run__touched_at", "-run", "-pk")
    runs = [MonitoredRun(check) for check in (touched if most is None else touched[:most])]
    return Monitored(anchor_set, runs[::-1], checks.filter(result__anchors=0).count())
