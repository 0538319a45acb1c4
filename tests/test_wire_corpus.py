"""Every case of the wire corpus, strictly; ``more`` holds siblings of its cases."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parent / "wire_corpus"
MORE = CORPUS / "more"


def cases(corpus: Path) -> list[Path]:
    return [
        path for provider in ("openai", "anthropic") for path in sorted((corpus / provider).glob("*.json"))
    ]


CASES = cases(CORPUS)


@pytest.fixture(scope="module")
def problems_of() -> Iterator[Callable[..., list[Any]]]:
    """Run a case by the corpus's own scripts (a folder, not a package) and return what is wrong."""
    sys.path.insert(0, str(CORPUS))
    try:
        import adapter
        import run_adapter
    finally:
        sys.path.remove(str(CORPUS))
    default = json.loads((CORPUS / "default_request.json").read_text())

    def run(path: Path, **changes: Any) -> list[Any]:
        stub = stubs[path.parent.parent]
        provider, case = path.parent.name, stub.case(path.parent.name, path.stem) | changes
        return run_adapter.run_case(
            adapter.stream, stub, provider, case, default, f"run{os.getpid()}", strict=True
        )

    with run_adapter.Stub(str(CORPUS)) as published, run_adapter.Stub(str(MORE)) as siblings:
        stubs = {CORPUS: published, MORE: siblings}
        yield run


@pytest.mark.parametrize(
    "path", CASES + cases(MORE), ids=lambda path: "-".join(path.relative_to(CORPUS).with_suffix("").parts)
)
def test_wire_case_gives_exactly_its_events(path: Path, problems_of: Callable[..., list[Any]]) -> None:
    assert problems_of(path) == []


def test_corpus_is_complete() -> None:
    assert len(CASES) == 146
    assert len(cases(MORE)) >= 40


def test_a_wrong_expectation_fails_its_case(problems_of: Callable[..., list[Any]]) -> None:
    """The control: the runner does notice a lost event."""
    assert problems_of(CASES[0], expect={"events": [{"type": "done", "finish_reason": "stop"}]})
