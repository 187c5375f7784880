"""Reference values for the monitored and anytime policies, made without the package.

Only the standard library: erfc for the normal tail, bisection for its inverse, exact rational hypergeometric
tails. Run `python tests/reference/monitored.py > tests/reference/monitored.json` to make the values again.
"""

import json
import math
from fractions import Fraction


def tail(z):
    return math.erfc(z / math.sqrt(2)) / 2


def inverse_tail(p):
    low, high = 0.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > p else (low, middle)
    return (low + high) / 2


def wilson(k, n, size, z):
    effective = n * (size - 1) / (size - n)
    p = k / n
    root = z * math.sqrt(p * (1 - p) / effective + z**2 / (4 * effective**2))
    middle = p + z**2 / (2 * effective)
    return (middle - root) / (1 + z**2 / effective), (middle + root) / (1 + z**2 / effective)


def exact(k, n, size, alpha):
    def at_least(total):
        ways = sum(math.comb(total, x) * math.comb(size - total, n - x) for x in range(k, min(n, total) + 1))
        return Fraction(ways, math.comb(size, n))

    def at_most(total):
        ways = sum(math.comb(total, x) * math.comb(size - total, n - x) for x in range(k + 1))
        return Fraction(ways, math.comb(size, n))

    possible = [total for total in range(size + 1) if at_least(total) > alpha / 2 and at_most(total) > alpha / 2]
    return possible[0], possible[-1]


def monitored(variance, width, level):
    c = inverse_tail((1 - level) / 4)
    t = (1 / variance) / (c / width) ** 2
    return {"c": c, "t": t, "multiplier": c if t >= 1 else c / math.sqrt(t)}


def anytime(variance, width, level):
    alpha, z = 1 - level, inverse_tail((1 - level) / 2)
    rho = (z / width) ** 2 / (2 * math.log(1 / alpha) + math.log(1 + 2 * math.log(1 / alpha)))
    i = 1 / variance
    return {"rho": rho, "multiplier": math.sqrt((1 + rho / i) * math.log((i + rho) / (rho * alpha**2)))}


def swap_look(right, n, disagree, size, width, level):
    """One look at an accuracy difference of two judges with binary verdicts."""
    z, share = inverse_tail((1 - level) / 2), disagree / size
    low, high = wilson(right, n, disagree, z)
    variance = (share * (high - low) / z) ** 2
    look = monitored(variance, width, level)
    alpha = 2 * tail(look["multiplier"])
    least, most = exact(right, n, disagree, alpha)
    limits = [share * (2 * total / disagree - 1) for total in (least, most)]
    return {"variance": variance, "alpha": alpha, "K": [least, most], "limits": limits, **look}


cases = [(0.0004, 0.05, 0.95), (0.001, 0.05, 0.95), (0.0001, 0.05, 0.95), (0.02, 0.1, 0.9)]
swaps = [(10, 14, 20, 60, 0.1, 0.95), (40, 60, 200, 2000, 0.02, 0.95), (90, 150, 200, 2000, 0.01, 0.95)]
print(
    json.dumps(
        {
            "origin": "tests/reference/monitored.py",
            "monitored": [{"given": case, **monitored(*case)} for case in cases],
            "anytime": [{"given": case, **anytime(*case)} for case in cases],
            "swap": [{"given": swap, **swap_look(*swap)} for swap in swaps],
        },
        indent=1,
    )
)
