"""The pictures of the documentation are those that ``docs/screenshots.py`` takes."""

from __future__ import annotations

import re

import pytest

from tests.doc_pages import DOCS, PAGES, page

SHOWN = {name for one in PAGES for name in re.findall(r"!\[[^\]]+\]\(images/([\w-]+)\.png\)", page(one))}
FILES = {path.stem for path in (DOCS / "images").iterdir()}


def test_every_picture_of_the_pages_is_there_and_no_other() -> None:
    assert SHOWN
    assert FILES == SHOWN


def test_the_script_takes_these_pictures() -> None:
    pytest.importorskip("playwright", reason="playwright is missing: pip install -e '.[test]'")
    from docs.screenshots import PICTURES  # not at the top: it needs the browser's driver

    assert set(PICTURES) == SHOWN


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_picture_is_a_small_png(name: str) -> None:
    written = (DOCS / "images" / f"{name}.png").read_bytes()
    assert written.startswith(b"\x89PNG")
    assert len(written) < 200_000
