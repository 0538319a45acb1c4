"""Deltas on their way through: one for what arrived together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flask_litro_agent.contracts import ProviderEvent, ReasoningDelta, TextDelta

__all__ = ["merged"]


def merged(events: Iterable[ProviderEvent]) -> Iterator[ProviderEvent]:
    """Join neighbouring deltas of one kind, and drop empty ones."""
    kind: type[TextDelta] | type[ReasoningDelta] = TextDelta
    pieces: list[str] = []
    for event in events:
        if isinstance(event, (TextDelta, ReasoningDelta)):
            if pieces and not isinstance(event, kind):
                yield kind("".join(pieces))
                pieces = []
            if event.text:
                kind = type(event)
                pieces.append(event.text)
            continue
        if pieces:
            yield kind("".join(pieces))
            pieces = []
        yield event
    if pieces:
        yield kind("".join(pieces))
