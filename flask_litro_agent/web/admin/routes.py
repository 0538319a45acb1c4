"""A page of the operator's as the blueprint takes it: its rule, its view, and who may enter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Pages", "Route"]


@dataclass(frozen=True, slots=True)
class Route:
    """One rule; ``view(actor, **values)`` is called with who has entered by one of the permissions."""

    rule: str
    endpoint: str
    view: Callable[..., Any]
    permissions: Sequence[str]
    methods: Sequence[str] = ("GET",)


class Pages(Protocol):
    """A few pages about one noun."""

    def routes(self) -> Iterator[Route]: ...
