"""Charts as SVG, drawn on the server: one technology for page, report and file, no script in the browser."""

from collections.abc import Sequence
from typing import Any, TypeVar

from audits.exports.comparison import Change
from audits.models import Look

WIDTH, HEIGHT = 640, 260
INK, BAND, TARGET, PAPER = "#1d3557", "#a8c5da", "#8a6d00", "#fbfaf7"
MOST_DRAWN = 200  # more looks than this are nearer to each other than a line is wide
MOST_POINTS = 60
BAR, BAR_WIDTH, ROW = "#4f7ca3", 400, 20
LETTER, LABEL_MOST = 6.5, 420
CHANGES_TITLE = "Verdicts changed, in per cent of the pairs that are valid on both ends"
CHART_TITLE = "The interval against the number of settled labels, one look after another"

Thing = TypeVar("Thing")


def width_curve(looks: Sequence[Look], *, half_width: float | None, title: str) -> str:
    """The interval against the number of labels, one look after another, as SVG; empty without an interval.

    The dashed lines are the target: the last estimate plus and minus the half-width of the plan. Of very many
    looks an even choice is drawn, with the last; the table beside the chart has them all. It brings its own
    paper, so that its colours hold on a dark page too.
    """
    shown = evenly([look for look in looks if look.low is not None], MOST_DRAWN)
    if not shown:
        return ""
    import altair as alt
    import vl_convert

    rows = [{"labels": look.labels, "point": look.point, "low": look.low, "high": look.high} for look in shown]
    base = alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT, description=title)
    x = alt.X("labels:Q", title="settled labels", scale=alt.Scale(zero=False), axis=alt.Axis(format="d", tickMinStep=1))
    y = alt.Y("low:Q", title="percentage points", axis=alt.Axis(labelExpr="format(datum.value * 100, '.1f')"))
    layers: list[Any] = [
        base.mark_area(color=BAND, opacity=0.6).encode(x=x, y=y, y2="high:Q"),
        base.mark_line(color=INK).encode(x=x, y="point:Q"),
        alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#555").encode(y="zero:Q"),
    ]
    if len(shown) <= MOST_POINTS:
        layers += [
            base.mark_rule(color=INK, opacity=0.5).encode(x=x, y=y, y2="high:Q"),
            base.mark_point(color=INK, filled=True, size=18).encode(x=x, y="point:Q"),
        ]
    point = shown[-1].point
    if half_width is not None and point is not None:
        edges = [{"edge": point - half_width}, {"edge": point + half_width}]
        layers.append(alt.Chart(alt.Data(values=edges)).mark_rule(color=TARGET, strokeDash=[5, 4]).encode(y="edge:Q"))
    chart = alt.layer(*layers).configure(background=PAPER, padding=12)
    svg: str = vl_convert.vegalite_to_svg(chart.to_json())
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
