import pytest

from audits.stats.pace import FEWEST, LONGEST, pace

MINUTE = 60.0
HOUR = 3600.0


def every(seconds, number):
    return [place * seconds for place in range(number)]


def test_pace_is_labels_an_hour_of_work_with_its_range():
    found = pace(every(MINUTE, 101))
    # 60 divided and multiplied by exp(1.2815515655446004 / sqrt(100)): 1.28155 is the 90 % point of the normal.
    assert (found.per_hour, found.labels, found.hours) == (pytest.approx(60), 100, pytest.approx(100 / 60))
    assert (found.low, found.high) == (pytest.approx(52.783012, abs=1e-5), pytest.approx(68.203762, abs=1e-5))


def test_break_is_no_work_and_its_end_no_slow_label():
    morning = every(MINUTE, 16)
    afternoon = [time + 4 * HOUR for time in every(MINUTE, 16)]
    found = pace([*afternoon, *morning])
    assert (found.labels, found.per_hour) == (30, pytest.approx(60))


def test_gap_of_just_the_longest_is_work_and_one_second_more_a_break():
    times = every(MINUTE, FEWEST)
    at, beyond = (pace([*times, times[-1] + gap]) for gap in (LONGEST, LONGEST + 1))
    assert (at.labels, at.reason) == (20, "")
    assert (beyond.labels, beyond.per_hour, beyond.reason) == (19, None, "19 of 20 intervals between labels are known")


@pytest.mark.parametrize(("times", "reason"), [([], "0 of 20"), ([5.0], "0 of 20"), ([5.0] * 40, "no time passed")])
def test_nothing_is_said_of_too_few_labels_or_of_no_time(times, reason):
    found = pace(times)
    assert (found.per_hour, found.hours_for(10, 20)) == (None, None)
    assert found.reason.startswith(reason)


def test_time_to_finish_takes_the_favourable_end_of_both_and_the_other():
    found = pace(every(MINUTE, 101))
    assert found.hours_for(95, 210) == (pytest.approx(95 / found.high), pytest.approx(210 / found.low))
    assert found.hours_for(0, 0) == (0, 0)
