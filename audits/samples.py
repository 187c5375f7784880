"""How large a sample may become."""

from collections.abc import Mapping

from audits.models import Audit
from audits.selectors import is_closed, last_look
from core.errors import InputError, Problem, Refused


def extended_sample(audit: Audit, labels: Mapping[str, int]) -> dict[str, int]:
    """Totals by stratum after an extension to `labels`, those not named as they are; or all that forbids it."""
    if is_closed(last_look(audit)):
        raise Refused(Problem(f"the final look of {audit} is made", allowed="a new plan, in another audit"))
    sizes = dict(audit.strata.order_by("name").values_list("name", "size"))
    standing: dict[str, int] = audit.registrations.latest("n").labels
    wanted = standing | dict(labels)
    problems = [
        Problem(
            "not a possible number of labels",
            key=name,
            value=str(number),
            allowed=f"a whole number from {standing.get(name, 0)} (drawn already) to {sizes.get(name, 0)}"
            if name in sizes
            else "one of the strata: " + ", ".join(sizes),
        )
        for name, number in wanted.items()
        if not standing.get(name, 0) <= number <= sizes.get(name, 0)
    ]
    if problems:
        raise InputError(problems)
    if wanted == standing:
        raise Refused(Problem("the sample would not grow", allowed="more labels in at least one stratum"))
    return wanted
