"""How far an audit has come: the settled prefix, what waits behind its gaps, and what those gaps wait for."""

from datetime import timedelta

import pytest

from adjudication.models import ItemState, Skip
from audits.models import Audit
from audits.progress import progress_of
from audits.services.registering import audit_register
from core.models import Author
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def audit(db: None) -> Audit:
    """Ten cases on which the judges agree, all drawn."""
    project = factories.make_project()
    comparison = factories.make_swap(project, {f"q{n}": ("Yes", "Yes") for n in range(10)} | {"d": ("Yes", "No")})
    audit = factories.make_audit(comparison, plan={"allocation": {"agree": "all", "disagree": "all"}})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


@pytest.fixture
def ann(audit: Audit) -> Author:
    return factories.make_person(audit.project, "ann")


def set_states(audit: Audit, states: str) -> None:
    """By position in the agreeing stratum: `s` settled, `c` conflict, anything else open."""
    names = {"s": ItemState.SETTLED, "c": ItemState.CONFLICT}
    draws = audit.draws.filter(stratum__name="agree").order_by("position")
    for draw, letter in zip(draws, states, strict=True):
        audit.queue.items.filter(pk=draw.item_id).update(state=names.get(letter, ItemState.OPEN))


@pytest.mark.parametrize(
    ("states", "counting", "waiting", "gaps"),
    [
        ("oooooooooo", 0, 0, 0),
        ("ssssssssss", 10, 0, 0),
        ("sssooooooo", 3, 0, 0),
        ("ossssooooo", 0, 4, 1),
        ("ssosocsooo", 2, 2, 3),
        ("osssssssss", 0, 9, 1),
        ("ccccccccco", 0, 0, 0),
    ],
)
def test_prefix_and_what_waits_behind_it(audit: Audit, states: str, counting: int, waiting: int, gaps: int) -> None:
    set_states(audit, states)
    stratum = progress_of(audit, NOW).strata[0]
    assert (stratum.name, stratum.size, stratum.drawn) == ("agree", 10, 10)
    assert (stratum.counting, stratum.waiting, stratum.gaps) == (counting, waiting, gaps)
    assert stratum.open == states.count("o") + states.count("c")
    assert sum(stratum.blocking.values()) == gaps


def test_each_gap_is_counted_under_the_one_reason_that_holds_it_up(audit: Audit, ann: Author) -> None:
    set_states(audit, "coooosoooo")
    items = [draw.item for draw in audit.draws.filter(stratum__name="agree").order_by("position")]
    for item in items[1:3]:
        Skip.objects.create(item=item, author=ann, at=NOW)
    slots = [items[place].slots.get() for place in (2, 3, 7)]
    for place, slot in enumerate(slots):
        person = factories.make_person(audit.project, f"r{place}")
        slot.leases.create(item=slot.item, author=person, taken_at=NOW, expires_at=NOW + timedelta(minutes=30))
    stratum = progress_of(audit, NOW).strata[0]
    assert stratum.blocking == {"adjudicator": 1, "review": 2, "skipped": 1, "open": 1}
    assert stratum.open_reasons == {"adjudicator": 1, "review": 3, "skipped": 1, "open": 4}
    later = progress_of(audit, NOW + timedelta(minutes=30)).strata[0]
    assert later.blocking == {"adjudicator": 1, "skipped": 2, "open": 2}


def test_totals_are_those_of_the_strata(audit: Audit) -> None:
    set_states(audit, "ssosoooooo")
    progress = progress_of(audit, NOW)
    assert (progress.drawn, progress.settled, progress.outside_sample) == (11, 3, 0)
    assert progress.items == {"open": 8, "conflict": 0, "settled": 3}
    assert progress.open_reasons == {"adjudicator": 0, "review": 0, "skipped": 0, "open": 8}
