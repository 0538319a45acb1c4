"""An agents folder in a temporary place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_files.samples import AGENT, TOOL, Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file below ``agents/`` and returns the folder ``agents``."""

    def write(name: str, text: str | bytes = "") -> Path:
        path = tmp_path / "agents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "agents"

    return write


@pytest.fixture
def demo(write: Write) -> Path:
    """An agents folder with one sound agent that has one tool."""
    write("demo/agent.py", AGENT)
    return write("demo/tools/get_weather.py", TOOL)
