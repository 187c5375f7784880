"""Charts as SVG, drawn on the server: one technology for page, report and file, no script in the browser."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db.models.fields.json import KT

from audits.exports.comparison import Change
from audits.models import Audit, Look
from audits.selectors import looks_listed, looks_of

WIDTH, HEIGHT = 640, 260
INK, GREY, PAPER = "#1d3557", "#555", "#fbfaf7"
IN_FORCE, HUMAN, FORECAST, TARGET = "interval in force", "human labels only, fixed n", "forecast", "target"
CURVES = {IN_FORCE: "#a8c5da", HUMAN: "#a8480f", FORECAST: "#c9b458", TARGET: "#8a6d00"}
PLAIN = "plain random sample, without the judges"
SERIES = [INK, "#2a7f62", "#a8480f", "#777"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
MOST_TARGETS = 6
MOST_DRAWN = 200  # more looks than this are nearer to each other than a line is wide
MOST_POINTS = 60
BAR, BAR_WIDTH, ROW = "#4f7ca3", 400, 20
LETTER, LABEL_MOST = 6.5, 420
CHANGES_TITLE = "Verdicts changed, in per cent of the pairs that are valid on both ends"
PLAN_TITLE = "Half-width against labels, before any label is known"
CHART_TITLE = "The interval against the number of settled labels, one look after another"

Thing = TypeVar("Thing")


def looks_drawn(audit: Audit) -> list[Look]:
    """The looks that the chart shows, oldest first, with their limits from human labels alone."""
    shown = evenly(list(looks_of(audit).exclude(low=None).values_list("pk", flat=True)), MOST_DRAWN)
    limits = {f"human_{end}": KT(f"result__human_only__interval__{end}") for end in ("low", "high")}
    return list(looks_listed(audit).filter(pk__in=shown).annotate(**limits).reverse())


def width_curve(
    looks: Sequence[Look], *, half_width: float | None, remaining: Mapping[str, Any] | None = None, title: str
) -> str:
    """The interval against the number of labels, one look after another, as SVG; empty without an interval.

    Beside it the interval from human labels alone, the target around the last estimate, and what `remaining` forecasts;
    a rule marks the final look, or the labels at which it is expected. It brings its own paper, so that its colours
    hold on a dark page too, and tells its lines apart by dashes, so that they hold in print.
    """
    if not looks:
        return ""
    import altair as alt
    import vl_convert

    last, point = looks[-1], looks[-1].point or 0.0
    ahead, ends = _forecast(last, remaining), _ends(last, remaining)
    edges = [] if half_width is None else [{"edge": point - half_width}, {"edge": point + half_width}]
    curve = [_curve_row(look) for look in looks]
    human = [_human_row(look) for look in looks if look.human_low is not None]  # type: ignore[attr-defined]
    shown = [name for name, rows in zip(CURVES, (curve, human, ahead, edges), strict=True) if rows]
    scale = alt.Scale(domain=shown, range=[CURVES[name] for name in shown])
    colour = alt.Color("what:N", scale=scale, legend=_legend(symbolType="square"))
    x = alt.X(
        "labels:Q",
        title="settled labels",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format="d", tickMinStep=1, labelFlush=False),
    )
    axis = alt.Axis(labelExpr="format(datum.value * 100, '.1f')")
    limits = {"x": x, "y": alt.Y("low:Q", title="percentage points", axis=axis), "y2": "high:Q"}

    def chart(rows: Sequence[Mapping[str, Any]], name: str = "") -> Any:
        named = [{**row, "what": name} for row in rows]
        return alt.Chart(alt.Data(values=named), width=WIDTH, height=HEIGHT, description=title)

    dotted = chart(human, HUMAN).mark_line(strokeDash=[2, 2], strokeWidth=1.5)
    layers: list[Any] = [
        chart(curve, IN_FORCE).mark_area(opacity=0.6).encode(**limits, color=colour),
        chart(ahead, FORECAST).mark_area(opacity=0.35).encode(**limits, color=colour),
        *(dotted.encode(x=x, y=f"{end}:Q", color=colour) for end in ("low", "high")),
        chart(edges, TARGET).mark_rule(strokeDash=[6, 4]).encode(y="edge:Q", color=colour),
        chart([{"zero": 0}]).mark_rule(color=GREY).encode(y="zero:Q"),
        chart(curve).mark_line(color=INK).encode(x=x, y="point:Q"),
    ]
    if len(looks) <= MOST_POINTS:
        layers += [
            chart(curve).mark_rule(color=INK, opacity=0.5).encode(**limits),
            chart(curve).mark_point(color=INK, filled=True, size=18).encode(x=x, y="point:Q"),
        ]
    for end in ends:
        layers += [
            chart([end]).mark_rule(color=INK, strokeDash=end["dash"]).encode(x=x),
            chart([end]).mark_text(align="right", dx=-4, dy=8, color=INK).encode(x=x, y=alt.value(0), text="words:N"),
        ]
    svg: str = vl_convert.vegalite_to_svg(alt.layer(*layers).configure(background=PAPER, padding=12).to_json())
    return svg


def _legend(**options: Any) -> Any:
    """Below the chart, in two columns: whoever looks may have a wider font than the machine that draws."""
    import altair as alt

    return alt.Legend(title=None, orient="bottom", columns=2, columnPadding=60, labelLimit=300, **options)


def _curve_row(look: Look) -> dict[str, Any]:
    return {"labels": look.labels, "point": look.point, "low": look.low, "high": look.high}


def _human_row(look: Any) -> dict[str, Any]:
    return {"labels": look.labels, "low": float(look.human_low), "high": float(look.human_high)}


def _forecast(look: Look, remaining: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The interval that is expected after further labels, around the estimate as it stands."""
    if remaining is None or remaining["state"] != "ok" or look.point is None:
        return []
    return [
        {
            "labels": look.labels + one["more"],
            "low": look.point - one["half_width"],
            "high": look.point + one["half_width"],
        }
        for one in remaining["forecast"]
    ]


