"""Charts as SVG, drawn on the server: one technology for page, report and file, no script in the browser."""

from collections.abc import Sequence
from typing import Any

from audits.models import Look

WIDTH, HEIGHT = 640, 260
INK, BAND, TARGET = "#1d3557", "#a8c5da", "#8a6d00"


def width_curve(looks: Sequence[Look], *, half_width: float | None, title: str) -> str:
    """The interval against the number of labels, one look after another, as SVG; empty without an interval.

    The dashed lines are the target: the last estimate plus and minus the half-width of the plan.
    """
    import altair as alt
    import vl_convert

    shown = [look for look in looks if look.low is not None]
    if not shown:
        return ""
    rows = [{"labels": look.labels, "point": look.point, "low": look.low, "high": look.high} for look in shown]
    base = alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT, description=title)
    x = alt.X("labels:Q", title="settled labels", scale=alt.Scale(zero=False), axis=alt.Axis(format="d", tickMinStep=1))
    y = alt.Y("low:Q", title="percentage points", axis=alt.Axis(labelExpr="format(datum.value * 100, '.1f')"))
    layers: list[Any] = [
        base.mark_area(color=BAND, opacity=0.6).encode(x=x, y=y, y2="high:Q"),
        base.mark_rule(color=INK, opacity=0.5).encode(x=x, y=y, y2="high:Q"),
        base.mark_line(color=INK).encode(x=x, y="point:Q"),
        base.mark_point(color=INK, filled=True, size=18).encode(x=x, y="point:Q"),
        alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color="#555").encode(y="zero:Q"),
    ]
    point = shown[-1].point
    if half_width is not None and point is not None:
        edges = [{"edge": point - half_width}, {"edge": point + half_width}]
        layers.append(alt.Chart(alt.Data(values=edges)).mark_rule(color=TARGET, strokeDash=[5, 4]).encode(y="edge:Q"))
    svg: str = vl_convert.vegalite_to_svg(alt.layer(*layers).to_json())
    return svg
