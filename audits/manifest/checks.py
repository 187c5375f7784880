"""What a schema cannot say: ranges, and whether the parts of a manifest fit each other."""

from collections.abc import Iterable, Iterator
from typing import Any

from audits.manifest.document import at, list_at, mapping_at, number_at, text_at, texts_at
from audits.manifest.schema import did_you_mean, dotted
from audits.stats.estimands import ESTIMANDS, Estimand
from core.errors import Problem
from judges.intake.rows import LENGTH_BAND
from judges.intake.specs import SIDES
from judges.parsing import PARSERS, Parser

Document = dict[str, Any]


PARSER_SETTINGS = ("field", "pattern")
RULES_WITH_VALUE = ("interval_excludes_below", "unparsed_rate_at_most")


def manifest_problems(document: Document) -> Iterator[Problem]:
    yield from _scale(document)
    yield from _mappings(document)
    yield from _readers(document)
    yield from _sides(document)
    yield from _pipelines(document)
    yield from _slices(document)
    yield from _plan_numbers(document)
    yield from _plan_fit(document)
    yield from _hidden_anchors(document)
    yield from _cutover(document)
    yield from _partitions(document)


def _scale(document: Document) -> Iterator[Problem]:
    labels: list[str] = []
    for place, entry in enumerate(list_at(document, "rubric", "scale")):
        label = text_at(entry, "label")
        if label is not None and label in labels:
            yield Problem("a label stands twice on the scale", key=f"rubric.scale[{place}].label", value=label)
        elif label is not None:
            labels.append(label)


def _mappings(document: Document) -> Iterator[Problem]:
    labels = [label for entry in list_at(document, "rubric", "scale") if (label := text_at(entry, "label"))]
    for name in mapping_at(document, "mappings"):
        for raw, target in mapping_at(document, "mappings", name, "table").items():
            if isinstance(target, str) and target not in labels:
                what = f"not a label of the scale{did_you_mean(target, labels)}"
                yield Problem(what, key=f"mappings.{name}.table.{raw}", value=target, allowed=", ".join(labels))


def _readers(document: Document) -> Iterator[Problem]:
    for side in SIDES:
        parser = text_at(document, "judges", side, "reader", "parser")
        if parser is not None and parser not in PARSERS:
            what = f"no such parser{did_you_mean(parser, PARSERS)}"
            yield Problem(what, key=f"judges.{side}.reader.parser", value=parser, allowed=", ".join(PARSERS))
        yield from _setting(document, side, PARSERS.get(parser or ""))
        yield from mapping_exists(document, "judges", side, "reader", "mapping")


def _setting(document: Document, side: str, parser: Parser | None) -> Iterator[Problem]:
    """What some parsers need beside their name, and the others do not have."""
    reader, key = mapping_at(document, "judges", side, "reader"), f"judges.{side}.reader"
    if parser is None:
        return
    for name in PARSER_SETTINGS:
        text = text_at(reader, name)
        if name == parser.setting and text is None:
            yield Problem(f"missing; the parser {parser.key} needs it", key=f"{key}.{name}")
        elif name == parser.setting and text is not None and parser.fault and (fault := parser.fault(text)):
            yield Problem(fault, key=f"{key}.{name}", value=text)
        elif name != parser.setting and text is not None:
            yield Problem(f"the parser {parser.key} has none", key=f"{key}.{name}", value=text)


def mapping_exists(document: Document, *path: str | int) -> Iterator[Problem]:
    name, known = text_at(document, *path), mapping_at(document, "mappings")
    if name is not None and name not in known:
        what = f"no such mapping{did_you_mean(name, known)}"
        yield Problem(what, key=dotted(path), value=name, allowed=", ".join(known))


def _sides(document: Document) -> Iterator[Problem]:
    """A comparison moves one thing. Both, and nobody could say which it was; neither, and there is nothing to see."""
    kind = text_at(document, "kind")
    old, new = (mapping_at(document, "judges", side) for side in SIDES)
    if not old or not new:
        return
    judge = any(at(old, part) != at(new, part) for part in ("generator", "reader"))
    system = at(old, "system_version") != at(new, "system_version")
    if judge and system:
        what = "both the judge and the system differ; nobody could say what moved"
        yield Problem(what, key="judges", allowed="two judges on one system version, or one judge on two")
    elif not judge and not system:
        yield Problem("the two sides are the same; there is nothing to compare", key="judges")
    elif kind == "judge_swap" and system:
        what = "a judge swap needs one system version and two judges"
        yield Problem(what, key="kind", value=kind, allowed="version_upgrade, for these sides")
    elif kind == "version_upgrade" and judge:
        what = "a version upgrade needs two system versions and one judge"
        yield Problem(what, key="kind", value=kind, allowed="judge_swap, for these sides")


