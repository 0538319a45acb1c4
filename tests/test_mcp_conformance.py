"""The official conformance suite of MCP, in both revisions: what applies passes, what does not is listed with why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import node
from tests.mcp_everything import open_server

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
EXCEPTIONS = Path(__file__).with_name("mcp_conformance.yaml")
#: What must pass whatever the list of exceptions says.
WHOLE = {
    "2026-07-28": (
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "tools-call-with-progress",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "http-header-validation",
        "http-custom-header-server-validation",
        "input-required-result-unsupported-methods",
    ),
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "tools-call-with-progress",
        "json-schema-2020-12",
        "dns-rebinding-protection",
    ),
}


@pytest.mark.server
@pytest.mark.parametrize("revision", WHOLE)
def test_every_scenario_that_applies_passes(revision: str, tmp_path: Path) -> None:
    with open_server(tmp_path / "site") as url:
        options = ("--suite", "all", "--spec-version", revision, "--expected-failures", str(EXCEPTIONS))
        ran = node.run(SUITE, "server", "--url", url, *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr
    passed = set(re.findall(r"^✓ ([\w-]+): ", ran.stdout, re.MULTILINE))
    assert set(WHOLE[revision]) <= passed
