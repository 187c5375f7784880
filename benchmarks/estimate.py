"""How long a look takes: from counts, from arrays beside other libraries in the same process, and from the database.

    python -m benchmarks.estimate --quick     under a minute; fewer rows in the database
    python -m benchmarks.estimate             the figures that docs/performance.md quotes

Every time is the least processor time of several runs, those of two rivals in turn: whatever else the machine does only
adds. The last line printed holds the ratios, which depend on the machine less than the times do.
"""

import argparse
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tqdm import tqdm

from audits.stats.columns import Coded
from audits.stats.estimate import estimate
from audits.stats.pool import Cell, Pool
from audits.stats.result import Estimate

SEED = 20261130
BINARY = {"fail": 0.0, "pass": 1.0}
LABELS = tuple(BINARY)
PAIRS = tuple((old, new) for old in LABELS for new in LABELS)
SHARES = {("fail", "fail"): 0.28, ("fail", "pass"): 0.04, ("pass", "fail"): 0.03, ("pass", "pass"): 0.65}
NAMES = ("agree", "disagree")
OURS, PPI = "tertium", "ppi_py.ppi_mean_ci"
CHUNK = 5000
PLAN = {"policy": "monitored", "half_width": 0.01}


def timed(*functions: Callable[[], object], runs: int) -> list[float]:
    """Least seconds of processor time of each function, run in turn, so that a busy moment meets all of them."""
    times = [math.inf] * len(functions)
    for _ in range(runs):
        for place, function in enumerate(functions):
            start = time.process_time()
            function()
            times[place] = min(times[place], time.process_time() - start)
    return times


