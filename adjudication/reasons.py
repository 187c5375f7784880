"""The reason codes that a person without sight of any verdict can give. A code never replaces the rationale."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InputError, Problem


@dataclass(frozen=True)
class Reason:
    code: str
    help: str
    needs_text: bool = False


DESK_REASONS = (
    Reason("rubric boundary", "the answer lies between two grades"),
    Reason("rubric insufficient", "the guideline does not say"),
    Reason("evidence interpretation", "the evidence can be read in two ways"),
    Reason("evidence missing", "what would decide it is not here"),
    Reason("ambiguous task", "the question can be read in two ways"),
    Reason("policy priority", "two rules point in different directions"),
    Reason("gold-label dispute", "the label on record seems wrong"),
    Reason("other", "said in the rationale", needs_text=True),
)
CODES = {reason.code: reason for reason in DESK_REASONS}


def check_reasons(codes: Sequence[str], rationale: str) -> None:
    for code in codes:
        if code not in CODES:
            raise InputError(Problem("not a reason code", value=code, allowed=", ".join(CODES)))
        if CODES[code].needs_text and not rationale.strip():
            raise InputError(Problem(f"the reason “{code}” needs a rationale that says what it is"))
