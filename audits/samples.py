"""How large a sample may become."""

from collections.abc import Mapping

from audits.models import Audit
from audits.plans import may_extend
from audits.selectors import last_look
from core.errors import InputError, Problem, Refused


def extended_sample(audit: Audit, labels: Mapping[str, int]) -> dict[str, int]:
    """Totals by stratum after an extension to `labels`, those not named as they are; or all that forbids it."""
    sizes = dict(audit.strata.order_by("name").values_list("name", "size"))
    standing: dict[str, int] = audit.registrations.latest("n").labels
    look = last_look(audit)
    if not may_extend(audit.plan, look.result if look else None, drawn=sum(standing.values())):
        raise Refused(Problem(f"{audit} has come to the stop of its plan", allowed="a new plan, in another audit"))
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
        raise Refused(Problem("the sample would not grow: these are drawn already", allowed="more labels in a stratum"))
    return wanted