def _pipelines(document: Document) -> Iterator[Problem]:
    """A permission that no column is held against would hold nothing."""
    for side in SIDES:
        recorded = [
            at(source, "roles", "provenance", "pipeline")
            for source in list_at(document, "sources")
            if text_at(source, "judgments_of") == side
        ]
        if texts_at(document, "judges", side, "pipelines") and not all(recorded):
            allowed = "the role provenance.pipeline in each source of this side's judgments"
            what = "a source of this side's judgments does not say by which pipeline they were made"
            yield Problem(what, key=f"judges.{side}.pipelines", allowed=allowed)


def _slices(document: Document) -> Iterator[Problem]:
    named, columns = texts_at(document, "slices"), mapping_at(document, "sources", 0, "roles", "slices")
    for place, name in enumerate(named):
        if name == LENGTH_BAND and name not in columns:
            if text_at(document, "sources", 0, "roles", "output") is None:
                what = "length_band is the length of an output, and the first source names none"
                yield Problem(what, key=f"slices[{place}]", value=name)
        elif name not in columns:
            allowed = ", ".join([LENGTH_BAND, *columns])
            yield Problem("no column gives this slice", key=f"slices[{place}]", value=name, allowed=allowed)
    used = [(f"blocking_slices[{n}]", text) for n, text in enumerate(texts_at(document, "blocking_slices"))]
    used += [
        (f"plan.strata.slices[{n}]", name) for n, name in enumerate(texts_at(document, "plan", "strata", "slices"))
    ]
    used += [(f"review.double_review_slices.{text}", text) for text in _double_review_slices(document)]
    for key, text in used:
        if text.partition("=")[0] not in named:
            yield Problem("not one of the slices", key=key, value=text, allowed=", ".join(named))


def _double_review_slices(document: Document) -> Iterable[str]:
    return mapping_at(document, "review", "double_review_slices")


def _plan_numbers(document: Document) -> Iterator[Problem]:
    span = max(1.0, _scale_span(document))
    ranges = (
        (("plan", "level"), 0, 1, "()"),
        (("plan", "power"), 0, 1, "()"),
        (("plan", "half_width"), 0, span, "(]"),
        (("plan", "detectable_difference"), 0, span, "(]"),
        (("review", "double_review_share"), 0, 1, "[]"),
        *((("review", "double_review_slices", text), 0, 1, "[]") for text in _double_review_slices(document)),
    )
    for path, low, high, ends in ranges:
        number = number_at(document, *path)
        if number is None:
            continue
        above = number >= low if ends[0] == "[" else number > low
        below = number <= high if ends[1] == "]" else number < high
        if not (above and below):
            allowed = f"{'from' if ends[0] == '[' else 'above'} {low:g}, {'to' if ends[1] == ']' else 'below'} {high:g}"
            yield Problem("out of range", key=".".join(path), value=text_at(document, *path), allowed=allowed)


def _hidden_anchors(document: Document) -> Iterator[Problem]:
    name, every = (text_at(document, "review", key) for key in ("hidden_anchors", "hidden_anchor_every"))
    if name is not None and every is None:
        what = "missing: how many cases lie between one hidden anchor and the next, on average"
        yield Problem(what, key="review.hidden_anchor_every", allowed="a whole number, such as 20")
    if every is not None and name is None:
        what = "missing: the set that the anchors are from"
        yield Problem(what, key="review.hidden_anchors", allowed="the name of a set that hidden_anchors made")


def _scale_span(document: Document) -> float:
    values = [number_at(entry, "value") for entry in list_at(document, "rubric", "scale")]
    numbers = [value for value in values if value is not None]
    return max(numbers) - min(numbers) if numbers else 0.0


