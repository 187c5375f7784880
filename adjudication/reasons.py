"""The reason codes that a project begins with. From then on they are its own: see `services/reasons.py`.

A blind person cannot know what a judge did. Codes for the desk are what such a person can know; those for the
diagnosis are given after settlement, with the verdicts in view. A code never replaces the rationale.
"""

from dataclasses import dataclass

from adjudication.models import ReasonOwner, ReasonStage

RUBRIC, PLATFORM, PACKAGING = ReasonOwner.RUBRIC, ReasonOwner.EVALUATOR_PLATFORM, ReasonOwner.PACKAGING
MAPPING, POLICY = ReasonOwner.MAPPING, ReasonOwner.POLICY
DESK, CALIBRATION, DIAGNOSIS = ReasonStage.DESK, ReasonStage.CALIBRATION, ReasonStage.DIAGNOSIS


@dataclass(frozen=True)
class Reason:
    code: str
    meaning: str
    stage: ReasonStage
    owner: ReasonOwner
    needs_text: bool = False


FIRST_REASONS = (
    Reason("rubric boundary", "the answer lies between two grades", DESK, RUBRIC),
    Reason("rubric insufficient", "the guideline does not say", DESK, RUBRIC),
    Reason("evidence interpretation", "the evidence can be read in two ways", DESK, RUBRIC),
    Reason("evidence missing", "what would decide it is not here", DESK, PACKAGING),
    Reason("ambiguous task", "the question can be read in two ways", DESK, POLICY),
    Reason("policy priority", "two rules point in different directions", DESK, POLICY),
    Reason("gold-label dispute", "the label on record seems wrong", CALIBRATION, RUBRIC, needs_text=True),
    Reason("other", "said in the rationale", DESK, POLICY, needs_text=True),
    Reason("output-order sensitivity", "the verdict follows the order of the outputs", DIAGNOSIS, PLATFORM),
    Reason("parser invalid", "the parser read the reply wrongly or not at all", DIAGNOSIS, PLATFORM),
    Reason("mapping gap", "the judge's label is not mapped, or mapped wrongly", DIAGNOSIS, MAPPING),
    Reason("judge nondeterminism", "the same judge says something else when it runs again", DIAGNOSIS, PLATFORM),
    Reason("evidence packaging", "the judge was given other evidence, or in another form", DIAGNOSIS, PACKAGING),
    Reason("cache", "the verdict belongs to an earlier artifact", DIAGNOSIS, PLATFORM),
    Reason("policy change", "the rule itself has changed", DIAGNOSIS, POLICY),
    Reason("judge error", "the judge had all it needed, and is wrong", DIAGNOSIS, PLATFORM),
)
