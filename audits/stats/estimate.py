"""The estimate of a mean over the pool, with its interval under the plan's policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from audits.stats.checks import checked_choice, checked_count, checked_level
from audits.stats.combine import Combined, combine, no_wider
from audits.stats.estimands import Estimand, Side, estimand_for
from audits.stats.groups import Group, Merge, estimate_groups, strata_groups
from audits.stats.intervals import Interval, z_value
from audits.stats.policies import POLICIES, Look, Policy, look
from audits.stats.pool import Pool
from audits.stats.result import Estimate, HumanOnly, JudgeOnly, State, Stratum
from audits.stats.scores import Slope, slope

Target = Literal["pool", "traffic"]
TARGETS = ("pool", "traffic")
Predictor = Literal["cells", "score"]
PREDICTORS = ("cells", "score")
BASES = {"cells": "cells", "agreement": "strata, agreements apart", "strata": "strata"}
MIN_LABELS = 20
MERGE_BELOW = 10


def estimate(
    pool: Pool,
    *,
    estimand: str,
    side: Side | None = None,
    level: float = 0.95,
    target: Target = "pool",
    policy: Policy = "planned",
    half_width: float | None = None,
    predictor: Predictor = "cells",
    min_labels: int = MIN_LABELS,
    merge_below: int = MERGE_BELOW,
    exact: bool = True,
) -> Estimate:
    """Estimate a mean over the pool from its settled labels.

    Parameters
    ----------
    pool : Pool
        Cells with their labels; N cases fixed before labelling.
    estimand : str
        A key of `audits.stats.estimands.ESTIMANDS`.
    side : {'old', 'new'}, optional
        For `success_rate` and `accuracy` only.
    level : float in (0, 1)
        Confidence level, 0.95 unless the plan says otherwise.
    target : {'pool', 'traffic'}
        These N cases, or the process they came from (adds S_y^2 / N).
    policy : {'planned', 'monitored', 'anytime'}
        Fixed in the plan before labelling; see `audits.stats.policies.look`.
    half_width : float
        Target half-width of the plan, in units of y. Required unless `policy` is 'planned'.
    predictor : {'cells', 'score'}
        Post-stratify on the verdict cells, or use the finer score with a slope in each stratum.
    min_labels : int
        No interval before so many labels in each sampled stratum that the estimand uses, or its census.
    merge_below : int
        Cells with fewer labels are merged with their nearest sibling (see `estimate_groups`), and an interval from
        cells is never wider than that of the strata alone (see `no_wider`). 0 takes cells as they are, without both.
    exact : bool
        Use the hypergeometric interval where it applies (accuracy difference, binary verdicts, one open stratum).

    Returns
    -------
    Estimate
        `state` is "ok" with an `interval`, or says in `reason` which strata wait; then `interval` is None.
        `point` is among decidable cases; None while a used stratum has no label.
        `interval` is the one in force under the policy, `fixed` the fixed-n one, valid only at the planned stop.
        `multiplier`, `fraction`, `final` are those of the `Look`.
        `worst_case` holds every undecided case at each extreme of y, with the interval in force.

    Raises
    ------
    InputError
        Unknown estimand, side, policy or target; an estimand that needs values the scale does not have; a level
        outside (0, 1); a missing target width.

    Notes
    -----
    Assumes that the labels of a stratum are those of a simple random sample without replacement (the settled
    prefix of its permanent order), strata fixed before labelling. Reference labels are taken as given: the
    interval does not cover reviewer error.

    Interval methods: score limits in each cell combined by MOVER; the exact hypergeometric interval; Student
    with Satterthwaite's degrees of freedom for numeric y, only with 10 or more labels off the mode in each stratum.
    """
    spec = estimand_for(pool, estimand, side)
    _check_options(level, target, policy, predictor, min_labels, merge_below)
    strata = strata_groups(pool, spec, side)
    slopes = _slopes(strata, spec, pool, side) if predictor == "score" else {}
    groups, merges = _groups(pool, spec, side, strata, predictor, merge_below)
    state, reason = _readiness(strata, min_labels)
    ready = state != "no labels yet" and not _unlabelled(groups)
    options = _Options(target == "traffic", exact and spec.exact, slopes, bounded=merge_below > 0)
    alone = options.alone(strata)
    whole = options.combined(groups, alone) if ready else None
    if whole and whole.too_few and state == "ok":
        state, reason = "too early", _too_few(whole.too_few)
    shown = whole if state == "ok" else None
    at = look(policy, whole.variance(level, policy), level=level, half_width=half_width) if shown and whole else None
    if policy != "planned" and at is None:
        look(policy, 1.0, level=level, half_width=half_width)  # a missing width is refused before the first label too
    human = _human_only(alone, strata, shown, level) if shown else None
    possible, labels = _range(groups), sum([cell.labelled for cell in pool.cells])
    undecided = sum([cell.undecided for cell in pool.cells])
    return Estimate(
        estimand=estimand,
        side=side,
        target=target,
        level=level,
        policy=policy,
        method=_method(whole, predictor, spec),
        state=state,
        reason=reason,
        point=whole.point if whole else None,
        interval=shown.watched(at.multiplier, level).clipped(*possible) if shown and at else None,
        fixed=shown.limits(z_value(level)).clipped(*possible) if shown else None,
        multiplier=at.multiplier if at else None,
        fraction=at.fraction if at else None,
        final=bool(at and at.final),
        size=pool.size,
        n=labels + undecided,
        labels=labels,
        undecided=undecided,
        worst_case=_worst_case(groups, strata, shown, at, options, level) if at and shown else None,
        human_only=human,
        judge_only=_judge_only(pool, spec, side, level),
        strata=tuple(_rows(strata, slopes, at.multiplier if at else z_value(level))),
        merges=tuple(merges),
    )


def _check_options(level: float, target: str, policy: str, predictor: str, min_labels: int, merge_below: int) -> None:
    checked_level(level)
    checked_choice(target, "target", TARGETS)
    checked_choice(policy, "policy", POLICIES)
    checked_choice(predictor, "predictor", PREDICTORS)
    checked_count(min_labels, "min_labels")
    checked_count(merge_below, "merge_below")


def _groups(
    pool: Pool, spec: Estimand, side: Side | None, strata: list[Group], predictor: str, merge_below: int
) -> tuple[list[Group], list[Merge]]:
    return (strata, []) if predictor == "score" else estimate_groups(strata, pool, spec, side, merge_below)


def _slopes(strata: Sequence[Group], spec: Estimand, pool: Pool, side: Side | None) -> dict[str, Slope]:
    return {group.name: slope(group, spec, pool.scale, side) for group in strata if not group.known}


def _unlabelled(groups: Sequence[Group]) -> bool:
    """A used group without a label that is not settled wholly; or nothing decidable at all."""
    bare = [group for group in groups if not group.labels and not group.known]
    return len(bare) == len(groups) or any(not group.census for group in bare)


def _readiness(strata: Sequence[Group], min_labels: int) -> tuple[State, str]:
    used = [group for group in strata if not group.known]
    if used and not any(group.labels for group in used):
        return "no labels yet", "no settled label yet in " + ", ".join(group.name for group in used)
    needed = max(min_labels, 1)
    short = [group for group in used if not group.census and group.labels < needed]
    if not short:
        return "ok", ""
    waits = ", ".join(f"{group.name} has {group.labels} of {min(needed, group.size)} labels" for group in short)
    return "too early", waits


def _too_few(strata: Sequence[str]) -> str:
    return "too few labels differ from the commonest value in " + ", ".join(strata)


def _method(whole: Combined | None, predictor: str, spec: Estimand) -> str:
    if whole is None:
        return ""
    if predictor == "score":
        return f"{whole.method}, strata, lambda from the score"
    return f"{whole.method}, {BASES[spec.basis]}"


def _range(groups: Sequence[Group]) -> Interval:
    """A mean cannot leave the range of its values; only future traffic, t limits and watched ones ever try."""
    return Interval(min([group.values[0] for group in groups]), max([group.values[-1] for group in groups]))


def _worst_case(
    groups: Sequence[Group], strata: Sequence[Group], whole: Combined, at: Look, options: "_Options", level: float
) -> Interval | None:
    if not any(group.undecided for group in groups):
        return None
    ends = [whole.watched(at.multiplier, level)]
    for pick in (0, -1):
        filled, plain = ([group.with_undecided_at(group.values[pick]) for group in some] for some in (groups, strata))
        extreme = options.combined(filled, options.alone(plain))
        ends.append(extreme.watched(at.multiplier, level))
    return Interval(min(end.low for end in ends), max(end.high for end in ends)).clipped(*_range(groups))


def _human_only(alone: Combined | None, strata: Sequence[Group], whole: Combined, level: float) -> HumanOnly | None:
    if alone is None or alone.too_few:
        return None
    z = z_value(level)
    width, judged = alone.limits(z).half_width, whole.limits(z).half_width
    return HumanOnly(alone.point, alone.limits(z).clipped(*_range(strata)), 1 - judged / width if width else 0.0)


@dataclass(frozen=True)
class _Options:
    """How groups are combined; `bounded` says that cells may not make the interval wider than the strata alone."""

    traffic: bool
    exact: bool
    slopes: Mapping[str, Slope]
    bounded: bool

    def combined(self, groups: Sequence[Group], alone: Combined | None) -> Combined:
        whole = combine(groups, traffic=self.traffic, exact=self.exact, slopes=self.slopes)
        return no_wider(whole, alone) if alone and self.bounded and not self.slopes else whole

    def alone(self, strata: Sequence[Group]) -> Combined | None:
        """Without the judge's help; None while a stratum has no label."""
        return None if _unlabelled(strata) else combine(strata, traffic=self.traffic, exact=self.exact)


