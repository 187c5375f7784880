"""Records read by SQL are those that query sets read, on either database."""

from typing import Any

import pytest
from django.db import models

from adjudication.in_hand import lease_in_hand, lease_locked, leases_held
from adjudication.models import Lease, Presentation, Skip
from adjudication.services.presentations import presentation_ensure
from adjudication.serving import queues_waiting
from core.models import Author, Project
from core.rows import Joined, one_value, stored
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def lease(db: None) -> Lease:
    project = factories.make_project()
    return factories.claim(factories.make_queue(project, 2, upgrade=True), factories.make_person(project, "ann"))


def fields_of(record: models.Model) -> dict[str, Any]:
    return {field.attname: getattr(record, field.attname) for field in record._meta.concrete_fields}


def as_stored(record: models.Model) -> dict[str, Any]:
    return fields_of(type(record)._base_manager.get(pk=record.pk))


def test_every_field_has_the_value_that_a_query_set_reads(lease: Lease, django_assert_num_queries: Any) -> None:
    shown = presentation_ensure(item=lease.item, author=lease.author, now=NOW)
    (found,) = leases_held(lease.author)
    with django_assert_num_queries(0):
        records = [found, found.slot, found.item, found.item.case, found.item.queue, found.item.queue.rubric]
        records += [found.item.queue.project, found.item.presentation]
        assert presentation_ensure(item=found.item, author=lease.author, now=NOW) == shown
    assert [fields_of(record) for record in records] == [as_stored(record) for record in records]
    assert {type(value) for record in records for value in fields_of(record).values()} >= {bool, list, dict, type(NOW)}


def test_lease_is_found_by_its_token_and_by_nobody_else(lease: Lease) -> None:
    ben = factories.make_person(lease.item.queue.project, "ben")
    assert lease_in_hand(lease.author, lease.token) == lease_locked(lease) == lease
    assert lease_in_hand(ben, lease.token) is None


def test_queue_without_calibration_has_none_and_asks_for_none(lease: Lease, django_assert_num_queries: Any) -> None:
    (queue,) = queues_waiting(lease.item.queue.project, lease.author)
    with django_assert_num_queries(0):
        assert not hasattr(queue, "calibration")
        assert (queue.bookmark, queue.rubric.labels) == (0, ["fail", "pass"])


def test_record_that_an_outer_join_did_not_find_is_none_and_what_follows_comes_as_it_is(lease: Lease) -> None:
    people = Joined(a=Author, p=Project, s=Skip)
    statement = f"""
        SELECT {people.columns}, a.pseudonym FROM core_author a JOIN core_project p ON p.id = a.project_id
        LEFT JOIN adjudication_skip s ON s.author_id = a.id WHERE a.id = %(author)s"""
    author, project, skip, name = next(people.ask(statement, {"author": lease.author_id}))
    assert (author, project, skip, name) == (lease.author, lease.item.queue.project, None, lease.author.pseudonym)


def test_value_is_asked_for_as_the_database_keeps_it(lease: Lease) -> None:
    statement = "SELECT id FROM adjudication_lease WHERE token = %(token)s AND taken_at <= %(taken_at)s"
    values = stored(Lease, token=lease.token, taken_at=lease.taken_at)
    assert one_value(statement, values) == lease.pk
    assert one_value("SELECT id FROM adjudication_presentation WHERE id = %(id)s", stored(Presentation, id=0)) is None
