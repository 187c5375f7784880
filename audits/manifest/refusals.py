"""The rows that an intake of the good ones leaves out: every file is read beforehand, and nothing is stored.

A row that is refused takes its case with it, out of every file, so that no judgment is left without its artifact and
no side without the other. A row that cannot be read names no case, and is left out by itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audits.manifest.specs import Manifest
from core.errors import Problem
from judges.intake.columns import read_artifacts, read_cases, read_judgments, read_labels
from judges.intake.problems import RefusedRows
from judges.intake.rows import CaseIndex
from judges.intake.specs import ReviewSource, Source
from judges.intake.streams import Meter
from judges.progress import Progress, silent

COLUMNS = ("file", "row", "column", "value", "why", "accepted")


@dataclass(frozen=True)
class Refusals:
    """The refused rows, and the cases that are left out with them."""

    rows: tuple[Problem, ...] = ()
    cases: frozenset[str] = frozenset()

    def lines(self) -> Iterator[tuple[str | int | None, ...]]:
        """A row of COLUMNS for each."""
        for row in self.rows:
            yield row.file, row.row, row.column or row.key, row.value, row.what, row.allowed


NONE_REFUSED = Refusals()


def find_refusals(manifest: Manifest, progress: Progress = silent) -> Refusals:
    """Raises what is wrong with a file as a whole, for which no row can be blamed."""
    return _Check(manifest, progress).found()


class _Check:
    def __init__(self, manifest: Manifest, progress: Progress) -> None:
        self.manifest = manifest
        self.progress = progress
        self.problems = RefusedRows()
        self.index = CaseIndex()
        self.judged: dict[str, bytearray] = {}  # by system version, whether the case in each row has an artifact

    def found(self) -> Refusals:
        self._cases()
        sides, cases = self.manifest.sides, self._located
        for source in self.manifest.sources:
            self.problems.counted = _counted(source)
            for name in dict.fromkeys(sides[side].system_version for side in source.artifacts_of):
                there = self.judged.setdefault(name, bytearray(self.index.rows + 1))
                rows = read_artifacts(
                    self.manifest.path(source), source, self.index, cases=cases, problems=self.problems
                )
                for row in self.progress(f"checking artifacts of {name}", rows, len(self.index)):
                    there[self.index.row_of[row.case_id]] = 1
        for side in sides:
            self._judgments(self.manifest.source_of(side), sides[side].system_version)
        for further in self.manifest.further_runs:
            self._judgments(further.source, further.spec.system_version)
        for review in self.manifest.reviews_there:
            self.problems.counted = _counted(review)
            _exhaust(read_labels(self.manifest.path(review), review, self.index, problems=self.problems))
        if sum(case_id in self.index.row_of for case_id in self.problems.cases) == len(self.index):
            source = self.manifest.case_source
            self.problems.add(Problem("no case is left of which every row is good", file=source.file))
        self.problems.raise_if_any()
        return Refusals(tuple(self.problems.rows), frozenset(self.problems.cases))

    @property
    def _located(self) -> tuple[tuple[Path, ...], Source]:
        source = self.manifest.case_source
        return self.manifest.path(source), source

    def _cases(self) -> None:
        path, source = self._located
        self.problems.counted = _counted(source)
        meter = Meter(path)
        rows = read_cases(path, source, self.index, problems=self.problems, meter=meter)
        _exhaust(self.progress("checking cases", rows, None, meter))
        # Without the cases nothing that follows would be told truly.
        self.problems.raise_if_any()

    def _judgments(self, source: Source, system: str) -> None:
        self.problems.counted = _counted(source)
        path, there = self.manifest.path(source), self.judged[system]
        rows = read_judgments(path, source, self.index, cases=self._located, problems=self.problems)
        for row in self.progress(f"checking judgments of {source.judgments_of}", rows, len(self.index)):
            if not there[self.index.row_of[row.case_id]] and row.case_id not in self.problems.cases:
                what = f"a judgment of a case for which {system} has no artifact"
                self.problems.add(Problem(what, source.file, row.number, value=row.case_id), row.case_id)


def _counted(source: Source | ReviewSource) -> bool:
    """Whether a row that cannot be read would change which case, or which run, another row is taken for."""
    in_lists = source.join.column is None and bool(source.layout.rows)
    return in_lists or source.layout.occurrence is not None


def _exhaust(rows: Iterable[object]) -> None:
    for _ in rows:
        pass
