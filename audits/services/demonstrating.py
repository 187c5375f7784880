"""A project to look around in: registered and begun by simulated people, the rest of it left to real ones."""

import secrets
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.utils import timezone

from audits.manifest import load_manifest
from audits.services.looks import looks_bring_up_to_date
from audits.services.opening import audit_open
from audits.services.playing import ANSWERS_BETWEEN_LOOKS, simulated_people
from audits.services.registering import audit_register
from audits.services.simulating import reviews_simulate
from audits.synthetic import synthetic_cases, synthetic_project
from core.models import Author, Project, Role
from core.services import member_add, member_remove, operator_at, password_set, project_ensure
from judges.models import Artifact

PROJECT, AUDIT, SEED = "demonstration", "grader-swap", "2026"
# Enough for a first interval; then some more without the adjudicator, so that people find conflicts to settle.
ANSWERED_BEFORE, LEFT_UNSETTLED = 110, 12
PEOPLE = (
    ("owner", Role.OWNER),
    ("lead", Role.LEAD),
    ("reviewer-1", Role.REVIEWER),
    ("reviewer-2", Role.REVIEWER),
    ("reviewer-3", Role.REVIEWER),
    ("adjudicator", Role.ADJUDICATOR),
)
# Without those that are taken for one another when read from paper.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True)
class Account:
    username: str
    role: Role
    password: str


def demonstration_exists() -> bool:
    """Its people are the last thing that is made: without them it was left half made, and is finished."""
    return Author.objects.filter(project__name=PROJECT, pseudonym=PEOPLE[-1][0]).exists()


def demonstration_make(*, folder: Path, now: datetime) -> list[Account]:
    """The project, its audit with some answers, and its people with new passwords. Run again, it goes on
    where it was broken off."""
    manifest = synthetic_project(folder, name=AUDIT, project=PROJECT, seed=SEED)
    actor = operator_at(project=PROJECT, now=now)
    audit = audit_open(manifest=load_manifest(manifest), actor=actor, now=now).audit
    if audit.state == "draft":
        audit_register(audit=audit, actor=actor, now=now)
    truths = {case.case_id: case.truth for case in synthetic_cases(SEED)}

    def truth(artifact: Artifact) -> str:
        return truths[artifact.case.case_id]

    def look(done: Counter[str]) -> None:
        if done.total() % ANSWERS_BETWEEN_LOOKS == 0:
            looks_bring_up_to_date(audit=audit, clock=timezone.now)

    people, usual = simulated_people(audit.project), {"truth": truth, "seed": SEED, "clock": timezone.now}
    for present, answers in ((people, ANSWERED_BEFORE), (people[:-1], LEFT_UNSETTLED)):
        reviews_simulate(queue=audit.queue, people=present, at_most=answers, after_each=look, **usual)
    # They leave: otherwise what real people pass on would wait for them.
    for person in people:
        member_remove(author=person.author)
    return people_add(project_ensure(name=PROJECT, now=now))


def people_add(project: Project) -> list[Account]:
    return [_account(project, username, role) for username, role in PEOPLE]


def _account(project: Project, username: str, role: Role) -> Account:
    password = "-".join("".join(secrets.choice(LETTERS) for _ in range(5)) for _ in range(3))
    password_set(author=member_add(project=project, username=username, role=role), password=password)
    return Account(username, role, password)