def _plan_fit(document: Document) -> Iterator[Problem]:
    estimand, kind = text_at(document, "plan", "estimand"), text_at(document, "kind")
    fit = ESTIMANDS.get(estimand or "")
    if fit is None:
        return
    if kind in ("judge_swap", "version_upgrade") and kind not in fit.kinds:
        fitting = ", ".join(name for name, other in ESTIMANDS.items() if kind in other.kinds)
        yield Problem(f"not an estimand of a {kind}", key="plan.estimand", value=estimand, allowed=fitting)
    yield from _values(document, fit)
    side = text_at(document, "plan", "side")
    if fit.sided and side is None:
        yield Problem(f"missing; {estimand} is about one side", key="plan.side", allowed=", ".join(SIDES))
    if not fit.sided and side is not None:
        allowed = ", ".join(name for name, other in ESTIMANDS.items() if other.sided)
        yield Problem(f"{estimand} has no side; only these have", key="plan.side", value=side, allowed=allowed)
    yield from _target_width(document)
    yield from _predictor(document, [side] if side else SIDES)


def _predictor(document: Document, sides: Iterable[str]) -> Iterator[Problem]:
    """A score is used where the judgments of every side that the estimand is about have one."""
    if text_at(document, "plan", "predictor") != "score":
        return
    sources = list_at(document, "sources")
    for side in sides:
        judged = [source for source in sources if text_at(source, "judgments_of") == side]
        if judged and not any(text_at(source, "roles", "score") for source in judged):
            what = f"the judgments of {side} have no score"
            allowed = "cells, or a column as roles.score of those judgments"
            yield Problem(what, key="plan.predictor", value="score", allowed=allowed)


def _values(document: Document, fit: Estimand) -> Iterator[Problem]:
    without = [
        label
        for entry in list_at(document, "rubric", "scale")
        if (label := text_at(entry, "label")) is not None and at(entry, "value") is None
    ]
    if fit.needs_values and without:
        what = f"{fit.key} needs a value for every label; without one: {', '.join(without)}"
        yield Problem(what, key="rubric.scale", allowed="what each label counts as, such as value: 1")


def _target_width(document: Document) -> Iterator[Problem]:
    """Watching is paid for by a width named beforehand, and `optimal` shares out labels towards some target."""
    plan = mapping_at(document, "plan")
    if "half_width" in plan:
        return
    if "budget" in plan and "detectable_difference" not in plan:
        what = "missing; a budget of labels is held to what they should reach"
        yield Problem(what, key="plan.half_width", allowed="half_width, or detectable_difference")
    if plan.get("policy") in ("monitored", "anytime"):
        yield Problem(f"missing; the policy {plan['policy']} needs it", key="plan.half_width", allowed="such as 0.05")
    elif "detectable_difference" not in plan:
        allocation = mapping_at(plan, "allocation")
        if not allocation or "optimal" in allocation.values():
            what = "missing; without it, or a detectable_difference, nothing says how many labels to plan"
            yield Problem(what, key="plan.half_width", allowed="such as 0.05")


def _cutover(document: Document) -> Iterator[Problem]:
    for place, gate in enumerate(list_at(document, "cutover", "gate")):
        rule, value = text_at(gate, "rule"), text_at(gate, "value")
        key = f"cutover.gate[{place}].value"
        if rule in RULES_WITH_VALUE and value is None:
            yield Problem(f"missing; the rule {rule} needs it", key=key, allowed="such as 0.01")
        if rule == "no_blocking_regression" and value is not None:
            yield Problem(f"the rule {rule} has no value", key=key, value=value)
    if "cutover" in document and text_at(document, "partitions", "holdout") is None:
        what = "missing; a cutover names the holdout that it is decided on"
        yield Problem(what, key="partitions.holdout", allowed="the name and version of a case set, such as cases-1")


def _partitions(document: Document) -> Iterator[Problem]:
    """The set that is named for the pool's partition is the one the pool comes from."""
    partition = text_at(document, "partition") or "development"
    named = text_at(document, "partitions", partition)
    name, version = text_at(document, "case_set", "name"), text_at(document, "case_set", "version")
    if partition == "holdout" and named is None:
        what = "missing; the pool is a holdout"
        yield Problem(what, key="partitions.holdout", allowed=f"{name}-{version}")
    elif None not in (named, name, version) and named != f"{name}-{version}":
        what = f"the {partition} pool of this manifest comes from another case set"
        yield Problem(what, key=f"partitions.{partition}", value=named, allowed=f"{name}-{version}")
