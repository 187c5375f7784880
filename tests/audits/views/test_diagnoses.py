"""The page on which leads say why people and judge differ, and who mends it."""

import re

import pytest
from django.test import Client

from audits.models import Audit, Diagnosis
from tests.audits.views.conftest import Page, People, client_of

pytestmark = pytest.mark.django_db
PAGE = "audits/swap-1/diagnose"
URL = f"/p/alpha/{PAGE}"
SAID = {"revision": "0", "code": "judge error", "kind": "repair", "words": "the judge's prompt"}


def shown(page: str) -> list[int]:
    return [int(key) for key in re.findall(r'<li id="case-(\d+)">', page)]


def opened(page: str) -> list[int]:
    """The cases whose form stands open."""
    return [int(key) for key in re.findall(r'<details name="diagnosis" open>.*?name="case" value="(\d+)"', page, re.S)]


def test_page_counts_what_is_undiagnosed_and_shows_verdicts_label_and_outcome(watched: Audit, read: Page) -> None:
    page = read(PAGE)
    assert re.search(r"(\d+) cases ask for a diagnosis: \1 without one\.", page)
    assert re.search(r"<dt>Verdicts</dt><dd>pass → fail</dd> <dt>Label</dt><dd>pass, single: regression</dd>", page)
    assert "<dt>Diagnosis</dt><dd>none yet</dd>" in page
    first, further = shown(page), shown(read(f"{PAGE}?after={shown(page)[-1]}"))
    assert len(first) == 20
    assert [*first, *further] == sorted({*first, *further})


def test_diagnosis_is_written_down_and_leads_back_to_the_list(watched: Audit, lead: Client, read: Page) -> None:
    first, second = shown(read(PAGE))[:2]
    answer = lead.post(f"{URL}?code=undiagnosed", SAID | {"case": first})
    assert (answer.status_code, answer["Location"]) == (302, f"{URL}?code=undiagnosed#list")
    assert shown(read(f"{PAGE}?code=undiagnosed"))[0] == second
    page = read(f"{PAGE}?owner=evaluator+platform")
    assert shown(page) == [first]
    assert "<strong>judge error</strong>, evaluator platform. To repair: " in page
    assert "the judge&#x27;s prompt" in page
    assert "without one; by owner 1 evaluator platform." in page
    intended = SAID | {"case": first, "revision": 1, "kind": "intended", "code": "policy change", "words": "be strict"}
    lead.post(URL, intended)
    page = read(f"{PAGE}?code=policy+change")
    assert "<strong>policy change</strong>, policy. Intended, by this decision: " in page
    assert "2 diagnoses in all" in page


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"words": ""}, 422, "words: missing; allowed: the policy decision behind the transition, or the component"),
        ({"code": "disagreement"}, 422, "code: not a diagnosis (found"),
        ({"revision": "3"}, 409, "somebody else has diagnosed this case meanwhile"),
        ({"case": "x"}, 422, "not sent whole; allowed: a case with its diagnosis, as the form gives them"),
        ({"case": str(2**63 - 1)}, 404, ""),
    ],
)
def test_refused_diagnosis_says_why_and_writes_nothing(
    watched: Audit, lead: Client, read: Page, changes: dict[str, str], status: int, words: str
) -> None:
    answer = lead.post(URL, SAID | {"case": shown(read(PAGE))[0]} | changes)
    assert answer.status_code == status
    assert words in " ".join(answer.content.decode().split())
    assert not Diagnosis.objects.exists()


def test_what_was_typed_stands_in_the_form_after_a_refusal(watched: Audit, lead: Client, read: Page) -> None:
    case = shown(read(PAGE))[0]
    page = lead.post(URL, SAID | {"case": case, "revision": 3, "words": "the cache of 3 May"}).content.decode()
    assert page.count("the cache of 3 May") == 1


def test_one_form_stands_open_that_of_the_first_case_without_a_diagnosis_or_of_the_refused_one(
    watched: Audit, lead: Client, read: Page
) -> None:
    first, second, third = shown(page := read(PAGE))[:3]
    assert (opened(page), page.count('<details name="diagnosis"')) == ([first], 20)
    lead.post(URL, SAID | {"case": first})
    assert opened(read(PAGE)) == [second]
    assert opened(lead.post(URL, SAID | {"case": third, "words": ""}).content.decode()) == [third]
    assert opened(lead.post(URL, SAID | {"case": first}).content.decode()) == [first]


def test_draft_is_told_that_diagnoses_come_after_registration(draft: Audit, read: Page) -> None:
    assert "The plan is a draft: diagnoses are written down once it is registered." in read(PAGE)


def test_case_of_another_project_is_not_there(watched: Audit, people: People) -> None:
    assert client_of(people["outsider"]).get(URL).status_code == 404
