"""What a comparison's pairs add up to is counted once, when it is opened."""

from typing import Any

import pytest
from django.db import connection

from core.models import Project
from core.records import install_triggers, remove_triggers
from judges.integrity import integrity_of
from judges.models import ComparisonSummary
from judges.summaries import summary_of
from judges.transitions import transitions_of
from tests import factories

pytestmark = [pytest.mark.database, pytest.mark.django_db]

VERDICTS = {"a": ("Yes", "No"), "b": ("No", "No"), "c": ("Yes", None), "d": ("Maybe", "No")}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def test_stored_reports_are_those_of_the_pairs_in_their_order(project: Project) -> None:
    comparison = factories.make_swap(project, VERDICTS)
    stored = ComparisonSummary.objects.get()
    from_pairs = {name: value for name, value in stored.integrity.items() if name != "recorded"}
    for found, made in (
        (from_pairs, integrity_of(comparison).as_dict()),
        (stored.transitions, transitions_of(comparison).as_dict()),
    ):
        assert found == made
        assert list(found) == list(made)
    assert list(stored.integrity["pairs"]) == list(integrity_of(comparison).as_dict()["pairs"])


def test_reading_a_summary_counts_no_pairs(project: Project, django_assert_num_queries: Any) -> None:
    comparison = factories.make_swap(project, VERDICTS)
    with django_assert_num_queries(1):
        assert summary_of(comparison).integrity["cases"] == 4


def test_comparison_opened_again_keeps_its_summary(project: Project) -> None:
    first = factories.make_swap(project, VERDICTS)
    again = factories.make_swap(project, VERDICTS)
    assert (again, ComparisonSummary.objects.count()) == (first, 1)


def test_summary_from_before_there_were_further_runs_is_counted_anew(project: Project) -> None:
    comparison = factories.make_swap(project, VERDICTS)
    stored = ComparisonSummary.objects.get()
    whole = stored.stability_text
    with connection.cursor() as cursor:
        remove_triggers(connection)
        cursor.execute("UPDATE judges_comparisonsummary SET stability_text = ''")
        install_triggers(connection)
    assert summary_of(comparison).stability_text == whole
