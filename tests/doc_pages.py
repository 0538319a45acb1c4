"""The pages of the documentation as data: sections, tables, code words and examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))

_CODE = re.compile(r"`([^`]+)`")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"(?:#|<!--|//|/\*) file: (\S+)")
TABLE_OF_SETTINGS = re.compile(r"^```\{settings-table\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def section(text: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one of its level or above."""
    level = heading.split(" ")[0]
    above = "|".join("#" * count for count in range(1, len(level) + 1))
    until = rf"(?=^(?:{above}) (?!file:)|\Z)"
    match = re.search(rf"^{re.escape(heading)}\n(.*?){until}", text, re.DOTALL | re.MULTILINE)
    assert match, f"no heading {heading!r}"
    return match[1]


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield every table as rows of cells, without its head."""
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        yield rows[2:]


def first_table(text: str) -> list[list[str]]:
    return next(tables(text))


def words(cells: Iterable[str]) -> list[str]:
    return [word for cell in cells for word in _CODE.findall(cell)]


def listed(text: str) -> list[str]:
    """Return the code words in the first column of the first table."""
    return words(row[0] for row in first_table(text))


def blocks(*languages: str) -> list[tuple[str, str, str]]:
    """Return (page, language, text) of every block in these languages."""
    found = [(name, match) for name in PAGES for match in _BLOCK.finditer(page(name))]
    return [
        (name, match["language"], match["text"]) for name, match in found if match["language"] in languages
    ]


def files(name: str) -> dict[str, str]:
    """Return the files that a page's blocks give, by path."""
    given = [
        (_FILE.match(text), text) for where, _, text in blocks("python", "html", "css", "js") if where == name
    ]
    return {match[1]: text for match, text in given if match}


def payloads() -> dict[str, list[str]]:
    """Return the members of every event kind's payload; one that is not always there ends with ``?``."""
    rows = first_table(section(page("sessions"), "## Events"))
    return {words([kind])[0]: words([members]) for kind, members, _ in rows}
