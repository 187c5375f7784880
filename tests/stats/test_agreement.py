import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.agreement import agreement
from core.errors import InputError

# The worked example with missing answers of Krippendorff's "Computing Krippendorff's alpha-reliability" (2011),
# section C: four observers, twelve units, 1 to 5. Published: nominal 0.743, ordinal 0.815, interval 0.849.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
SCALE = {str(number): float(number) for number in range(1, 6)}
UNITS = [
    [None if label == "." else label for label in unit]
    for unit in zip(*(row.split() for row in OBSERVERS), strict=True)
]


@pytest.mark.parametrize(("metric", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_equals_the_published_example(metric, published):
    found = agreement(UNITS, metric=metric, scale=SCALE)
    assert found.alpha == pytest.approx(published, abs=5e-4)
    assert (found.cases, found.reviews) == (11, 40)


ratings = st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), min_size=4, max_size=40)


@given(ratings)
def test_alpha_of_two_reviewers_is_scotts_pi_in_a_finite_sample(units):
    # Known relation for complete data: alpha = 1 - (1 - pi) (n - 1) / n with n labels in all.
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    if len({label for unit in units for label in unit}) < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, _ = aggregate_raters(np.array(units))
        pi = fleiss_kappa(table, method="fleiss")
    n = 2 * len(units)
    assert agreement(units).alpha == pytest.approx(1 - (1 - pi) * (n - 1) / n, abs=1e-9)


@given(ratings)
def test_raw_agreement_of_pairs_is_the_trace_that_cohens_kappa_starts_from(units):
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.zeros((3, 3))
    for one, other in units:
        table["abc".index(one), "abc".index(other)] += 1
    raw = agreement(units).raw
    assert raw == pytest.approx(np.trace(table) / len(units), abs=1e-12)
    margins = table.sum(0) @ table.sum(1) / len(units) ** 2
    if margins < 1:
        kappa = cohens_kappa(table, return_results=False)
        assert (raw - margins) / (1 - margins) == pytest.approx(kappa, abs=1e-9)


@given(ratings)
def test_order_of_reviewers_and_cases_changes_nothing(units):
    turned = [unit[::-1] for unit in reversed(units)]
    one, other = agreement(units), agreement(turned)
    assert one.raw == pytest.approx(other.raw, abs=1e-12)
    assert (one.alpha is None) is (other.alpha is None)
    if one.alpha is not None:
        assert one.alpha == pytest.approx(other.alpha, abs=1e-9)


@pytest.mark.parametrize(
    ("reviews", "raw", "n", "reason"),
    [
        ([["a"], ["b"]], None, (0, 0), "no case has two labels"),
        ([["a", "b"], ["b"]], 0.0, (1, 2), "one case alone does not tell agreement from chance"),
        ([["a", "a"], ["b"]], 1.0, (1, 2), "one case alone does not tell agreement from chance"),
        ([["a", "a"], ["a", "a"]], 1.0, (2, 4), "only one label was used: no disagreement was possible"),
        ([["a", None], ["b", None]], None, (0, 0), "no case has two labels"),
        ([["a", "b", None], ["b", None, None]], 0.0, (1, 2), "one case alone does not tell agreement from chance"),
        ([], None, (0, 0), "no case has two labels"),
    ],
    ids=["no overlap", "one common item", "one that agrees", "one grade", "absent rater", "one of three", "nothing"],
)
def test_agreement_that_is_undefined_says_why_and_on_how_many(reviews, raw, n, reason):
    """BEHAVIOUR 32."""
    found = agreement(reviews)
    assert (found.raw, found.alpha, (found.cases, found.reviews), found.reason) == (raw, None, n, reason)


def test_no_overlap_is_undefined_and_not_perfect():
    found = agreement([["a"], ["b", None], []])
    assert (found.raw, found.alpha, found.cases, found.reason) == (None, None, 0, "no case has two labels")


def test_one_label_everywhere_is_agreement_that_was_never_tested():
    found = agreement([["a", "a"], ["a", "a"]])
    assert (found.raw, found.alpha) == (1.0, None)
    assert found.reason == "only one label was used: no disagreement was possible"


def test_perfect_agreement_on_two_labels_is_one_and_systematic_disagreement_is_below_zero():
    assert agreement([["a", "a"], ["b", "b"]]).alpha == 1.0
    assert agreement([["a", "b"], ["b", "a"]]).alpha == pytest.approx(-0.5, abs=1e-12)


def test_three_reviews_of_a_case_weigh_as_three():
    # a a b: one pair of three agrees, and the case counts three of the five labels.
    assert agreement([["a", "a", "b"], ["b", "b"]]).raw == pytest.approx((3 * 1 / 3 + 2) / 5, abs=1e-12)


def test_ordinal_alpha_punishes_far_labels_more_than_near_ones():
    near = list(itertools.chain([["1", "2"]] * 3, [["1", "1"], ["2", "2"], ["3", "3"]] * 4))
    far = list(itertools.chain([["1", "3"]] * 3, [["1", "1"], ["2", "2"], ["3", "3"]] * 4))
    scale = {"1": 1.0, "2": 2.0, "3": 3.0}
    for metric in ("ordinal", "interval"):
        assert agreement(near, metric=metric, scale=scale).alpha > agreement(far, metric=metric, scale=scale).alpha


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "cosine"}, "'cosine'"),
        ({"metric": "interval"}, "needs the scale"),
        ({"metric": "interval", "scale": {"a": None, "b": 1.0}}, "found 'a'"),
        ({"scale": {"a": 1.0}}, "found 'b'"),
    ],
)
def test_bad_metric_or_label_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        agreement([["a", "b"], ["b", "b"]], **options)
