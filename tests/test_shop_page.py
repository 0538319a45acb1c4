"""The page about the demo's tool kit has every tool of the assistant, with its permission, its mode, and for whom."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from flask import Flask

from example_app import create_app
from example_app.identity import PERMISSIONS
from flask_litro_agent import Actor
from tests.doc_pages import first_table, page, section, words

ROOT = Path(__file__).parent.parent
READING = section(page("shop"), "## Tools that read")
CHANGING = section(page("shop"), "## Tools that change something")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory):
    app: Flask = create_app({"SHOP_DATA": tmp_path_factory.mktemp("site"), "TESTING": True})
    return app.extensions["litro_agent"].agents["assistant"].tools


def names(part: str) -> list[str]:
    return words(row[0] for row in first_table(part))


def test_every_tool_stands_in_its_table_once(tools):
    reads = sorted(name for name, tool in tools.items() if tool.facts.mode == "read")
    assert sorted(names(READING)) == reads
    assert sorted(names(CHANGING)) == sorted(set(tools) - set(reads))


@pytest.mark.parametrize("part", [READING, CHANGING], ids=["read", "change"])
def test_every_row_says_the_permission_of_its_tool_and_who_holds_it(tools, part):
    support = Actor("account:2", "Sam Ritter", PERMISSIONS["support"])
    for row in first_table(part):
        needed = tools[words(row)[0]].facts.permission
        assert words([row[2]]) == [needed or "PUBLIC"], row
        everybody = needed is None or support.may(needed)
        assert row[-1] == ("support, operator" if everybody else "operator"), row


def test_every_changing_tool_says_its_mode(tools):
    for row in first_table(CHANGING):
        assert row[3] == tools[words(row)[0]].facts.mode, row


def test_every_changing_tool_says_whether_it_can_be_taken_back(tools):
    for row in first_table(CHANGING):
        named = None if row[4] == "none" else tools[words([row[4]])[0]]
        assert (named is None) == (tools[words(row)[0]].inverse is None), row


def test_every_row_says_something():
    for row in [*first_table(READING), *first_table(CHANGING)]:
        assert len(row[1].split()) >= 4, row


def test_what_the_page_says_about_the_files_is_there():
    for path in (
        "agents/assistant/tools",
        "agents/assistant/script/answers",
        "example_app/assistant",
        "example_app/seed",
    ):
        assert (ROOT / path).is_dir(), path
    asked = tomllib.loads((ROOT / "agents/assistant/script/lookups.toml").read_text("utf-8"))
    assert set(asked) <= set(names(READING))
