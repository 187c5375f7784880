"""The sampling design: strata, the permanent random order of each, and the one serving sequence.

Nothing here draws from a random generator. The order is sha256(seed | case identity), so that anybody with the
seed and the frame reproduces the draw, and so that a larger sample extends a smaller one.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from audits.stats.checks import checked_choice, checked_count, checked_share, refused

By = Literal["agreement", "transition"]
BY = ("agreement", "transition")
FORCED = "forced"
IDENTICAL = "identical"
_SEPARATOR = " | "
_JOIN = " + "


def stratum_name(
    old: str,
    new: str,
    *,
    by: By = "agreement",
    slices: Sequence[tuple[str, str]] = (),
    forced: bool = False,
    identical: bool = False,
) -> str:
    """The stratum of one eligible case, from what is known before any label.

    Parameters
    ----------
    old, new : str
        The two verdicts.
    by : {'agreement', 'transition'}
        "agree" / "disagree", or one stratum for each "old→new".
    slices : sequence of (dimension, value)
        Crossed with the verdicts, in the order given.
    forced : bool
        A case that is always reviewed. All forced cases are one take-all stratum.
    identical : bool
        Byte-identical outputs and evidence: apart from the others, since they need no label for a difference.

    Returns
    -------
    str
        Such as "disagree", "length=short | pass→fail", "identical | agree", "forced".
    """
    checked_choice(by, "strata.by", BY)
    if forced:
        return FORCED
    verdicts = ("agree" if old == new else "disagree") if by == "agreement" else f"{old}→{new}"
    parts = [f"{dimension}={value}" for dimension, value in slices]
    return _SEPARATOR.join([IDENTICAL, *parts, verdicts] if identical else [*parts, verdicts])


def merged_strata(sizes: Mapping[str, int], families: Mapping[str, str], *, below: int = 10) -> dict[str, str]:
    """Merge strata too small to estimate, by the rule of the plan.

    Parameters
    ----------
    sizes : mapping of stratum to number of eligible cases
    families : mapping of stratum to family
        Only strata of one family are merged. Families keep agreements apart from disagreements and identical
        pairs apart from the rest. The empty family is never merged (take-all strata).
    below : int
        A stratum with fewer cases is small. 0 merges nothing.

    Returns
    -------
    dict
        Every stratum with the name of the stratum it belongs to from now on: its own, or "a + b".

    Raises
    ------
    InputError
        A size below 1, or a stratum without a family.

    Notes
    -----
    The smallest stratum goes first and joins the next smallest of its family. A family whose only stratum is
    small keeps it: it is sampled like the others, and its census is cheap.
    """
    checked_count(below, "strata.merge_below")
    clusters: dict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
    for name, size in sizes.items():
        if name not in families:
            raise refused("a stratum has no family", key="families", value=name)
        clusters[families[name]].append((checked_count(size, f"sizes.{name}", at_least=1), (name,)))
    result: dict[str, str] = {}
    for family, members in clusters.items():
        for _, names in _joined(members, below) if family else members:
            result.update({name: _JOIN.join(names) for name in names})
    return result


def stratum_family(old: str, new: str, *, forced: bool = False, identical: bool = False) -> str:
    """The family of a case's stratum for `merged_strata`; empty for take-all strata."""
    if forced:
        return ""
    return f"{IDENTICAL if identical else 'different'} {'agree' if old == new else 'disagree'}"


def _joined(members: list[tuple[int, tuple[str, ...]]], below: int) -> list[tuple[int, tuple[str, ...]]]:
    members = sorted(members)
    while len(members) > 1 and members[0][0] < below:
        (one, first), (other, second), *rest = members
        members = sorted([*rest, (one + other, tuple(sorted(first + second)))])
    return members


def order_hash(seed: str, identity: str) -> str:
    return hashlib.sha256(f"{seed}|{identity}".encode()).hexdigest()


def permanent_order(seed: str, identities: Iterable[str]) -> list[str]:
    """The permanent random order of one stratum: the sample is always a prefix of it.

    Parameters
    ----------
    seed : str
        Of the registered plan.
    identities : iterable of str
        One for each eligible case of the stratum, in any order.

    Returns
    -------
    list of str
        The identities by sha256(seed | identity). The order of two cases never depends on which others are there.

    Raises
    ------
    InputError
        If an identity is given twice.
    """
    cases = sorted(identities)
    for one, other in pairwise(cases):
        if one == other:
            raise refused("a case is in the frame twice", key="identity", value=one)
    return sorted(cases, key=lambda identity: (order_hash(seed, identity), identity))


def serving_order(allocations: Sequence[Mapping[str, int]]) -> list[tuple[str, int]]:
    """One sequence over all strata in which drawn cases are served.

    Parameters
    ----------
    allocations : sequence of mappings of stratum to number drawn
        The totals of the registration, then of each extension. Totals never shrink.

    Returns
    -------
    list of (stratum, position)
        Position from 0 in the permanent order of the stratum. Within each allocation the strata are mixed in
        proportion (Webster's divisors: position j of n has rank (2 j + 1) / n). What an extension adds is appended,
        so that the sequence of a smaller allocation is a prefix of the sequence of a larger one.

    Raises
    ------
    InputError
        A negative number, or a total smaller than before.

    References
    ----------
    M. L. Balinski and H. P. Young, Fair Representation (1982), on the method of Webster.
    """
    sequence: list[tuple[str, int]] = []
    reached: dict[str, int] = {}
    for allocation in allocations:
        shares = []
        for stratum, total in allocation.items():
            start = reached.get(stratum, 0)
            more = checked_count(total, f"allocation.{stratum}") - start
            if more < 0:
                allowed = f"at least {start}, which are drawn already"
                raise refused("a draw cannot shrink", key=f"allocation.{stratum}", value=total, allowed=allowed)
            shares += [((2 * step + 1) / more, stratum, start + step) for step in range(more)]
            reached[stratum] = total
        sequence += [(stratum, position) for _, stratum, position in sorted(shares)]
    return sequence


def inclusion_probability(n: int, size: int) -> float:
    """n_h / N_h: the chance that a case of the stratum is in the sample, over any number of extensions."""
    drawn, cases = checked_count(n, "n"), checked_count(size, "size", at_least=1)
    if drawn > cases:
        raise refused("more cases were drawn than there are", key="n", value=n, allowed=f"from 0 to {size}")
    return drawn / cases


def double_reviewed(seed: str, identity: str, share: float) -> bool:
    """Whether a case belongs to the random double-reviewed subset.

    Parameters
    ----------
    seed, identity : str
        As in `permanent_order`; another prefix makes the choice independent of the drawing order and the strata.
    share : float in [0, 1]

    Returns
    -------
    bool
        A larger share keeps the cases of a smaller one.

    Raises
    ------
    InputError
        A share outside [0, 1].
    """
    digest = int(order_hash(seed, f"double review|{identity}"), 16)
    return digest < checked_share(share, "double_review_share") * 2**256