def _ends(look: Look, remaining: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Where the final look is, or is expected."""
    if look.final:
        return [{"labels": look.labels, "words": "final look", "dash": [1, 0]}]
    if remaining is None or remaining["state"] != "ok":
        return []
    return [{"labels": look.labels + remaining["total_more"], "words": "target expected", "dash": [3, 3]}]


def plan_curve(outlook: Mapping[str, Any], *, policy: str, half_width: float, budget: int | None, title: str) -> str:
    """Half-width against labels of a plan, under each policy and without the judges, as SVG.

    What is wider than some times the target is cut off: the table beside the chart has it.
    """
    import altair as alt
    import vl_convert

    names = {f"{policy}: the plan's": policy} | {
        one: one for one in outlook["curve"][0]["half_widths"] if one != policy
    }
    rows = [
        {"labels": point["labels"], "width": width, "series": name}
        for point in outlook["curve"]
        for name, width in [
            *((name, point["half_widths"][one]) for name, one in names.items()),
            (PLAIN, point["without_judge"]),
        ]
    ]
    top = min(max(row["width"] for row in rows), MOST_TARGETS * half_width)
    series = [*names, PLAIN]
    legend = _legend(symbolStrokeWidth=2.5, symbolSize=600)
    base = alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT, description=title)
    x = alt.X(
        "labels:Q",
        title="labels in all",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format="d", tickMinStep=1, labelFlush=False),
    )
    y = alt.Y(
        "width:Q",
        title="half-width in percentage points",
        scale=alt.Scale(domain=[0, top]),
        axis=alt.Axis(labelExpr="format(datum.value * 100, '.1f')"),
    )
    target = alt.Chart(alt.Data(values=[{"target": half_width, "words": "target"}]))
    marks: list[Any] = [
        base.mark_line(clip=True, strokeWidth=2).encode(
            x=x,
            y=y,
            color=alt.Color("series:N", sort=series, scale=alt.Scale(domain=series, range=SERIES), legend=legend),
            strokeDash=alt.StrokeDash("series:N", sort=series, scale=alt.Scale(domain=series, range=DASHES)),
        ),
        target.mark_rule(color=GREY, strokeDash=[6, 4]).encode(y="target:Q"),
        target.mark_text(align="left", dx=4, dy=-6, color=INK).encode(y="target:Q", x=alt.value(0), text="words:N"),
    ]
    if budget is not None:
        line = alt.Chart(alt.Data(values=[{"labels": budget, "words": "budget"}]))
        marks += [
            line.mark_rule(color=GREY, strokeDash=[3, 3]).encode(x=x),
            line.mark_text(align="left", dx=4, dy=8, color=INK).encode(x=x, y=alt.value(0), text="words:N"),
        ]
    svg: str = vl_convert.vegalite_to_svg(alt.layer(*marks).configure(background=PAPER, padding=12).to_json())
    return svg


def change_chart(changes: Sequence[Change]) -> str:
    """One bar for each share of changed verdicts, as SVG: between the sides, by slice, and by a judge itself.

    The number stands at the end of its bar; the tables beside the chart have the same ones, with their counts.
    """
    shown = [change for change in changes if change.share is not None]
    if not shown:
        return ""
    import altair as alt
    import vl_convert

    rows = [
        {"row": f"{change.group}: {change.name or '(none)'}", "share": change.share, "group": change.group}
        for change in shown
    ]
    # Whoever looks may have a wider font than the machine that draws: the names get the room of a wide one.
    room = min(LABEL_MOST, LETTER * max(len(str(row["row"])) for row in rows))
    longest = max([change.share or 0.0 for change in shown])
    base = alt.Chart(alt.Data(values=rows), width=BAR_WIDTH, height=ROW * len(rows), description=CHANGES_TITLE)
    y = alt.Y("row:N", sort=None, title=None, axis=alt.Axis(labelLimit=LABEL_MOST, minExtent=room))
    scale = alt.Scale(domain=[0, longest * 1.15 or 0.01])
    axis = alt.Axis(labelExpr="format(datum.value * 100, '.0f')")
    x = alt.X("share:Q", title="per cent changed", scale=scale, axis=axis)
    words = base.transform_calculate(words="format(datum.share * 100, '.1f')")
    text = words.mark_text(align="left", dx=4, color=INK).encode(x=x, y=y, text="words:N")
    chart = alt.layer(base.mark_bar(color=BAR).encode(x=x, y=y), text).configure(background=PAPER, padding=12)
    svg: str = vl_convert.vegalite_to_svg(chart.to_json())
    return svg


def evenly(things: Sequence[Thing], most: int) -> list[Thing]:
    """At most so many, evenly spaced, the first and the last among them."""
    if len(things) <= most:
        return list(things)
    return [things[round(place * (len(things) - 1) / (most - 1))] for place in range(most)]
