"""Nothing that could bias a reviewer reaches one: what could leak is planted, and looked for everywhere.

CANARY stands in what nobody at the desk may see; SAID in the words of reviewers, which an adjudicator sees.
"""

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from adjudication.models import Item, Lease, Presentation
from audits.models import Audit, Stratum, StratumKind
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.models import Author, Role
from judges.intake.specs import GeneratorSpec, ReaderSpec, SideSpec
from judges.models import Reading
from judges.services.comparisons import comparison_open
from judges.services.publishing import generator_ensure
from judges.services.runs import run_load
from tests import factories
from tests.routes import routes

pytestmark = pytest.mark.django_db
TABLE = {"CANARY-yes": "pass", "CANARY-no": "fail"}
SYSTEMS = ("CANARY-old-system", "CANARY-new-system")


@pytest.fixture(params=["judge_swap", "version_upgrade"])
def audit(request: pytest.FixtureRequest) -> Audit:
    """A registered audit in which every name, verdict and raw response is marked."""
    project = factories.make_project("plain")
    ids = [f"CANARY-case-{n}" for n in range(6)]
    rows = [
        factories.case_row(case, n, input=f"question {n}", slices={"CANARY-slice": f"CANARY-value-{n % 2}"})
        for n, case in enumerate(ids)
    ]
    case_set = factories.load_cases(project, rows, "CANARY-set", "CANARY-version")
    names = SYSTEMS[:1] if request.param == "judge_swap" else SYSTEMS
    systems = [
        factories.load_artifacts(
            case_set, name, [factories.artifact_row(case, n, f"output {n} {place}") for n, case in enumerate(ids)]
        )
        for place, name in enumerate(names)
    ]
    reader = factories.make_reader(project, table=TABLE, name="CANARY-mapping")
    runs = []
    for side in range(2):
        model = f"CANARY-model-{side if request.param == 'judge_swap' else 0}"
        spec = SideSpec(names[side % len(names)], GeneratorSpec(model=model), ReaderSpec("exact-label@1", "x@1"), 1)
        labels = [list(TABLE)[(n + side) % 2 if n < 3 else 0] for n in range(6)]
        runs.append(
            run_load(
                generator=generator_ensure(project=project, spec=spec.generator),
                system=systems[side % len(systems)],
                spec=spec,
                rows=[
                    factories.judgment_row(case, label, n)
                    for n, (case, label) in enumerate(zip(ids, labels, strict=True))
                ],
                file="CANARY-file.csv",
                now=factories.NOW,
            )[0]
        )
    comparison = comparison_open(
        project=project,
        name="CANARY-comparison",
        kind=request.param,
        partition="development",
        old=(runs[0], reader),
        new=(runs[1], reader),
        labels=["fail", "pass"],
        rules=factories.RULES,
        slices=["CANARY-slice"],
        blocking_slices=[],
    )
    audit = factories.make_audit(comparison, review={"double_review_share": 1.0})
    audit_register(audit=audit, actor=factories.operator(audit), now=factories.NOW)
    Stratum.objects.create(audit=audit, name="CANARY-stratum", kind=StratumKind.SAMPLED, size=1)
    return audit


class Visitor:
    """Asks for everything that there is an address for, and keeps every answer whole."""

    def __init__(self, author: Author) -> None:
        self.author, self.client = author, Client(raise_request_exception=True)
        self.client.force_login(author.user)
        self.seen: list[str] = []

    def ask(self, method: str, url: str, data: dict[str, Any] | None = None, inside: bool = False) -> HttpResponse:
        headers = {"HX-Request": "true"} if inside else None
        answer = getattr(self.client, method)(url, data or {}, headers=headers)
        body = answer.content.decode() if not answer.streaming else ""
        self.seen.append(f"{method} {url}\n{answer.status_code} {dict(answer.items())} {answer.cookies}\n{body}")
        return answer

    def tokens(self) -> list[str]:
        return [str(token) for token in Lease.objects.filter(author=self.author).values_list("token", flat=True)]

    def look_everywhere(self, audit: Audit) -> None:
        known = {"project": "plain", "audit": "some-audit", "name": "some-name"}
        for route in routes():
            if route.name == "logout":
                continue
            for token in [*self.tokens(), None] if "token" in route.converters else [None]:
                url = route.url(**known, **({"token": token} if token else {}))
                for inside in (False, True):
                    self.ask("get", url, inside=inside)
        for url in ("/p/plain/review?passed-on", "/p/plain/work?before=x", "/p/plain/nothing", "/p/other/review"):
            self.ask("get", url)

    def text(self) -> str:
        return "\n".join(self.seen)


