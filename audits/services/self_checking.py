"""The smoke set, taken through the real intake: does this installation tell the faults of a pair apart?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction

from audits.manifest import load_manifest
from audits.services.opening import audit_open
from core.services import operator_at
from judges.pairing import PairState
from judges.selectors import pairs_of

SMOKE = settings.BASE_DIR / "audits" / "smoke" / "manifest.yaml"
EXPECTED = {
    "valid-agreement": PairState.AGREE,
    "intentional-disagreement": PairState.DISAGREE,
    "unmapped-label": PairState.UNMAPPABLE,
    "missing-pair": PairState.MISSING,
    "mismatched-evidence": PairState.EVIDENCE_MISMATCH,
}
# The faults must fail their rules as well: a disagreement is none.
EXPECTED_FAILURES = ("fail_on_missing_pair", "fail_on_unmapped_label")


@dataclass(frozen=True)
class SelfCheck:
    """What each case of the smoke set was taken for, and the integrity rules that did not hold."""

    found: Mapping[str, str]
    failures: tuple[str, ...]

    @property
    def differences(self) -> list[str]:
        names = list(dict.fromkeys([*EXPECTED, *self.found]))
        wrong = [
            f"case {name}: {self.found.get(name, 'not there')}, expected {EXPECTED.get(name, 'no such case')}"
            for name in names
            if self.found.get(name) != EXPECTED.get(name)
        ]
        if self.failures != EXPECTED_FAILURES:
            wrong.append(f"rules that fail: {', '.join(self.failures)}; expected {', '.join(EXPECTED_FAILURES)}")
        return wrong


def self_check(*, now: datetime, manifest: Path = SMOKE) -> SelfCheck:
    """Open the smoke set's audit as any other, see what its pairs are, and leave nothing of it behind."""
    loaded = load_manifest(manifest)
    with transaction.atomic():
        opened = audit_open(manifest=loaded, actor=operator_at(project=loaded.project, now=now), now=now)
        found = {pair.case_id: pair.state.value for pair in pairs_of(opened.audit.comparison)}
        transaction.set_rollback(True)
    return SelfCheck(found, tuple(failure.partition(":")[0] for failure in opened.integrity["failures"]))
