"""What the rows of a load refer to is there, however it is checked."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from core.records import install_triggers, missing_triggers, unguarded_tables
from core.references import checked_models, reference_triggers, references_of
from judges.models import Artifact, Case, CaseSet, Judgment, Reading
from judges.models.cases import Blob
from judges.services.loads import load_begin
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's own foreign keys check there")


def made(case_set: CaseSet) -> Case:
    return Case.objects.create(case_set=case_set, case_id="a", input_hash="0" * 64, partition="smoke")


@pytest.fixture
def case_set() -> CaseSet:
    return load_begin(CaseSet, now=NOW, project=factories.make_project(), name="cases", version="1")


def test_models_whose_references_are_checked_by_statement_are_these() -> None:
    assert set(checked_models()) == {Blob, Case, Artifact, Judgment, Reading}


@on_postgresql
def test_triggers_stand_in_the_place_of_every_foreign_key_of_these_tables() -> None:
    with connection.cursor() as cursor:
        for model in checked_models():
            constraints = connection.introspection.get_constraints(cursor, model._meta.db_table).values()
            assert not any(constraint["foreign_key"] for constraint in constraints)
            assert len(reference_triggers("postgresql", model)) == 2 + 2 * len(references_of(model))
    assert missing_triggers(connection) == []


@on_postgresql
def test_table_whose_references_are_not_checked_is_unguarded() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER kept_for_judges_reading_judgment_id ON judges_judgment")
    assert unguarded_tables(connection) == ["judges_reading"]
    install_triggers(connection)
    assert unguarded_tables(connection) == []


def refers_to_nothing(case: Case) -> None:
    Case.objects.create(case_set_id=10**6, case_id="b", input_hash="0" * 64, partition="smoke")


def comes_to_refer_to_nothing(case: Case) -> None:
    Case.objects.filter(pk=case.pk).update(case_set_id=10**6)


def removes_what_is_referred_to(case: Case) -> None:
    case_sets = CaseSet.objects.filter(pk=case.case_set_id)
    case_sets._raw_delete(using=case_sets.db)


def moves_what_is_referred_to(case: Case) -> None:
    CaseSet.objects.filter(pk=case.case_set_id).update(id=10**6)


@pytest.mark.parametrize(
    "attempt",
    [refers_to_nothing, comes_to_refer_to_nothing, removes_what_is_referred_to, moves_what_is_referred_to],
)
def test_reference_never_comes_to_point_to_nothing(case_set: CaseSet, attempt: Callable[[Case], None]) -> None:
    case = made(case_set)
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt(case)
    assert list(Case.objects.values_list("case_set__name", flat=True)) == ["cases"]


def test_one_row_that_refers_to_nothing_is_refused_among_many_that_share_what_they_refer_to(case_set: CaseSet) -> None:
    sets = [case_set.pk, case_set.pk, 10**6, case_set.pk]
    rows = [
        Case(case_set_id=pk, case_id=str(number), input_hash="0" * 64, partition="smoke")
        for number, pk in enumerate(sets)
    ]
    with pytest.raises(IntegrityError), transaction.atomic():
        Case.objects.bulk_create(rows)
    assert Case.objects.count() == 0
    Case.objects.bulk_create([row for row in rows if row.case_set_id == case_set.pk])
    assert Case.objects.count() == 3


def test_what_nothing_refers_to_any_more_can_be_removed(case_set: CaseSet) -> None:
    made(case_set).delete()
    case_sets = CaseSet.objects.filter(pk=case_set.pk)
    assert case_sets._raw_delete(using=case_sets.db) == 1


@on_postgresql
def test_what_a_row_not_yet_committed_refers_to_cannot_be_removed_meanwhile(case_set: CaseSet) -> None:
    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            made(case_set)
            removal = elsewhere.submit(_removed, case_set)
            _until_somebody_waits()
        with pytest.raises(IntegrityError, match="judges_case still refers to a row of judges_caseset"):
            removal.result()
    assert Case.objects.count() == CaseSet.objects.count() == 1


@on_postgresql
def test_row_that_refers_to_what_is_being_removed_waits_and_is_refused(case_set: CaseSet) -> None:
    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            CaseSet.objects.filter(pk=case_set.pk)._raw_delete(using="default")
            row = elsewhere.submit(_in_its_own_connection, lambda: made(case_set))
            _until_somebody_waits()
        with pytest.raises(IntegrityError, match="case_set_id refers to a row of judges_caseset that is not there"):
            row.result()
    assert Case.objects.count() == CaseSet.objects.count() == 0


def _removed(case_set: CaseSet) -> Any:
    return _in_its_own_connection(lambda: removes_what_is_referred_to(Case(case_set=case_set)))


def _in_its_own_connection(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


def _until_somebody_waits() -> None:
    """Until another transaction is seen to wait for this one; forever fails by the test's own limit."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with connection.cursor() as cursor:
        for _ in range(2000):
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.005)")
    pytest.fail("nobody waited")
