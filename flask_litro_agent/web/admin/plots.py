"""Plots: from values to places on a sheet. The template ``_plot.html`` draws what is computed here, and escapes it.

values ──► stacked() ──► Plot: bars, ticks, labels in the sheet's units ──► <svg>, a legend, and the same as a table
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Bar", "Label", "Plot", "Series", "compact", "stacked"]

WIDTH: Final = 720
HEIGHT: Final = 220
_LEFT: Final = 52
_RIGHT: Final = 8
_TOP: Final = 10
_BOTTOM: Final = 26
_MOST_LABELS: Final = 8
_TICKS: Final = 4
_STEPS: Final = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Series:
    """What is counted: its name, the class of its colour, and one number from 0 for each place on the axis."""

    name: str
    tone: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a bar; ``text`` says what it stands for."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a place of an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Bars on a sheet of ``width`` by ``height``; ``periods`` and ``series`` are the figures that they draw."""

    periods: Sequence[str]
    series: Sequence[Series]
    bars: Sequence[Bar]
    ticks: Sequence[Label]
    labels: Sequence[Label]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM

    @property
    def totals(self) -> Sequence[tuple[Series, int]]:
        """Each series and its sum."""
        return [(one, sum(one.values)) for one in self.series]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to see."""
        return not any(total for _, total in self.totals)

    @property
    def peak(self) -> tuple[str, int]:
        """The period with the most, and how many that are; of several the first."""
        sums = [sum(values) for values in zip(*(one.values for one in self.series), strict=True)]
        most = max(range(len(sums)), key=sums.__getitem__)
        return self.periods[most], sums[most]


def stacked(periods: Sequence[str], series: Sequence[Series]) -> Plot:
    """Return a plot with one bar for each period, the series upon each other, the first at the bottom.

    ValueError when a series has not one number from 0 for each period.
    """
    for one in series:
        if len(one.values) != len(periods) or any(value < 0 for value in one.values):
            raise ValueError(f"{one.name}: a series has one number from 0 for each period")
    heights = [sum(values) for values in zip(*(one.values for one in series), strict=True)]
    top, step = _scale(max(heights, default=0))
    return Plot(
        periods=periods,
        series=series,
        bars=list(_bars(periods, series, top)),
        ticks=[Label(_y(value, top), compact(value)) for value in range(0, top + 1, step)],
        labels=list(_labels(periods)),
    )


def compact(number: int) -> str:
    """Return a number as an axis has room for it: 950, 1.2k, 35k, 4M."""
    for size, letter in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + letter
    return str(number)


def _bars(periods: Sequence[str], series: Sequence[Series], top: int) -> Iterator[Bar]:
    slot = _slot(periods)
    for place, period in enumerate(periods):
        below = 0
        for one in (one for one in series if one.values[place]):
            value = one.values[place]
            y, height = _y(below + value, top), _y(below, top) - _y(below + value, top)
            text = f"{period}: {one.name} {value:,}"
            x = round(_LEFT + (place + 0.14) * slot, 2)
            yield Bar(x, y, round(slot * 0.72, 2), round(height, 2), one.tone, text)
            below += value


def _labels(periods: Sequence[str]) -> Iterator[Label]:
    """Yield so many periods' names as there is room for, the last one always."""
    every = max(1, -(-len(periods) // _MOST_LABELS))
    for place, period in enumerate(periods):
        if (len(periods) - 1 - place) % every == 0:
            yield Label(round(_LEFT + (place + 0.5) * _slot(periods), 2), period)


def _slot(periods: Sequence[str]) -> float:
    return (WIDTH - _LEFT - _RIGHT) / max(1, len(periods))


def _y(value: int, top: int) -> float:
    return round(HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * value / top, 2)


def _scale(most: int) -> tuple[int, int]:
    """Return the axis' upper end and the step of its ticks, both round numbers: 1, 2 or 5 and noughts."""
    power = 1
    while True:
        for step in (power * factor for factor in _STEPS):
            if step * _TICKS >= most:
                ticks = max(1, -(-most // step))
                return ticks * step, step
        power *= 10