def counted_pool(cases: int, labels: int, strata: int) -> Pool:
    """An upgrade of so many cases in equally large strata, half of them of agreements, two cells in each."""
    size, seen = cases // strata, labels // strata
    cells = []
    for place in range(strata):
        slice_name = f"slice={place // 2} | {NAMES[place % 2]}"
        for old in LABELS:
            new = old if place % 2 == 0 else LABELS[1 - LABELS.index(old)]
            counts = {key: round(share * seen / 2) for key, share in SHARES.items()}
            cells.append(Cell(slice_name, old, new, size // 2, counts))
    return Pool(tuple(cells), "version_upgrade", BINARY)


def from_counts(runs: int) -> dict[tuple[int, int], float]:
    """Seconds of a look by (cases, strata); one label to a hundred cases, or half of them where that is too few."""
    found = {}
    for cases in (10**4, 10**5, 10**6):
        for strata in (2, 20, 200):
            pool = counted_pool(cases, max(cases // 100, min(60 * strata, cases // 2)), strata)
            (found[cases, strata],) = timed(
                lambda pool=pool: estimate(pool, estimand="success_difference", **PLAN), runs=runs
            )
    return found


def exact_swap(cases: int, labels: int) -> Pool:
    half = labels // 2
    cells = (
        Cell("disagree", "fail", "pass", cases // 10, {"pass": half - half // 3, "fail": half // 3}),
        Cell("agree", "pass", "pass", cases - cases // 10, {"pass": labels - half}),
    )
    return Pool(cells, "judge_swap", BINARY)


class Rows:
    """One row per case of an upgrade, as codes and as the numbers that other libraries take."""

    def __init__(self, cases: int, labels: int):
        rng = np.random.default_rng([SEED, cases])
        self.old = (rng.random(cases) < 0.7).astype(np.int8)
        self.new = np.where(rng.random(cases) < 0.1, 1 - self.old, self.old).astype(np.int8)
        self.stratum = (self.old != self.new).astype(np.int8)
        self.reference = np.full(cases, -1, dtype=np.int8)
        self.position = np.full(cases, -1)
        for stratum in (0, 1):
            chosen = rng.permutation(np.flatnonzero(self.stratum == stratum))[: labels // 2]
            self.position[chosen] = np.arange(chosen.size)
            self.reference[chosen] = rng.choice(4, chosen.size, p=list(SHARES.values()))
        drawn = self.reference >= 0
        pairs = self.reference[drawn]
        self.y = (pairs % 2 - pairs // 2).astype(float)
        judged = (self.new - self.old).astype(float)
        self.x_labelled, self.x_other = judged[drawn], judged[~drawn]
        self.stratum_labelled = self.stratum[drawn]
        self.codes = {
            "stratum": Coded(self.stratum, NAMES),
            "old": Coded(self.old, LABELS),
            "new": Coded(self.new, LABELS),
            "reference": Coded(self.reference, PAIRS),
        }

    def texts(self) -> dict[str, list[object]]:
        return {
            name: [(*column.names, None)[code] for code in column.codes.tolist()] for name, column in self.codes.items()
        }

    def estimate(self, columns: Mapping[str, object] | None = None) -> Estimate:
        """With a fixed-n interval, as the rivals': none of them can be watched."""
        pool = Pool.from_arrays(kind="version_upgrade", scale=BINARY, position=self.position, **(columns or self.codes))
        return estimate(pool, estimand="success_difference")


def peers(rows: Rows) -> dict[str, Callable[[], object]]:
    """What other libraries do with the same rows: the classic PPI++ interval, and a stratified mean of the labels."""
    with warnings.catch_warnings():  # they warn, or silence every warning of the process, when they are imported
        warnings.simplefilter("ignore")
        from ppi_py import ppi_mean_ci
        from samplics import PopParam, TaylorEstimator
    sizes, drawn = np.bincount(rows.stratum), np.bincount(rows.stratum_labelled)
    weights = (sizes / drawn)[rows.stratum_labelled]
    population = dict(enumerate((1 - drawn / sizes).tolist()))

    def stratified() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TaylorEstimator(param=PopParam.mean).estimate(
                y=rows.y, samp_weight=weights, stratum=rows.stratum_labelled, fpc=population
            )

    return {
        PPI: lambda: ppi_mean_ci(rows.y, rows.x_labelled, rows.x_other, alpha=0.05),
        "samplics TaylorEstimator (labels only)": stratified,
    }


def from_arrays(runs: int) -> dict[int, dict[str, float]]:
    """Seconds of a pool and its estimate from one row per case, by number of cases and by library."""
    found = {}
    for cases in (10**4, 10**5, 10**6):
        rows = Rows(cases, max(cases // 100, 400))
        rivals = peers(rows)
        found[cases] = {}
        for name, rival in rivals.items():
            ours, theirs = timed(rows.estimate, rival, runs=runs * max(1, 10**5 // cases))
            found[cases].setdefault(OURS, ours)  # beside the first rival
            found[cases][name] = theirs
        texts = rows.texts()
        (found[cases]["tertium, from texts"],) = timed(lambda texts=texts, rows=rows: rows.estimate(texts), runs=1)
    return found


@contextmanager
def database() -> Iterator[None]:
    """An empty SQLite database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{Path(folder) / 'benchmark.sqlite3'}"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django
        from django.core.management import call_command
        from django.db import connection

        django.setup()
        call_command("migrate", verbosity=0)
        yield
        connection.close()


def stored_audit(draws: int, cases: int):  # type: ignore[no-untyped-def]
    """A swap with so many drawn cases, all settled, written in bulk."""
    from adjudication.models import Item, Queue, Reference, Settlement
    from audits.models import Cell as StoredCell
    from audits.models import Draw, Registration, Stratum
    from judges.models import Artifact, Case
    from tests import factories

    audit = factories.make_audit(factories.make_swap(factories.make_project(), {"c": ("Yes", "No")}))
    comparison, actor, now = audit.comparison, factories.operator(audit), factories.NOW
    system = comparison.old_run.system_version
    half = draws // 2
    registration = Registration.objects.create(
        audit=audit,
        n=1,
        plan=audit.plan,
        frame_hash="0" * 64,
        seed="7",
        code_version="0",
        labels={"agree": half, "disagree": half},
        actor=actor,
        at=now,
    )
    strata = [
        Stratum.objects.create(audit=audit, name=name, kind="sampled", size=size)
        for name, size in (("agree", cases - cases // 5), ("disagree", cases // 5))
    ]
    for stratum, new in zip(strata, ("pass", "fail"), strict=True):
        StoredCell.objects.create(stratum=stratum, old="pass", new=new, size=stratum.size)
    labels = np.random.default_rng(SEED).choice(LABELS, draws, p=[0.3, 0.7]).tolist()
    with tqdm(total=6 * draws, unit="row", desc="filling the database") as progress:
        for start in range(0, draws, CHUNK):
            numbers = range(start, min(start + CHUNK, draws))
            new_cases = Case.objects.bulk_create(
                Case(case_set=system.case_set, case_id=f"case {n}", input_hash="0" * 64, partition="development")
                for n in numbers
            )
            artifacts = Artifact.objects.bulk_create(
                Artifact(case=case, system_version=system, parts=[], output_hash="0" * 64, evidence_hash="0" * 64)
                for case in new_cases
            )
            items = Item.objects.bulk_create(
                Item(queue=audit.queue, case=case, question=case.input_hash, rank=n + 1, state="settled")
                for n, case in zip(numbers, new_cases, strict=True)
            )
            settlements = Settlement.objects.bulk_create(
                Settlement(item=item, queue=audit.queue, number=n + 1, how="single", actor=actor, at=now)
                for n, item in zip(numbers, items, strict=True)
            )
            Reference.objects.bulk_create(
                Reference(settlement=settlement, artifact=artifact, label=labels[n])
                for n, settlement, artifact in zip(numbers, settlements, artifacts, strict=True)
            )
            Draw.objects.bulk_create(
                Draw(
                    audit=audit,
                    registration=registration,
                    stratum=strata[n % 2],
                    position=n // 2 + 1,
                    case=case,
                    item=item,
                    old="pass",
                    new=("pass", "fail")[n % 2],
                )
                for n, case, item in zip(numbers, new_cases, items, strict=True)
            )
            progress.update(6 * len(numbers))
    Queue.objects.filter(pk=audit.queue_id).update(settled=draws)
    return audit


def from_database(draws: int, runs: int) -> tuple[float, float, int]:
    """Seconds of the aggregate query with its pool, of the estimate from it, and how many queries that took."""
    with database():
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        from audits.frames import pool_of

        audit = stored_audit(draws, 10 * draws)

        def load() -> Pool:
            return pool_of(audit, watermark=draws, registration=1)

        pool = load()
        assert sum(cell.labelled for cell in pool.cells) == draws
        with CaptureQueriesContext(connection) as queries:
            load()
        aggregates = sum("audits_draw" in query["sql"] for query in queries.captured_queries)
        times = timed(load, lambda: estimate(pool, estimand="accuracy_difference", **PLAN), runs=runs)
        return times[0], times[1], aggregates


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 draws in the database instead of 100,000")
    parser.add_argument("--draws", type=int, default=100_000, help="draws in the database; 0 leaves it out")
    options = parser.parse_args(arguments)
    runs, draws = (7, min(10_000, options.draws)) if options.quick else (30, options.draws)

    print("A look from counts, milliseconds (success_difference, monitored)")
    looks = from_counts(runs)
    for (cases, strata), seconds in looks.items():
        print(f"  N = {cases:>9,}  H = {strata:>3}  {seconds * 1e3:8.2f}")
    largest = looks[10**6, 2]
    swap = exact_swap(10**6, 10**4)
    (exact,) = timed(lambda: estimate(swap, estimand="accuracy_difference", **PLAN), runs=runs)
    print(f"  the exact interval of a swap, 100,000 disagreements: {exact * 1e3:.2f}")

    print("From one row per case, milliseconds")
    arrays = from_arrays(runs)
    for cases, times in arrays.items():
        print(f"  N = {cases:>9,}  " + "   ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in times.items()))

    parts = [f"N x100: {largest / looks[10**4, 2]:.2f}", f"H x100: {looks[10**6, 200] / largest:.0f}"]
    parts += [f"rows {cases:.0e} / ppi_py: {times[OURS] / times[PPI]:.2f}" for cases, times in arrays.items()]
    if draws:
        load, look, queries = from_database(draws, runs)
        print(
            f"From the database, {draws:,} draws, milliseconds: {queries} query {load * 1e3:.1f}, look {look * 1e3:.2f}"
        )
        parts += [f"database: {queries} aggregate query, {load / draws * 1e6:.1f} us per draw"]
    print(f"a look at 1,000,000 cases, 10,000 labels: {largest * 1e3:.2f} ms; ratios: {'; '.join(parts)}")


if __name__ == "__main__":
    main()
