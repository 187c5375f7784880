"""Why a pair is what it is, side by side; and the few pairs that somebody looks for, found among all."""

from typing import Any

import numpy as np
import pytest

from core.identity import sequence_hash, text_hash
from core.models import Project
from judges.diagnosis import PairDiagnosis, diagnoses_of
from judges.models import Comparison, PairIndex
from judges.pair_index import MARKS, STATES, caches_of, cases_found, pair_index_of, those_after
from judges.services.comparisons import comparison_open
from tests import factories
from tests.factories import artifact_row, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

IDS = ["fresh", "hit", "broken", "unsigned", "silent", "prose"]
OUTPUT, EVIDENCE = text_hash("out"), sequence_hash([text_hash("ev")])
SEEN = {"seen_output_hash": OUTPUT, "seen_evidence_hash": EVIDENCE}
MADE = {"pipeline": "nightly-7", "created_at": "2026-01-02 03:04", "raw_reference": "s3://runs/7#12"}


@pytest.fixture
def comparison(db: None) -> Comparison:
    """An old side from a plain file; on the new one every kind of answer that a cache or a judge can give."""
    project: Project = factories.make_project()
    system = factories.load_artifacts(
        factories.load_cases(project, IDS), rows=[artifact_row(one, n, "out", ("ev",)) for n, one in enumerate(IDS)]
    )
    rows = [
        judgment_row("fresh", "Yes", 1, provenance=SEEN | MADE | {"cache": "fresh"}),
        judgment_row("hit", "No", 2, provenance=SEEN | {"cache": "cached"}),
        judgment_row(
            "broken", "No", 3, provenance=SEEN | {"cache": "cached", "seen_output_hash": text_hash("old out")}
        ),
        judgment_row("unsigned", "No", 4, provenance={"cache": "cached"}),
        judgment_row("prose", "", 6, raw="I cannot say."),
    ]
    reader = factories.make_reader(project)
    return comparison_open(
        project=project,
        name="caches",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, factories.judged(dict.fromkeys(IDS, "Yes"))), reader),
        new=(factories.load_run(system, rows, "new-judge"), reader),
        labels=["fail", "pass"],
        rules=factories.RULES,
        slices=[],
        blocking_slices=[],
    )


def diagnosed(comparison: Comparison) -> dict[str, PairDiagnosis]:
    cases = list(comparison.case_set.cases.values_list("pk", flat=True))
    return {pair.case_id: pair for pair in diagnoses_of(comparison, cases)}


def test_fresh_answer_has_the_whole_chain(comparison: Comparison) -> None:
    pair = diagnosed(comparison)["fresh"]
    new = pair.new
    assert (pair.state, new.execution, new.called, new.cache) == ("agree", "answered", "yes", "fresh")
    assert [(one.name, one.requested, one.stored) for one in new.identities] == [
        ("output", OUTPUT, OUTPUT),
        ("evidence", EVIDENCE, EVIDENCE),
    ]
    assert (new.provenance, new.contradictions) == ("verified", [])
    assert (new.pipeline, new.made_at, new.raw_reference) == ("nightly-7", "2026-01-02 03:04", "s3://runs/7#12")
    assert (new.raw_hash, new.raw_label, new.parser) == (text_hash("Yes"), "Yes", "exact-label@1")
    assert (new.parse_state, new.mapping, new.verdict) == ("valid", "yes-no@1", "pass")


def test_sound_hit_and_broken_one_are_told_apart_by_what_was_stored(comparison: Comparison) -> None:
    hit, broken = diagnosed(comparison)["hit"], diagnosed(comparison)["broken"]
    assert (hit.state, hit.new.called, hit.new.provenance) == ("disagree", "no: answered from a cache", "verified")
    assert (broken.state, broken.new.called) == ("artifact mismatch", "no: answered from a cache")
    assert (broken.new.provenance, broken.new.parse_state, broken.new.verdict) == ("contradicted", "stale", None)
    assert broken.new.contradictions == ["output"]
    assert (broken.new.identities[0].requested, broken.new.identities[0].stored) == (OUTPUT, text_hash("old out"))


@pytest.mark.parametrize(
    ("case", "state", "found"),
    [
        ("unsigned", "new invalid", ("answered", "no: answered from a cache", "unverified", "valid", "pass-or-fail")),
        ("prose", "new invalid", ("answered", "not recorded", "legacy", "unparsed", None)),
        ("silent", "missing", ("no answer stored", "not recorded", "", "", None)),
    ],
)
def test_other_answers_and_none(comparison: Comparison, case: str, state: str, found: tuple[Any, ...]) -> None:
    pair = diagnosed(comparison)[case]
    new = pair.new
    verdict = "fail" if found[-1] else None
    assert (pair.state, new.execution, new.called, new.provenance, new.parse_state, new.verdict) == (
        state,
        *found[:-1],
        verdict,
    )


def test_missing_answer_still_says_what_was_asked(comparison: Comparison) -> None:
    assert [(one.requested, one.stored) for one in diagnosed(comparison)["silent"].new.identities] == [
        (OUTPUT, ""),
        (EVIDENCE, ""),
    ]


def test_page_of_diagnoses_costs_the_same_for_one_pair_and_for_six(
    comparison: Comparison, django_assert_num_queries: Any
) -> None:
    cases = list(comparison.case_set.cases.values_list("pk", flat=True))
    diagnosed(comparison)  # both sides' records are known from here on, as in a view
    for some in (cases[:1], cases):
        with django_assert_num_queries(7):
            assert len(diagnoses_of(comparison, some)) == len(some)


def test_every_case_is_found_under_its_own_state_and_no_other(comparison: Comparison) -> None:
    index = PairIndex.objects.get(comparison=comparison)
    names = dict(comparison.case_set.cases.values_list("pk", "case_id"))
    found = {state: [names[pk] for pk in cases_found(index, [state])] for state in STATES}
    assert {state: cases for state, cases in found.items() if cases} == {
        "agree": ["fresh"],
        "disagree": ["hit"],
        "new invalid": ["unsigned", "prose"],
        "missing": ["silent"],
        "artifact mismatch": ["broken"],
    }
    assert [names[pk] for pk in cases_found(index, MARKS)] == ["broken", "unsigned"]
    assert [names[pk] for pk in cases_found(index, ["new contradicted"])] == ["broken"]


def test_caches_of_both_sides_add_up_to_the_judgments(comparison: Comparison) -> None:
    assert caches_of(pair_index_of(comparison)) == {
        "old": [{"cache": "unrecorded", "provenance": "legacy", "judgments": 6}],
        "new": [
            {"cache": "cached", "provenance": "contradicted", "judgments": 1},
            {"cache": "cached", "provenance": "unverified", "judgments": 1},
            {"cache": "cached", "provenance": "verified", "judgments": 1},
            {"cache": "fresh", "provenance": "verified", "judgments": 1},
            {"cache": "unrecorded", "provenance": "legacy", "judgments": 1},
        ],
    }


def test_comparison_from_before_indexes_is_found_all_the_same(comparison: Comparison) -> None:
    stored = pair_index_of(comparison)
    without = Comparison.objects.get()
    without.pk, without.name, without._state.adding = None, "older", True
    without.save()
    assert caches_of(pair_index_of(without)) == caches_of(stored)
    assert list(cases_found(pair_index_of(without), STATES)) == list(cases_found(stored, STATES))


def test_next_page_begins_after_a_case_and_not_at_a_number() -> None:
    cases = np.array([3, 5, 8, 13])
    assert (those_after(cases, 0, 2), those_after(cases, 5, 9), those_after(cases, 6, 1)) == ([3, 5], [8, 13], [8])
