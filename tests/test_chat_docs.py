"""docs/chat.md names what the element has, no more and no less; and the element is as small as it says."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from tests.client_files import STATIC
from tests.doc_pages import listed, page, section, tables, words

CHAT = page("chat")
ELEMENT = (STATIC / "chat.js").read_text()
PARTS = {path: path.read_text() for path in sorted((STATIC / "chat").glob("*.js"))}
SOURCES = ELEMENT + "".join(PARTS.values())
SHEET = (STATIC / "chat" / "chat.css").read_text()
CLIENT = [STATIC / name for name in ("base.js", "connection.js", "hydrate.js", "litro.js", "trusted.js")]


def parts() -> set[str]:
    """Every part that an element is made with."""
    made = re.findall(r'\b(?:element|unseen)\(\s*"\w+",\s*"([a-z -]+)"', SOURCES)
    buttons = re.findall(r'"(button [a-z -]+)"', SOURCES)
    return {name for names in [*made, *buttons] for name in names.split()}


def test_every_attribute() -> None:
    read = set(re.findall(r'[gh](?:et|as)Attribute\("([\w-]+)"\)', ELEMENT))
    observed = re.search(r"observedAttributes = \[([^\]]+)\]", ELEMENT)
    assert observed
    assert set(listed(section(CHAT, "## Attributes"))) == read | set(re.findall(r'"(\w+)"', observed[1]))


def test_every_property_and_method() -> None:
    public = set(re.findall(r"^  (?:async )?(?:get |set )?([a-z]\w*)\(.*\) \{$", ELEMENT, re.MULTILINE))
    life = {"connectedCallback", "disconnectedCallback", "attributeChangedCallback"}
    assert set(listed(section(CHAT, "## Properties and methods"))) == public - life


def test_every_slot() -> None:
    assert set(listed(section(CHAT, "## Slots"))) == set(re.findall(r'\bslot\("(\w+)"', SOURCES))


def test_every_event() -> None:
    told = {f"litro:{name}" for name in re.findall(r'this\.#tell\("([\w-]+)"', ELEMENT)}
    told |= set(re.findall(r'CustomEvent\("(litro:[\w-]+)"', SOURCES))
    assert set(listed(section(CHAT, "## Events"))) == told


def test_every_part_and_custom_property() -> None:
    properties, named = (words(row[0] for row in rows) for rows in tables(section(CHAT, "## Theming")))
    assert set(properties) == set(re.findall(r"var\((--litro-[\w-]+)", SHEET))
    assert set(named) == parts()


def test_every_part_of_the_sheet_is_made() -> None:
    assert set(re.findall(r'part~="([\w-]+)"', SHEET)) <= parts()


def test_every_message() -> None:
    catalogue = PARTS[STATIC / "chat" / "messages.js"].split("export const GERMAN")[0]
    keys = set(re.findall(r'^  "?([\w:-]+)"?: ', catalogue, re.MULTILINE))
    assert set(listed(section(CHAT, "## Words"))) == keys
    said = set(re.findall(r'\bsay\("([\w:-]+)"', SOURCES))
    assert said <= keys
    whole = {key for key in keys if ":" not in key}
    computed = {"unreadable", "input", "regenerate", "retry", "waiting", "offline", "before", "after"}
    assert whole <= said | computed


def without_comments(text: str) -> str:
    text = re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\n\s+", "\n", re.sub(r"(?m)(^|\s)// .*$", "", text))


def files() -> Iterator[Path]:
    yield STATIC / "chat.js"
    yield from PARTS
    yield STATIC / "chat" / "chat.css"
    yield from CLIENT


def test_the_element_and_the_client_are_smaller_than_25_kb() -> None:
    joined = "".join(without_comments(path.read_text()) for path in files())
    assert len(gzip.compress(joined.encode(), 9)) < 25_000
    as_they_are = sum(len(gzip.compress(path.read_bytes(), 9)) for path in files())
    assert as_they_are < 38_000


def test_the_element_imports_nothing_but_its_own_files() -> None:
    imported = re.findall(
        r'from "([^"]+)"|import\("([^"]+)"\)',
        "".join(path.read_text() for path in files() if path.suffix == ".js"),
    )
    assert all(name.startswith((".", "./", "../")) for names in imported for name in names if name)
