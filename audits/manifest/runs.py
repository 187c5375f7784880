"""Which run a source of judgments holds: the one that is compared, or a further one of the same judge."""

from collections.abc import Iterator
from typing import Any

from audits.manifest.document import list_at, mapping_at, text_at
from core.errors import Problem
from judges.intake.specs import AS_GIVEN, SIDES

Document = dict[str, Any]
RUN_KEYS = ("run", "presentation_order", "evidence_probe", "mapping")


def further_role(document: Document, source: Any) -> str | None:
    """What a source of judgments adds: another packaging of the evidence, another order, the same again; or None."""
    side = text_at(source, "judgments_of")
    if side is None:
        return None
    if text_at(source, "evidence_probe") is not None:
        return "evidence probe"
    if text_at(source, "presentation_order") not in (None, _order_of(document, side)):
        return "order probe"
    return "repeat" if _number(source) not in (None, _number_of(document, side)) else None


def run_numbers(document: Document) -> list[int]:
    """The number of each source's run. A probe without one gets the next that is free on its side."""
    sources = list_at(document, "sources")
    taken = {side: {_number_of(document, side)} for side in SIDES}
    for source in sources:
        side = text_at(source, "judgments_of")
        if side in taken and (number := _number(source)) is not None:
            taken[side].add(number)
    numbers = []
    for source in sources:
        side, number = text_at(source, "judgments_of"), _number(source)
        if number is None and side in taken and further_role(document, source) is not None:
            number = max(taken[side]) + 1
            taken[side].add(number)
        numbers.append(number or 1)
    return numbers


def run_problems(document: Document) -> Iterator[Problem]:
    seen: dict[tuple[str, int], str] = {}
    for place, (source, number) in enumerate(zip(list_at(document, "sources"), run_numbers(document), strict=True)):
        key, side, role = f"sources[{place}]", text_at(source, "judgments_of"), further_role(document, source)
        if side not in SIDES:
            for name in RUN_KEYS:
                if name in mapping_at(source):
                    yield Problem("only a source with judgments_of has this key", key=f"{key}.{name}")
            continue
        yield from _role_fits(document, source, role, key)
        if role is not None:
            number_taken = number == _number_of(document, side)
            earlier = "the side's own run" if number_taken else seen.setdefault((side, number), key)
            if earlier != key:
                what = f"this number is that of {earlier}; each run of a side has one of its own"
                yield Problem(what, key=f"{key}.run", value=str(number))


def _role_fits(document: Document, source: Any, role: str | None, key: str) -> Iterator[Problem]:
    order = text_at(source, "presentation_order")
    if role == "evidence probe":
        if order not in (None, _order_of(document, str(source["judgments_of"]))):
            what = "a probe changes one thing; this one changes the evidence and the order"
            yield Problem(what, key=f"{key}.presentation_order", value=order)
        if text_at(source, "evidence_probe") == AS_GIVEN:
            what = "the name of the packaging that is compared"
            yield Problem(what, key=f"{key}.evidence_probe", value=AS_GIVEN, allowed="another name")
    if role == "order probe" and "mapping" not in source:
        what = "missing; in another order a label may mean another output, so its mapping is said, be it the side's own"
        allowed = ", ".join(mapping_at(document, "mappings"))
        yield Problem(what, key=f"{key}.mapping", allowed=allowed)
    if role != "order probe" and "mapping" in source:
        what = "only an order probe has a mapping of its own; any other run is read by its side's reader"
        yield Problem(what, key=f"{key}.mapping", value=text_at(source, "mapping"))


def _number(source: Any) -> int | None:
    text = text_at(source, "run") or ""
    return int(text) if text.isascii() and text.isdigit() else None


def _number_of(document: Document, side: str) -> int:
    return _number(mapping_at(document, "judges", side)) or 1


def _order_of(document: Document, side: str) -> str:
    return text_at(document, "judges", side, "presentation_order") or AS_GIVEN
