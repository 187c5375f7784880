"""Nothing that could bias a reviewer reaches one: what could leak is planted, and looked for everywhere.

CANARY stands in what nobody at the desk may see; SAID in the words of reviewers, which an adjudicator sees.
"""

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from adjudication.models import Item, Lease, Presentation, QueuePurpose, Review, SlotKind
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


DESK = "/api/v1/projects/plain/desk"


def work_by_api(visitor: Visitor, positions: list[str], label: str | None, words: str) -> None:
    """The same by the API, wrong ways included."""

    def send(method: str, url: str, body: dict[str, Any], key: str = "") -> HttpResponse:
        headers = {"Idempotency-Key": key} if key else None
        answer = getattr(visitor.client, method)(url, body, content_type="application/json", headers=headers)
        visitor.seen.append(f"{method} {url}\n{answer.status_code} {dict(answer.items())}\n{answer.content.decode()}")
        return answer

    token = send("post", f"{DESK}/next", {}).json()["case"]["token"]
    url, right = f"{DESK}/{token}", {"answers": dict.fromkeys(positions, label), "rationale": words}
    send("put", f"{url}/draft", right)
    for wrong in ({"rationale": "no grade"}, {**right, "reasons": ["no such"]}, {"answers": {"middle": "x"}}):
        assert send("post", f"{url}/answer", wrong).status_code == 422
    send("post", f"{url}/skip", {"reason": " "})
    send("post", f"{url}/undo", {})
    for _ in range(2):
        assert send("post", f"{url}/answer", right, f"answer {token}").status_code == 200
    assert send("post", f"{url}/undo", {}).status_code == 204
    again = send("post", f"{DESK}/next", {}).json()["case"]["token"]
    assert send("post", f"{DESK}/{again}/answer", right).status_code == 200
    for place in ("", "/keys", f"/{token}/differences", f"/{again}/feedback"):
        visitor.ask("get", f"{DESK}{place}")


def test_nothing_planted_reaches_anybody_by_the_api(audit: Audit) -> None:
    """BEHAVIOUR 9 and 11: bodies and headers, before and after one's own answer, and of the adjudicator."""
    project, positions = audit.project, positions_of(audit)
    first = Visitor(factories.member_add(project=project, username="ann", role=Role.REVIEWER))
    second = Visitor(factories.member_add(project=project, username="CANARY-ben", role=Role.REVIEWER))
    judge = Visitor(factories.member_add(project=project, username="ada", role=Role.ADJUDICATOR))
    for _ in range(2):
        work_by_api(second, positions, "pass", "SAID-by-ben")
    for label in ("fail", None):
        work_by_api(first, positions, label, "my own words")
    assert re.search(r"question \d", first.text())  # they did see cases
    assert re.findall("CANARY[^<]{0,40}|SAID[^<]{0,40}", first.text()) == []
    work_by_api(judge, positions, "pass", "settled")
    assert "SAID-by-ben" in judge.text()
    assert re.findall("CANARY[^<]{0,40}", judge.text()) == []
    numbers = re.findall(r'"(?:id|pk|item|case_id|rank|artifact|stratum)"', first.text() + judge.text())
    assert numbers == []


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
        "/account",
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


@pytest.fixture
def calibrated(audit: Audit) -> Audit:
    """The same audit with a practice set and hidden anchors, of which everything is marked."""
    pair = not audit.comparison.is_swap
    for purpose in (QueuePurpose.PRACTICE, QueuePurpose.ANCHORS):
        factories.make_known_set(
            audit.project,
            purpose,
            2,
            name=f"CANARY-{purpose}",
            label="fail",
            rationale="TRUTH-on-record",
            upgrade=pair,
            prefix=purpose,
        )
    factories.calibrate(audit.queue, practice="CANARY-practice", anchors="CANARY-anchors", every=1)
    return audit


