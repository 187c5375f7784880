"""Finding a few pairs among many: by state, or by a judgment whose provenance is in doubt."""

import base64
import json
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from django.db.models import Count
from numpy.typing import NDArray

from judges.models import Comparison, Judgment, PairIndex, ProvenanceMark, Run
from judges.pairing import Pair, PairState
from judges.selectors import pairs_of
from judges.transitions import is_blocking

DOUBTFUL = (ProvenanceMark.CONTRADICTED.value, ProvenanceMark.UNVERIFIED.value)
MARKS = tuple(f"{side} {mark}" for mark in DOUBTFUL for side in ("old", "new"))
STATES = tuple(state.value for state in PairState)
BLOCKING = "blocking transition"
KEY = "<i8"

Keys = NDArray[np.int64]
Caches = dict[str, list[dict[str, Any]]]  # side -> {"cache", "provenance", "judgments"}


class PairsFound:
    """The keys of the cases under each state and mark, noted while the pairs go by in the order of their cases."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._keys: dict[str, array[int]] = defaultdict(lambda: array("q"), {BLOCKING: array("q")})

    def noting(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            self._keys[pair.state].append(pair.case_pk)
            if is_blocking(self.comparison, pair):
                self._keys[BLOCKING].append(pair.case_pk)
            if pair.old is not None and pair.old.provenance in DOUBTFUL:
                self._keys[f"old {pair.old.provenance}"].append(pair.case_pk)
            if pair.new is not None and pair.new.provenance in DOUBTFUL:
                self._keys[f"new {pair.new.provenance}"].append(pair.case_pk)
            yield pair

    def index(self) -> PairIndex:
        """Of the pairs that went by, and not stored."""
        sides = {"old": self.comparison.old_run, "new": self.comparison.new_run}
        caches: Caches = {side: _caches(run, self.comparison.partition) for side, run in sides.items()}
        return PairIndex(
            comparison=self.comparison,
            cases_text=json.dumps({str(key): _packed(keys) for key, keys in self._keys.items()}),
            caches_text=json.dumps(caches),
        )


def pair_index_of(comparison: Comparison) -> PairIndex:
    """As stored; found anew for a comparison from before indexes were stored, or held all of this."""
    stored = PairIndex.objects.filter(comparison=comparison).first()
    if stored is not None and BLOCKING in json.loads(stored.cases_text):
        return stored
    found = PairsFound(comparison)
    for _ in found.noting(pairs_of(comparison)):
        pass
    return found.index()


def cases_found(index: PairIndex, keys: Sequence[str]) -> Keys:
    """Ascending primary keys of the cases under any of these states or marks."""
    packed = json.loads(index.cases_text)
    lists = [_unpacked(packed[key]) for key in keys if key in packed]
    if len(lists) == 1:
        return lists[0]
    if not lists:
        return np.array([], KEY)
    merged = np.sort(np.concatenate(lists), kind="stable")  # which merges what is in order already
    return merged[np.diff(merged, prepend=-1) > 0]


def those_after(cases: Keys, after: int, number: int) -> list[int]:
    start = int(np.searchsorted(cases, after, side="right"))
    found: list[int] = cases[start : start + number].tolist()
    return found


def caches_of(index: PairIndex) -> Caches:
    caches: Caches = json.loads(index.caches_text)
    return caches


def _packed(keys: "array[int]") -> str:
    differences = np.diff(np.array(keys, KEY), prepend=0)
    return base64.b64encode(zlib.compress(differences.astype(KEY).tobytes())).decode()


def _unpacked(text: str) -> Keys:
    return np.cumsum(np.frombuffer(zlib.decompress(base64.b64decode(text)), KEY))


def _caches(run: Run, partition: str) -> list[dict[str, Any]]:
    judgments = Judgment.objects.filter(run=run, artifact__case__partition=partition)
    return list(judgments.values("cache", "provenance").annotate(judgments=Count("pk")).order_by("cache", "provenance"))
