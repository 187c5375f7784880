"""A new reviewer practises by keyboard, hears after each case what is on record, and goes on with the work."""

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from adjudication.calibration import practice_progress
from adjudication.models import LabelDispute, Queue, QueuePurpose, Review, Settlement, SlotKind
from core.models import Author, Project, Role
from tests import factories
from tests.e2e.conftest import Open, barriers, overflow
from tests.e2e.test_reviewing import case, press

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"viewport": {"width": 360, "height": 740}}


@pytest.fixture
def project(live_server: LiveServer) -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


@pytest.fixture
def practice(project: Project) -> Queue:
    queue = factories.make_queue(project, 2)
    known = factories.make_known_set(
        project, QueuePurpose.PRACTICE, 2, name="first steps", rationale="The answer is complete."
    )
    factories.calibrate(queue, practice="first steps")
    return known


def test_two_case_practice_by_keyboard_comes_before_the_work(
    practice: Queue, project: Project, ann: Author, open_as: Open
) -> None:
    page = open_as(ann, "/p/p/review")
    heading = page.locator("#desk-heading")
    expect(heading).to_have_text("Practise on a case")
    expect(page.get_by_text("Practice, case 1 of 2")).to_be_visible()
    expect(page.get_by_text("The answer is complete.")).to_have_count(0)
    press(page, "1", "k", "Enter")
    expect(heading).to_have_text("Not as on record")
    expect(page.get_by_text("The answer is complete.")).to_be_visible()
    press(page, "1", "2", "u", "d")
    expect(page.get_by_role("dialog", name="Dispute the label on record")).to_be_visible()
    page.locator("#dispute-words").fill("It leaves out the half of it.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("You dispute this label")).to_be_visible()
    press(page, "Enter")
    expect(page.get_by_text("Practice, case 2 of 2")).to_be_visible()
    press(page, "2", "Enter")
    expect(heading).to_have_text("As on record")
    press(page, "Enter")
    case(page, 1)
    expect(heading).to_have_text("Review a case")
    press(page, "2", "Enter")
    case(page, 2)
    progress = practice_progress(practice, ann)
    assert (progress.done, progress.right, progress.left) == (2, 1, 0)
    assert (Settlement.objects.count(), Review.objects.filter(kind=SlotKind.REVIEW).count()) == (1, 1)
    assert LabelDispute.objects.get().words == "It leaves out the half of it."


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_practice_and_calibration_have_no_serious_barrier(
    practice: Queue, project: Project, ann: Author, open_as: Open, scheme: str
) -> None:
    lea = factories.make_person(project, "lea", Role.LEAD)
    page = open_as(ann, "/p/p/practice", color_scheme=scheme, **PHONE)
    for keys in ((), ("1", "Enter"), ("d",)):
        press(page, *keys)
        if keys:
            expect(page.get_by_role("button", name="Dispute the label")).to_have_count(1)
        assert (barriers(page), overflow(page)) == ([], 0), keys
    lead = open_as(lea, "/p/p/calibration", color_scheme=scheme, **PHONE)
    assert (barriers(lead), overflow(lead)) == ([], 0)
