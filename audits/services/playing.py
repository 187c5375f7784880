"""Playing the synthetic project: its people, their answers, and waiting for the looks that follow."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from audits.models import Audit
from audits.selectors import look_is_due
from audits.services.simulating import SimulatedReviewer, reviews_simulate
from audits.synthetic import synthetic_cases
from core.errors import Problem, Refused
from core.models import AuthorKind, Project, Role
from core.services import member_add
from judges.models import Artifact

PROJECT = "demo"
# Simulated people are quicker than any worker, which would find everything answered at once.
ANSWERS_BETWEEN_LOOKS = 10
LOOKS_WITHIN = 30.0  # seconds


def next_audit_name() -> str:
    """`demo-1`, then `demo-2`: an audit that has been played keeps its name."""
    return f"{PROJECT}-{Audit.objects.filter(project__name=PROJECT).count() + 1}"


def simulated_people(project: Project) -> list[SimulatedReviewer]:
    """Three reviewers and an adjudicator, with the habits of people."""

    def person(name: str, role: Role, error: float, skip: float = 0.0, cannot: float = 0.0) -> SimulatedReviewer:
        author = member_add(project=project, username=f"simulated-{name}", role=role, kind=AuthorKind.SIMULATED)
        return SimulatedReviewer(author, error, skip, cannot)

    return [
        person("ada", Role.REVIEWER, error=0.05, skip=0.08),
        person("ben", Role.REVIEWER, error=0.08, cannot=0.06),
        person("cleo", Role.REVIEWER, error=0.06),
        person("dora", Role.ADJUDICATOR, error=0.01),
    ]


def audit_play(
    *,
    audit: Audit,
    seed: str,
    clock: Callable[[], datetime],
    after_each: Callable[[Counter[str]], None] = lambda done: None,
) -> Counter[str]:
    """Let simulated people answer everything that the audit drew; what they did, counted."""
    truths = {case.case_id: case.truth for case in synthetic_cases(seed)}

    def truth(artifact: Artifact) -> str:
        return truths[artifact.case.case_id]

    return reviews_simulate(
        queue=audit.queue,
        people=simulated_people(audit.project),
        truth=truth,
        seed=seed,
        clock=clock,
        after_each=after_each,
    )


def looks_await(audit: Audit, seconds: float = LOOKS_WITHIN) -> None:
    """Wait until a worker has computed every look that is due."""
    deadline = time.monotonic() + seconds
    while look_is_due(audit):
        if time.monotonic() > deadline:
            raise Refused(Problem(f"no worker computed the look of {audit} within {seconds:g} seconds"))
        time.sleep(0.1)
