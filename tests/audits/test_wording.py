"""Sentences about a look, a plan and the desk, from the numbers themselves."""

import pytest

from audits.exports.wording import agreement_words, budget_words, finish_words, gain_words, pace_words, reuse_words
from audits.stats.estimate import estimate
from audits.stats.pace import pace
from tests.stats.examples import noise


@pytest.mark.parametrize("labels", [200, 400])
def test_judge_that_is_noise_is_said_to_add_little(labels: int) -> None:
    """BEHAVIOUR 35."""
    found = estimate(noise(labels), estimand="success_difference")
    assert found.human_only is not None
    assert found.interval is not None
    assert found.interval.half_width <= found.human_only.interval.half_width * {200: 1.06, 400: 1.02}[labels]
    words = "The judge adds little: the interval is 0 % narrower than from labels alone."
    assert gain_words(found.as_dict()) == words


def test_agreement_is_said_with_its_n_or_with_why_there_is_none() -> None:
    """BEHAVIOUR 32."""
    none = {"raw": None, "alpha": None, "cases": 0, "reviews": 0, "reason": "no case has two labels"}
    assert agreement_words(none) == "No agreement of reviewers is known: no case has two labels."
    some = {"raw": 0.75, "alpha": 8 / 15, "cases": 4, "reviews": 8, "reason": ""}
    said = "Reviewers who labelled the same artifact: raw agreement 75 %, Krippendorff's alpha 0.533, on 4 artifacts"
    assert agreement_words(some) == f"{said} with 8 labels."


def test_pace_and_the_time_to_finish_are_ranges_or_nothing() -> None:
    worked = pace([60.0 * place for place in range(101)])
    said = "Pace: 60 labels an hour of work (53 to 68), from the last 100 over 1.7 hours"
    assert pace_words(worked) == f"{said}, breaks above 30 minutes left out."
    ok = {"state": "ok", "least": 95, "most": 210}
    needed = "The labels that the target still needs take about 1.4 to 4.0 hours of work at this pace."
    assert finish_words(worked, ok, open_cases=5) == needed
    drawn = "The drawn cases that are open take about 0.1 to 0.1 hours of work at this pace."
    assert finish_words(worked, None, open_cases=6) == drawn
    assert finish_words(worked, {"state": "reached"}, open_cases=6) == ""
    assert finish_words(worked, None, open_cases=0) == ""
    few = pace([0.0, 60.0])
    assert pace_words(few) == "Pace: too few labels from the desk to tell (1 of 20 intervals between labels are known)."
    assert finish_words(few, ok, open_cases=5) == ""


def test_budget_is_held_to_its_point_of_the_curve() -> None:
    outlook = {"fewest": 50, "curve": [{"labels": 80, "chance": 0.315}]}
    words = [budget_words(budget, outlook, half_width=0.02) for budget in (49, 80, 900)]
    assert words == [
        "The budget of 49 labels is below the 50 that this plan draws at least.",
        "The chance that the budget of 80 labels reaches ±2.0 points is 31.5 %.",
        "The chance that the budget of 900 labels reaches ±2.0 points is 100 %.",
    ]


def test_references_that_are_there_save_labels_where_the_plan_takes_them() -> None:
    assert reuse_words(0, 118, wanted=True) == ""
    there = "Earlier audits under this rubric have settled 12 of the 118 cases"
    words = "Labels that are there already settle 12 of the 118 cases: 106 labels are left to give."
    assert reuse_words(12, 118, wanted=True) == words
    unused = f"{there}. With review.reuse_references in the manifest, 106 labels would be left to give."
    assert reuse_words(12, 118, wanted=False) == unused