def test_label_on_record_shows_after_a_practice_answer_and_nowhere_else(calibrated: Audit) -> None:
    """Three practice pages are asked for before each answer; of hidden anchors nothing is ever said."""
    visitor = Visitor(factories.member_add(project=calibrated.project, username="ann", role=Role.REVIEWER))
    positions = positions_of(calibrated)
    for _ in range(2):
        for url in ("/p/plain/practice", "/p/plain/review", "/p/plain/work"):
            visitor.ask("get", url)
        lease = Lease.objects.get(author=visitor.author, ended_at=None, ahead=False)
        assert lease.slot.kind == SlotKind.PRACTICE
        assert visitor.ask("get", f"/p/plain/practice/{lease.token}").status_code == 404
        for inside in (False, True):
            visitor.ask("post", f"/p/plain/practice/{lease.token}/dispute", {"code": "x", "words": "y"}, inside)
            visitor.ask("post", f"/p/plain/review/{lease.token}/skip", {"reason": "tired"}, inside)
        assert re.findall("CANARY[^<]{0,40}|TRUTH[^<]{0,40}", visitor.text()) == []
        visitor.ask("post", f"/p/plain/review/{lease.token}", dict.fromkeys(positions, "1"), inside=True)
        assert "TRUTH-on-record" in visitor.seen.pop()
    for _ in range(3):
        work(visitor, positions, "1", "my own words")
    visitor.look_everywhere(calibrated)
    assert Review.objects.filter(author=visitor.author, kind=SlotKind.ANCHOR, withdrawal=None).count() == 1
    own = {f"/p/plain/practice/{token}" for token in visitor.tokens()}
    own |= {f"/api/v1/projects/plain/desk/{token}/feedback" for token in visitor.tokens()}
    elsewhere = "\n".join(seen for seen in visitor.seen if seen.split()[1] not in own)
    assert re.findall("CANARY[^<]{0,40}|TRUTH[^<]{0,40}", elsewhere) == []
    assert re.findall("CANARY[^<]{0,40}", visitor.text()) == []


def test_hidden_anchor_cannot_be_told_from_another_case(audit: Audit) -> None:
    """The same bytes but for texts, tokens and counts: the case, my work before and after, the answer to the answer."""
    pair = not audit.comparison.is_swap
    factories.make_known_set(audit.project, QueuePurpose.ANCHORS, 1, name="hidden", upgrade=pair)
    factories.calibrate(audit.queue, anchors="hidden", every=1)
    visitor = Visitor(factories.member_add(project=audit.project, username="ann", role=Role.REVIEWER))
    pages, kinds = [], []
    answer = dict.fromkeys(positions_of(audit), "1")
    work(visitor, positions_of(audit), "1", "words")  # so that there is an answer to undo on every page
    for _ in range(2):
        case = visitor.ask("get", "/p/plain/review")
        lease = Lease.objects.select_related("slot").get(author=visitor.author, ended_at=None, ahead=False)
        kinds.append(lease.slot.kind)
        url = f"/p/plain/review/{lease.token}"
        asked = [case, visitor.ask("get", "/p/plain/work")]
        asked += [visitor.ask("post", f"{url}/draft", answer, inside=True), visitor.ask("post", url, {}, inside=True)]
        asked += [
            visitor.ask("post", f"{url}/skip", {}, inside=True),
            visitor.ask("get", f"/p/plain/practice/{lease.token}"),
        ]
        visitor.ask("post", url, answer)
        asked.append(visitor.ask("get", "/p/plain/work"))
        pages.append([(one.status_code, dict(one.items()).keys(), _plain(one.content.decode())) for one in asked])
    assert sorted(kinds) == [SlotKind.ANCHOR, SlotKind.REVIEW]
    assert pages[0] == pages[1]


def _plain(page: str) -> str:
    """Without what differs from one case to another; of lists and their rows, one."""
    page = re.sub(r"(question|better answer|answer) [\w-]+|output \d [01]", "TEXT", page)
    page = re.sub(r"<strong>\d+</strong>", "COUNT", page)
    page = re.sub(r'<div id="ahead" hidden>(.*?</template>)?</div>', "AHEAD", page, flags=re.DOTALL)
    page = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "TOKEN", page)
    page = re.sub(r'csrfmiddlewaretoken" value="\w+"|<time.*?</time>', "", page)
    return re.sub(r"(<li>\s*<span class=\"excerpt\".*?</li>\s*)+", "ROWS", page, flags=re.DOTALL)
