"""Coverage of the intervals by simulation: how often they hold the truth, at one look and when watched.

    python -m benchmarks.coverage --quick            under a minute, to see that it works
    python -m benchmarks.coverage --draws 1000       the figures that docs/methods.md quotes

Seeded: the same options give the same figures. Each finished block of draws is a line of the results file, so that a
run that was stopped goes on where it was; a line made by other code is never read. The last line printed holds all
coverages.
"""

import argparse
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
from tqdm import tqdm

from audits.stats.combine import Combined, combine, no_wider
from audits.stats.design import serving_order
from audits.stats.estimands import estimand_for
from audits.stats.estimate import MERGE_BELOW
from audits.stats.groups import estimate_groups, strata_groups
from audits.stats.intervals import Interval, z_value
from audits.stats.policies import POLICIES, look
from audits.stats.pool import Cell, Key, Pool

LEVEL = 0.95
SIZE = 2000
SEED = 20261130
BLOCK = 20
ROOT = Path(__file__).parents[1]
RESULTS = Path("var/coverage.jsonl")
BINARY = {"fail": 0.0, "pass": 1.0}
P, F = "pass", "fail"
Verdicts = tuple[str, str]
Strata = Mapping[str, Mapping[Verdicts, Mapping[Key, int]]]


@dataclass(frozen=True)
class Population:
    """Every case of a pool with its reference, and the half-width that about 400 labels reach under `monitored`."""

    name: str
    kind: str
    estimand: str
    side: str | None
    strata: Strata
    half_width: float

    def sizes(self) -> dict[str, int]:
        return {name: sum(sum(labels.values()) for labels in cells.values()) for name, cells in self.strata.items()}

    def truth(self) -> float:
        spec = estimand_for(self.pool(dict.fromkeys(self.strata)), self.estimand, self.side)
        total = 0.0
        for stratum, cells in self.strata.items():
            for (old, new), labels in cells.items():
                cell = Cell(stratum, old, new, 1)
                total += sum(count * spec.value(cell, key, BINARY, self.side) for key, count in labels.items())
        return total / SIZE

    def pool(self, seen: Mapping[str, Counter | None]) -> Pool:
        """The pool with the labels seen so far in each stratum, counted by (verdicts, reference)."""
        cells = []
        for stratum, population in self.strata.items():
            counts = seen[stratum] or Counter()
            for verdicts, labels in population.items():
                got = {key: counts[verdicts, key] for key in labels if counts[verdicts, key]}
                cells.append(Cell(stratum, *verdicts, sum(labels.values()), got))
        return Pool(tuple(cells), self.kind, BINARY)


