"""web/admin/plots.py and periods.py: from figures to places on a sheet, whatever the figures are."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent.web.admin.periods import Period, periods_of, summed
from flask_litro_agent.web.admin.plots import Series, compact, stacked

MONDAY = 4  # 1970-01-05

columns = st.integers(1, 100)
amounts = st.integers(0, 10**13)


@st.composite
def figures(draw):
    """Return periods and series for them."""
    count = draw(columns)
    values = st.lists(amounts, min_size=count, max_size=count)
    series = [Series(f"s{number}", "done", draw(values)) for number in range(draw(st.integers(1, 4)))]
    return [f"2026-01-{number:03}" for number in range(count)], series


@given(figures())
def test_every_bar_and_every_label_stands_on_the_sheet(given_figures):
    plot = stacked(*given_figures)
    for bar in plot.bars:
        assert plot.left <= bar.x
        assert bar.x + bar.width <= plot.right + 0.01
        assert bar.y >= 0
        assert bar.height >= 0
        assert bar.y + bar.height <= plot.bottom + 0.01
    assert all(plot.left <= label.at <= plot.right for label in plot.labels)
    assert all(0 <= tick.at <= plot.bottom for tick in plot.ticks)


@given(figures())
def test_bars_are_as_high_as_their_figures_and_stand_upon_each_other(given_figures):
    periods, series = given_figures
    plot = stacked(periods, series)
    assert len(plot.bars) == sum(value > 0 for one in series for value in one.values)
    first = [bar for bar in plot.bars if bar.text.startswith(f"{periods[0]}:")]
    for below, above in itertools.pairwise(first):
        assert above.y + above.height == pytest.approx(below.y, abs=0.05)
    total = sum(one.values[0] for one in series)
    if total:
        of_all = sum(bar.height for bar in first) / (plot.bottom - plot.ticks[-1].at)
        assert of_all == pytest.approx(total / _top(plot, series), abs=0.01)


def _top(plot, series):
    """Return the axis' end, from the ticks' own words for small figures and from its rule for the others."""
    most = max(sum(values) for values in zip(*(one.values for one in series), strict=True))
    step = next(step * 10**power for power in range(20) for step in (1, 2, 5) if step * 10**power * 4 >= most)
    assert len(plot.ticks) == max(1, -(-most // step)) + 1
    return (len(plot.ticks) - 1) * step


@given(figures())
def test_at_most_eight_periods_are_named_and_the_last_one_always(given_figures):
    periods, series = given_figures
    labels = stacked(periods, series).labels
    assert 1 <= len(labels) <= 8
    assert labels[-1].text == periods[-1]


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, ["0", "1"]),
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (7, ["0", "2", "4", "6", "8"]),
        (70, ["0", "20", "40", "60", "80"]),
        (1900, ["0", "500", "1k", "1.5k", "2k"]),
        (3_600_000, ["0", "1M", "2M", "3M", "4M"]),
    ],
)
def test_the_axis_ends_at_a_round_number(most, ticks):
    assert [tick.text for tick in stacked(["a"], [Series("s", "done", [most])]).ticks] == ticks


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1200, "1.2k"), (999_999, "1000k"), (35_000, "35k"), (4 * 10**9, "4G")],
)
def test_a_number_is_written_as_short_as_an_axis_needs_it(number, text):
    assert compact(number) == text


def test_what_the_figures_say_is_kept_for_the_table():
    plot = stacked(["a", "b"], [Series("s", "done", [1, 2]), Series("t", "failed", [3, 0])])
    assert [(one.name, total) for one, total in plot.totals] == [("s", 3), ("t", 3)]
    assert plot.peak == ("a", 4)
    assert not plot.is_empty
    assert [bar.text for bar in plot.bars] == ["a: s 1", "a: t 3", "b: s 2"]
    assert stacked(["a"], [Series("s", "done", [0])]).is_empty


@pytest.mark.parametrize("values", [[1], [1, 2, 3], [1, -1]])
def test_a_series_that_does_not_fit_is_refused(values):
    with pytest.raises(ValueError, match="one number from 0 for each period"):
        stacked(["a", "b"], [Series("s", "done", values)])


class TestPeriods:
    def test_a_month_is_drawn_day_by_day(self):
        assert periods_of(10, 40) == [Period(day, day) for day in range(10, 41)]

    def test_more_is_drawn_by_weeks_that_begin_on_mondays(self):
        found = periods_of(MONDAY - 2, MONDAY + 35)
        assert found[0] == Period(MONDAY - 2, MONDAY - 1)
        assert found[1] == Period(MONDAY, MONDAY + 6)
        assert found[-1] == Period(MONDAY + 35, MONDAY + 35)

    @given(st.integers(0, 30_000), st.integers(0, 400))
    def test_every_day_is_in_one_period(self, first, days):
        found = periods_of(first, first + days)
        covered = [day for one in found for day in range(one.first, one.last + 1)]
        assert covered == list(range(first, first + days + 1))

    def test_a_day_has_its_date_and_a_week_both_ends(self):
        assert Period(20_000, 20_000).name == "2024-10-04"
        assert Period(20_000, 20_006).name == "2024-10-04 – 10-10"

    def test_figures_are_summed_by_period_and_others_left_out(self):
        assert summed([Period(1, 2), Period(3, 3)], [(1, 5), (2, 6), (3, 7), (4, 9), (0, 9)]) == [11, 7]