def _judge_only(pool: Pool, spec: Estimand, side: Side | None, level: float) -> JudgeOnly | None:
    verdicts = [(cell.size, spec.judged(cell, pool.scale, side)) for cell in pool.cells]
    known = [(size, value) for size, value in verdicts if value is not None]
    if not known:
        return None
    point = sum(size * value for size, value in known) / pool.size
    spread = sum(size * (value - point) ** 2 for size, value in known) / pool.size
    side_length = z_value(level) * (spread / pool.size) ** 0.5
    return JudgeOnly(point, Interval(point - side_length, point + side_length))


def _rows(strata: Sequence[Group], slopes: Mapping[str, Slope], z: float) -> list[Stratum]:
    by_name: dict[str, list[Group]] = {}
    for group in strata:
        by_name.setdefault(group.name, []).append(group)
    return [_row(name, groups, slopes.get(name), z) for name, groups in by_name.items()]


def _row(name: str, groups: Sequence[Group], fitted: Slope | None, z: float) -> Stratum:
    cells = [cell for group in groups for cell in group.cells]
    mean = low = high = None
    if not _unlabelled(groups):
        one, *others = groups
        whole = combine(groups) if others else None  # a single group is its own combination
        mean = whole.point if whole else one.mean
        if all(group.categorical for group in groups):
            limits = whole.limits(z) if whole else one.limits(z)
            low, high = limits.low, limits.high
    return Stratum(
        name=name,
        size=sum(cell.size for cell in cells),
        n=sum(cell.settled for cell in cells),
        labels=sum(cell.labelled for cell in cells),
        undecided=sum(cell.undecided for cell in cells),
        used=any(not group.known for group in groups),
        mean=mean,
        low=low,
        high=high,
        lam=fitted.lam if fitted else 0.0,
        lam_reason=fitted.reason if fitted else "",
    )
