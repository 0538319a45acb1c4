"""The start-up report: one readable block, with everything in it that an operator asks about."""

from __future__ import annotations

import pytest

from flask_litro_agent import LitroAgent
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.report import Report
from tests.small_site import new_app, write_agent, write_tool


@pytest.fixture
def report(tmp_path):
    write_tool(write_agent(tmp_path, "open"), "stock", permission="'stock:read'")
    guarded = write_agent(tmp_path, "guarded")
    with (guarded / "agent.py").open("a") as source:
        source.write("\ndef access(): abort(401)\n")
    (guarded / "instructions.md").write_text("Be kind.")
    app = new_app(tmp_path, SECRET_KEY=None)
    LitroAgent(app)
    return app.extensions[EXTENSION].report


def lines(report, title):
    return list(dict(report.sections)[title])


def test_each_agent_says_its_model_its_tools_and_who_may_enter(report):
    assert lines(report, "agents") == [
        "guarded: scripted, 0 tools, access checked",
        "open: scripted, 1 tool, open to everybody",
    ]


def test_each_tool_says_its_mode_and_permission(report):
    assert lines(report, "tools") == ["open.stock: read, stock:read"]


def test_the_folder_that_was_found_is_said(report, tmp_path):
    assert lines(report, "folder") == [str(tmp_path / "agents")]


def test_built_in_plugins_are_listed_like_any(report):
    assert "flask_litro_agent.sessions.plugin (built-in) register_session_stores: file" in lines(
        report, "plugins"
    )


def test_a_section_has_its_title_once_and_an_empty_one_is_left_out():
    report = Report(sections=[("agents", ["one", "two"]), ("notes", [])], warnings=["beware"])
    assert str(report).splitlines() == [
        "flask-litro-agent",
        "  agents:    one",
        "             two",
        "  warnings:  beware",
    ]


def test_the_warnings_stand_at_the_end(report):
    assert str(report).splitlines()[-1].startswith("  warnings:  SECRET_KEY is not set")


def test_no_line_of_the_block_is_long_or_odd(report):
    assert all(line.isprintable() and line == line.rstrip() for line in str(report).splitlines())