def upgrade(name: str, better: int, worse: int, agree: tuple[int, int], half_width: float) -> Population:
    """Judged +1 on `better` cases and -1 on `worse`; true +1 and -1 on `agree` of the others."""
    disagreeing = {
        (F, P): {(F, P): round(0.65 * better), (P, F): round(0.1 * better), (P, P): round(0.25 * better)},
        (P, F): {(P, F): round(0.65 * worse), (F, P): round(0.1 * worse), (F, F): round(0.25 * worse)},
    }
    rest, (plus, minus) = SIZE - better - worse, agree
    half = rest // 2
    agreeing = {
        (P, P): {(F, P): plus // 2, (P, F): minus // 2, (P, P): half - plus // 2 - minus // 2},
        (F, F): {(F, P): plus - plus // 2, (P, F): minus - minus // 2},
    }
    agreeing[F, F][F, F] = rest - half - sum(agreeing[F, F].values())
    strata = {"disagree": disagreeing, "agree": agreeing}
    return Population(name, "version_upgrade", "success_difference", None, strata, half_width)


def swap(name: str, estimand: str, disagree: int, right: float, shared_errors: float, half_width: float) -> Population:
    """Judge A right on a share of the disagreements; both judges wrong on a share of the agreements."""
    half, agree = disagree // 2, SIZE - disagree
    won, passes = round(right * half), round(0.7 * agree)
    wrong_pass, wrong_fail = round(shared_errors * passes), round(shared_errors * (agree - passes))
    strata = {
        "disagree": {(P, F): {P: won, F: half - won}, (F, P): {F: won, P: half - won}},
        "agree": {
            (P, P): {P: passes - wrong_pass, F: wrong_pass},
            (F, F): {F: agree - passes - wrong_fail, P: wrong_fail},
        },
    }
    side = None if estimand == "accuracy_difference" else "old"
    return Population(name, "judge_swap", estimand, side, strata, half_width)


def exact_swap(name: str, disagree: int, new_right: int, half_width: float) -> Population:
    strata = {
        "disagree": {(F, P): {P: new_right, F: disagree - new_right}},
        "agree": {(P, P): {P: SIZE - disagree}},
    }
    return Population(name, "judge_swap", "accuracy_difference", None, strata, half_width)


def noise(name: str, estimand: str, references: Mapping[Key, float], half_width: float) -> Population:
    """A judge that is noise: it changes 15 % of its verdicts, and every verdict has the same shares of references."""
    upgraded = isinstance(next(iter(references)), tuple)
    sizes = {(P, P): 1190, (F, F): 510, (P, F): 150, (F, P): 150}
    strata: dict[str, dict[Verdicts, dict[Key, int]]] = {"disagree": {}, "agree": {}}
    for verdicts, size in sizes.items():
        counts = {key: round(share * size) for key, share in references.items()}
        commonest = max(counts, key=lambda key: counts[key])
        counts[commonest] += size - sum(counts.values())
        strata["agree" if verdicts[0] == verdicts[1] else "disagree"][verdicts] = counts
    side = None if upgraded else "new"
    return Population(name, "version_upgrade" if upgraded else "judge_swap", estimand, side, strata, half_width)


POPULATIONS = (
    upgrade("V1", 160, 120, (86, 86), 0.043),
    upgrade("V2", 60, 40, (19, 19), 0.019),
    upgrade("V3", 120, 80, (9, 9), 0.019),
    upgrade("V4", 120, 80, (36, 0), 0.022),
    upgrade("V5", 120, 80, (9, 0), 0.017),
    upgrade("V6", 40, 60, (11, 0), 0.022),
    swap("P1", "success_rate", 200, 0.6, 0.10, 0.038),
    swap("P2", "success_rate", 200, 0.6, 0.02, 0.022),
    swap("P3", "success_rate", 80, 0.6, 0.02, 0.018),
    swap("A2", "accuracy", 200, 0.6, 0.02, 0.0185),
    swap("A3", "accuracy", 200, 0.6, 0.005, 0.012),
    exact_swap("ii 200", 200, 100, 0.008),
    exact_swap("ii 60", 60, 33, 0.008),
    noise("N1", "success_difference", {(F, P): 0.04, (P, F): 0.04, (P, P): 0.6, (F, F): 0.32}, 0.033),
    noise("N2", "success_rate", {P: 0.97, F: 0.03}, 0.024),
)
SIDES = ("inside", "below", "above")
FIXED_N = (80, 200, 400)
WATCHED_N = 400


def allocation(population: Population, n: int) -> dict[str, int]:
    """Half of the labels to the disagreements, at most four fifths of them."""
    disagree = min(round(0.8 * population.sizes()["disagree"]), n // 2)
    return {"disagree": disagree, "agree": n - disagree}


def orders(population: Population, rng: np.random.Generator) -> dict[str, list[tuple[Verdicts, Key]]]:
    """One random order of each stratum."""
    result = {}
    for stratum, cells in population.strata.items():
        flat = [(verdicts, key) for verdicts, labels in cells.items() for key, n in labels.items() for _ in range(n)]
        result[stratum] = [flat[row] for row in rng.permutation(len(flat))]
    return result


def looked_at(population: Population, seen: Mapping[str, Counter]) -> Combined:
    """The estimate at one look, by the parts `estimate` is made of, so that three policies share it."""
    pool = population.pool(seen)
    spec = estimand_for(pool, population.estimand, population.side)
    strata = strata_groups(pool, spec, population.side)
    alone = combine(strata, exact=spec.exact)
    if spec.basis == "strata":
        return alone
    return no_wider(combine(estimate_groups(strata, pool, spec, population.side, MERGE_BELOW)[0]), alone)


def side_of(interval: Interval, truth: float) -> str:
    """Where the truth lies: inside an interval, or below or above it."""
    if truth < interval.low - 1e-12:
        return "below"
    return "above" if truth > interval.high + 1e-12 else "inside"


def fixed_draw(population: Population, truth: float, rng: np.random.Generator) -> dict[str, float]:
    """Where the truth lies of the fixed-n interval, at three sample sizes of one order, and its width."""
    order, result = orders(population, rng), {}
    for n in FIXED_N:
        seen = {name: Counter(order[name][:k]) for name, k in allocation(population, n).items()}
        whole = looked_at(population, seen)
        interval = whole.limits(z_value(LEVEL))
        result |= {f"{side} {n}": float(side_of(interval, truth) == side) for side in SIDES}
        result[f"width {n}"] = 2 * interval.half_width
    return result


def watched_draw(population: Population, truth: float, rng: np.random.Generator, step: int) -> dict[str, float]:
    """Whether an interval ever excludes the truth, looking after every `step` labels from 20 in each stratum on."""
    order = orders(population, rng)
    seen: dict[str, Counter] = {name: Counter() for name in order}
    counts = dict.fromkeys(order, 0)
    excluded, stopped = dict.fromkeys(POLICIES, 0.0), 0
    for served, (stratum, position) in enumerate(serving_order([allocation(population, WATCHED_N)]), start=1):
        seen[stratum][order[stratum][position]] += 1
        counts[stratum] += 1
        if min(counts.values()) < 20 or served % step:
            continue
        whole = looked_at(population, seen)
        for policy in POLICIES:
            if excluded[policy] or (policy == "monitored" and stopped):
                continue
            at = look(policy, whole.variance(LEVEL, policy), level=LEVEL, half_width=population.half_width)
            excluded[policy] = float(side_of(whole.watched(at.multiplier, LEVEL), truth) != "inside")
            if policy == "monitored" and at.final:
                stopped = served
    return {**excluded, "stopped": float(stopped > 0), "labels at stop": float(stopped)}


def block_of(population: Population, part: str, block: int, step: int) -> list[dict[str, float]]:
    truth, place = population.truth(), [one.name for one in POPULATIONS].index(population.name)
    results = []
    for draw in range(block * BLOCK, (block + 1) * BLOCK):
        rng = np.random.default_rng([SEED, place, len(part), draw])
        one = fixed_draw(population, truth, rng) if part == "fixed" else watched_draw(population, truth, rng, step)
        results.append(one)
    return results


def code_identity() -> str:
    """A hash of everything that a draw is computed by, the versions of numpy and scipy among it."""
    sources = [*sorted((ROOT / "audits" / "stats").glob("*.py")), Path(__file__)]
    digest = hashlib.sha256(f"numpy {np.__version__} scipy {scipy.__version__}".encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def done_blocks(path: Path, code: str) -> dict[tuple[str, str, int, int], dict[str, float]]:
    if not path.exists():
        return {}
    # A run that was killed may have left half a line.
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}}")]
    return {
        (one["population"], one["part"], one["step"], one["block"]): one["sums"]
        for one in lines
        if one.get("code") == code
    }


def jobs(fixed: int, watched: int) -> Iterator[tuple[Population, str, int]]:
    for part, draws in (("fixed", fixed), ("watched", watched)):
        for population in POPULATIONS:
            for block in range(draws // BLOCK):
                yield population, part, block


def run(fixed: int, watched: int, step: int, path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Mean of every measure by population and part; finished blocks are read, not drawn again."""
    code = code_identity()
    done = done_blocks(path, code)
    totals: dict[tuple[str, str], Counter] = {}
    work = list(jobs(fixed, watched))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as results:
        if path.stat().st_size and not path.read_text(encoding="utf-8").endswith("\n"):
            results.write("\n")
        for population, part, block in tqdm(work, unit="block"):
            used = step if part == "watched" else 0
            sums = done.get((population.name, part, used, block))
            if sums is None:
                measured = block_of(population, part, block, step)
                sums = {name: sum(one[name] for one in measured) for name in measured[0]}
                line = {"code": code, "population": population.name, "part": part, "step": used, "block": block}
                line["sums"] = sums
                results.write(json.dumps(line) + "\n")
                results.flush()
            totals.setdefault((population.name, part), Counter()).update({**sums, "draws": BLOCK})
    return {key: {name: value / total["draws"] for name, value in total.items()} for key, total in totals.items()}


def table(means: Mapping[tuple[str, str], Mapping[str, float]], fixed: int, watched: int, step: int) -> None:
    print(f"\nFixed n, {fixed} draws: coverage (truth below, above the interval) / mean width")
    for (name, part), mean in means.items():
        if part == "fixed":
            cells = [
                f"n={n} {mean[f'inside {n}']:.3f} ({mean[f'below {n}']:.3f}, {mean[f'above {n}']:.3f})"
                f" / {mean[f'width {n}']:.3f}"
                for n in FIXED_N
            ]
            print(f"  {name:8}" + "   ".join(cells))
    print(f"\nWatched every {step} labels to n={WATCHED_N}, {watched} draws: chance of ever excluding the truth")
    for (name, part), mean in means.items():
        if part == "watched":
            cells = [f"{policy} {mean[policy]:.3f}" for policy in POLICIES]
            print(f"  {name:8}" + "   ".join(cells) + f"   monitored final in {mean['stopped']:.2f}")


def last_line(means: Mapping[tuple[str, str], Mapping[str, float]]) -> str:
    parts = [f"{name}={mean['inside 400']:.3f}" for (name, part), mean in means.items() if part == "fixed"]
    worst = {
        policy: max((mean[policy] for (_, part), mean in means.items() if part == "watched"), default=0.0)
        for policy in POLICIES
    }
    watched = " ".join(f"{policy}={value:.3f}" for policy, value in worst.items())
    return f"coverage at n=400: {' '.join(parts)}; worst chance of ever excluding the truth: {watched}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few draws, looks far apart")
    parser.add_argument("--draws", type=int, default=1000, help="draws at fixed n")
    parser.add_argument("--watched", type=int, default=200, help="draws that are watched")
    parser.add_argument("--step", type=int, default=2, help="labels between two looks")
    parser.add_argument("--results", type=Path, default=RESULTS, help="finished blocks; delete it to begin anew")
    options = parser.parse_args(arguments)
    fixed, watched, step = (100, 20, 10) if options.quick else (options.draws, options.watched, options.step)
    fixed, watched = (max(BLOCK, draws // BLOCK * BLOCK) for draws in (fixed, watched))
    start = time.perf_counter()
    means = run(fixed, watched, step, options.results)
    table(means, fixed, watched, step)
    print(f"\n{time.perf_counter() - start:.0f} s")
    print(last_line(means))


if __name__ == "__main__":
    main()
