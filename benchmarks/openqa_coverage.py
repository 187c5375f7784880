"""How often the interval covers the truth on real labels: the two OpenQA audits, drawn again under many seeds.

Every eligible case of both audits has a human label, so the truth of the pool is known. Each seed draws its
own stratified sample by the permanent random order, sees the labels of the drawn cases only, and computes
the 95 % interval at the planned stop.

    python -m benchmarks.openqa_coverage --data FOLDER [--seeds 2000] [--quick]

FOLDER holds `openqa/` with the files that the manifests in docs/examples name.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest
from tqdm import tqdm

from audits.stats.design import permanent_order
from audits.stats.estimate import estimate
from audits.stats.pool import Pool
from audits.stats.result import Estimate
from benchmarks.openqa import Labelled, labelled_cases

LEVEL = 0.95
FULL, QUICK = 2000, 200


@dataclass(frozen=True)
class Plan:
    """A sample to draw again and again: labels by stratum."""

    audit: str
    estimand: str
    labels: Mapping[str, int]


PLANS = (
    Plan("swap", "accuracy_difference", {"disagree": 60, "agree": 30}),
    Plan("swap", "accuracy_difference", {"disagree": 100, "agree": 30}),
    Plan("upgrade", "success_difference", {"disagree": 40, "agree": 40}),
    Plan("upgrade", "success_difference", {"disagree": 60, "agree": 80}),
)


@dataclass(frozen=True)
class Coverage:
    """Misses are told by the side on which the truth lay: `below` the interval or `above` it."""

    plan: Plan
    draws: int
    truth: float
    below: int
    above: int
    half_width: float

    @property
    def covered(self) -> float:
        return 1 - (self.below + self.above) / self.draws

    @property
    def balance(self) -> float:
        """Two-sided binomial p-value of the two kinds of misses being equally likely; 1 without a miss."""
        misses = self.below + self.above
        return float(binomtest(self.below, misses).pvalue) if misses else 1.0


def coverage(plan: Plan, cases: Labelled, seeds: Iterator[int]) -> Coverage:
    truth = _estimate(cases, plan, np.ones(len(cases.old), dtype=bool))
    assert truth.point is not None
    below = above = draws = 0
    widths = []
    for seed in seeds:
        interval = _estimate(cases, plan, drawn(cases, plan, str(seed))).interval
        assert interval is not None
        draws += 1
        below += truth.point < interval.low - 1e-12
        above += truth.point > interval.high + 1e-12
        widths.append(interval.half_width)
    return Coverage(plan, draws, truth.point, below, above, float(np.mean(widths)))


def drawn(cases: Labelled, plan: Plan, seed: str) -> np.ndarray:
    """Which cases the plan draws under a seed, as a mask."""
    mask = np.zeros(len(cases.old), dtype=bool)
    place = {identity: row for row, identity in enumerate(cases.identity)}
    for stratum, labels in plan.labels.items():
        members = [identity for identity, name in zip(cases.identity, cases.stratum, strict=True) if name == stratum]
        for identity in permanent_order(seed, members)[:labels]:
            mask[place[identity]] = True
    return mask


def _estimate(cases: Labelled, plan: Plan, settled: np.ndarray) -> Estimate:
    pool = Pool.from_arrays(
        kind=cases.kind,
        scale=cases.scale,
        stratum=cases.stratum,
        old=cases.old,
        new=cases.new,
        reference=[label if done else None for label, done in zip(cases.reference, settled, strict=True)],
        settled=settled,
        identical=cases.same_content,
    )
    return estimate(pool, estimand=plan.estimand, level=LEVEL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=FULL)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seeds, under a minute")
    options = parser.parse_args()
    seeds = QUICK if options.quick else options.seeds
    results = []
    for plan in PLANS:
        cases = labelled_cases(plan.audit, options.data)
        bar = tqdm(range(seeds), desc=f"{plan.audit} {sum(plan.labels.values())}", disable=None)
        results.append(coverage(plan, cases, iter(bar)))
    print("| audit | labels | truth | coverage | truth below / above | binomial p | mean half-width |")
    print("|---|---|---|---|---|---|---|")
    for result in results:
        labels = " + ".join(f"{number} {stratum}" for stratum, number in result.plan.labels.items())
        print(
            f"| {result.plan.audit} | {labels} | {result.truth:+.4f} | {result.covered:.4f} "
            f"| {result.below} / {result.above} | {result.balance:.3f} | {result.half_width:.4f} |"
        )
    print(f"coverage over {seeds} seeds: " + ", ".join(f"{result.covered:.4f}" for result in results))


if __name__ == "__main__":
    main()