def work(visitor: Visitor, positions: list[str], grade: str, words: str) -> None:
    """Everything that a person can do with one case, wrong ways included; the answer comes last."""
    visitor.ask("get", "/p/plain/review")
    lease = Lease.objects.get(author=visitor.author, ended_at=None, ahead=False)
    url, right = f"/p/plain/review/{lease.token}", {**dict.fromkeys(positions, grade), "rationale": words}
    for inside in (False, True):
        visitor.ask("post", f"{url}/draft", right, inside)
        visitor.ask("post", url, {"rationale": "no grade"}, inside)
        visitor.ask("post", url, {**right, "reasons": ["no such"]}, inside)
        visitor.ask("post", f"{url}/skip", {}, inside)
        visitor.ask("post", f"{url}/undo", {}, inside)
    visitor.ask("post", url, right, inside=True)
    visitor.ask("post", f"{url}/undo", {}, inside=True)
    again = Lease.objects.get(author=visitor.author, ended_at=None, ahead=False, item=lease.item)
    visitor.ask("post", f"/p/plain/review/{again.token}", right, inside=True)


def positions_of(audit: Audit) -> list[str]:
    return ["only"] if audit.comparison.is_swap else ["left", "right"]


def test_world_contains_what_could_leak(audit: Audit) -> None:
    assert Reading.objects.filter(raw_label__startswith="CANARY").exists()
    assert set(audit.strata.values_list("name", flat=True)) >= {"CANARY-stratum"}


def test_nothing_planted_reaches_anybody_at_the_desk(audit: Audit) -> None:
    """BEHAVIOUR 9."""
    project = audit.project
    positions = positions_of(audit)
    first = Visitor(factories.member_add(project=project, username="ann", role=Role.REVIEWER))
    second = Visitor(factories.member_add(project=project, username="CANARY-ben", role=Role.REVIEWER))
    judge = Visitor(factories.member_add(project=project, username="ada", role=Role.ADJUDICATOR))

    # The colleague has answered three cases and begun a fourth before the first person looks.
    for _ in range(3):
        work(second, positions, "1", "SAID-by-ben")
    second.ask("get", "/p/plain/review")
    held = Lease.objects.get(author=second.author, ended_at=None, ahead=False)
    second.ask("post", f"/p/plain/review/{held.token}/draft", {"rationale": "SAID-in-a-draft"})

    first.look_everywhere(audit)
    for grade in ("1", "0", "cannot"):
        work(first, positions, grade, "my own words")
        first.look_everywhere(audit)
    looks_bring_up_to_date(audit=audit, clock=timezone.now)
    first.look_everywhere(audit)
    assert "question 0" in first.text() or "question 1" in first.text()  # they did see cases
    assert re.findall("CANARY[^<]{0,40}|SAID[^<]{0,40}", first.text()) == []

    judge.look_everywhere(audit)
    work(judge, positions, "1", "settled")
    judge.look_everywhere(audit)
    assert "SAID-by-ben" in judge.text()
    assert re.findall("CANARY[^<]{0,40}|SAID-in-a-draft", judge.text()) == []


def test_no_address_or_value_at_the_desk_numbers_a_record(audit: Audit) -> None:
    visitor = Visitor(factories.member_add(project=audit.project, username="ann", role=Role.REVIEWER))
    work(visitor, positions_of(audit), "1", "words")
    page = visitor.ask("get", "/p/plain/review").content.decode()
    page += visitor.ask("get", "/p/plain/work").content.decode()
    token = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    paths = {re.sub(token, "TOKEN", path) for path in re.findall(r'="(/[^"]*)"', page)}
    compared = set() if audit.comparison.is_swap else {"/p/plain/review/TOKEN/differences"}
    assert {path for path in paths if not path.startswith("/static/")} == compared | {
        "/",
        "/login",
        "/logout",
        "/p/plain/review",
        "/p/plain/keys",
        "/p/plain/work",
        "/p/plain/review/TOKEN",
        "/p/plain/review/TOKEN/draft",
        "/p/plain/review/TOKEN/skip",
        "/p/plain/review/TOKEN/undo",
    }


@pytest.mark.parametrize("audit", ["version_upgrade"], indirect=True)
def test_side_cannot_be_told_from_the_page(audit: Audit) -> None:
    """BEHAVIOUR 10: with the outputs the other way round two people get the same but texts, tokens and places."""
    pages = []
    item = Item.objects.get(queue=audit.queue, rank=1)
    order = list(item.shown.values_list("artifact", flat=True))
    for name, ordered in (("ann", order), ("eve", order[::-1])):
        visitor = Visitor(factories.member_add(project=audit.project, username=name, role=Role.REVIEWER))
        Presentation.objects.create(item=item, author=visitor.author, order=ordered, salt=name, at=factories.NOW)
        pages.append(visitor.ask("get", "/p/plain/review").content.decode())

    def without(page: str) -> str:
        page = re.sub(r"output \d [01]", "OUTPUT", page)
        page = re.sub(r"<strong>\d+</strong>", "COUNT", page)
        page = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "TOKEN", page)
        return re.sub(r'csrfmiddlewaretoken" value="\w+"|<bdi>\w+</bdi>', "", page)

    assert without(pages[0]) == without(pages[1])
