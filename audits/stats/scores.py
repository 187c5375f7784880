"""A finer judge score as a predictor: the slope lambda of stratified PPI++ in each stratum, with its guards."""

from collections.abc import Sequence
from dataclasses import dataclass

from audits.stats.estimands import Estimand, Scale, Side
from audits.stats.groups import Group

LABELS_NEEDED = 30
OFF_MODE_NEEDED = 10


@dataclass(frozen=True)
class Slope:
    """lambda of one stratum.

    `shift` is lambda (Xbar - xbar), what it adds to the labelled mean; `residual_variance` that of y - lambda x with
    denominator n - 2; `reason` says why lambda is 0 where it is.
    """

    lam: float
    shift: float
    residual_variance: float
    reason: str = ""


def _no_slope(group: Group, reason: str) -> Slope:
    return Slope(0.0, 0.0, group.variance, reason)


def slope(group: Group, estimand: Estimand, scale: Scale, side: Side | None) -> Slope:
    """lambda_h = s_yx / S_x^2, S_x^2 over all N_h, clipped to [0, 1]; 0 where it would do harm.

    Notes
    -----
    0 where x is constant, with fewer than 30 labels, with fewer than 10 labels off the commonest value of y (the
    residuals of a rare event: measured coverage down to 0.49), or where cases were settled without a label (their score
    is in the mean of all cases and in no labelled one).

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++, arXiv:2311.01453; A. Fisch et al., Stratified prediction-powered
    inference, arXiv:2406.04291.
    """
    moments = [cell.scores for cell in group.cells if cell.scores is not None]
    if len(moments) < len(group.cells):
        return _no_slope(group, "no score")
    if group.undecided:
        return _no_slope(group, "undecided cases")
    if group.labels < LABELS_NEEDED:
        return _no_slope(group, f"fewer than {LABELS_NEEDED} labels")
    if group.off_mode < OFF_MODE_NEEDED:
        return _no_slope(group, f"fewer than {OFF_MODE_NEEDED} labels off the commonest value")
    whole_mean = sum(score.total for score in moments) / group.size
    whole_variance = sum(score.squares for score in moments) / group.size - whole_mean**2
    # Rounding leaves a constant score with a variance of about eps times its square.
    if group.size < 2 or whole_variance <= 1e-12 * max(1.0, whole_mean**2):
        return _no_slope(group, "constant score")
    whole_variance *= group.size / (group.size - 1)
    return _fitted(group, _labelled_sums(group, estimand, scale, side), whole_mean, whole_variance)


def _labelled_sums(group: Group, estimand: Estimand, scale: Scale, side: Side | None) -> Sequence[float]:
    """Sums of x, x^2 and x y over the labelled cases."""
    x = xx = xy = 0.0
    for cell in group.cells:
        for key in cell.labels:
            first, second = cell.scores.labels.get(key, (0.0, 0.0)) if cell.scores else (0.0, 0.0)
            x, xx = x + first, xx + second
            xy += first * estimand.value(cell, key, scale, side)
    return x, xx, xy


def _fitted(group: Group, sums: Sequence[float], whole_mean: float, whole_variance: float) -> Slope:
    x, xx, xy = sums
    n = group.labels
    covariance = (xy - x * group.mean) / (n - 1)
    lam = min(max(covariance / whole_variance, 0.0), 1.0)
    if lam == 0:
        return _no_slope(group, "the score points the wrong way")
    labelled_variance = (xx - x * x / n) / (n - 1)
    squares = (n - 1) * (group.variance - 2 * lam * covariance + lam**2 * labelled_variance)
    return Slope(lam, lam * (whole_mean - x / n), max(0.0, squares) / (n - 2))
