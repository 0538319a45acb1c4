"""A real ``flask run --debug``: changes in the agents folder take effect without a restart by hand."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_litro_agent.agent_files import watch_folder
from tests.agent_files.samples import TOOL, Write, agent_with

pytestmark = pytest.mark.server

SITE = """
import os
from pathlib import Path

from flask import Flask

from flask_litro_agent.agent_files import find_folder, load_agents, watch_folder


def create_app():
    app = Flask(__name__)
    folder = find_folder(app, None)
    if "UNWATCHED" not in os.environ:
        watch_folder(app, folder, seconds=0.2)
    loaded = load_agents(folder)

    @app.get("/")
    def show():
        return {
            name: {
                "title": agent.title,
                "prompt": agent.system_prompt(),
                "tools": {name: tool.function({}, None) for name, tool in agent.tools.items()},
                "process": os.getpid(),
            }
            for name, agent in loaded.agents.items()
        }

    return app
"""

DEADLINE = 30.0


class Site:
    """The site under Flask's reloader; ``log`` is all that it printed."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._log = folder / "flask.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flask", "--app", "site_app", "run", "--debug", "--port", "0"],
                cwd=folder,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def demo(self) -> dict[str, Any]:
        """Return what the site shows of its agent now, or nothing while it is not there."""
        address = re.search(r"Running on http://([\d.:]+)", self.log)
        if not address:
            return {}
        connection = http.client.HTTPConnection(address[1], timeout=10)
        try:
            connection.request("GET", "/")
            response = connection.getresponse()
            shown: dict[str, Any] = json.load(response)["demo"] if response.status == 200 else {}
        except (OSError, http.client.HTTPException):
            return {}
        finally:
            connection.close()
        return shown

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask until it holds; fail with the log at the deadline."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if (shown := self.demo()) and holds(shown):
                return shown
            time.sleep(0.05)
        pytest.fail(f"it did not hold within {DEADLINE} s:\n{self.log}")

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def run(demo: Path) -> Iterator[Callable[..., Site]]:
    """Start the site over the sound agents folder; end it afterwards."""
    (demo.parent / "site_app.py").write_text(SITE)
    running: list[Site] = []

    def run(**environment: str) -> Site:
        running.append(Site(demo.parent, **environment))
        return running[-1]

    yield run
    for site in running:
        site.end()


def test_edits_of_tools_agents_and_instructions_take_effect(run: Callable[..., Site], write: Write) -> None:
    site = run()
    first = site.until(lambda demo: demo["tools"] == {"get_weather": "sunny"})

    write("demo/instructions.md", "Be brief.")
    assert site.demo() == {**first, "prompt": "Be brief."}, "without a restart, at the next request"

    write("demo/tools/added.py", TOOL.replace("sunny", "a new tool"))
    second = site.until(lambda demo: "added" in demo["tools"])
    assert second["tools"] == {"added": "a new tool", "get_weather": "sunny"}

    write("demo/tools/get_weather.py", TOOL.replace("sunny", "rain and wind"))
    site.until(lambda demo: demo["tools"]["get_weather"] == "rain and wind")

    write("demo/agent.py", agent_with('title="Concierge"'))
    site.until(lambda demo: demo["title"] == "Concierge")


def test_a_broken_folder_is_mended_without_a_restart_by_hand(run: Callable[..., Site], write: Write) -> None:
    site = run()
    site.until(lambda demo: demo["title"] == "demo")
    write("demo/tools/added.py", "no tool at all")
    deadline = time.monotonic() + DEADLINE
    while "agents/demo/tools/added.py:1: syntax error" not in site.log:
        assert time.monotonic() < deadline, site.log
        time.sleep(0.05)
    write("demo/tools/added.py", TOOL.replace("sunny", "mended"))
    site.until(lambda demo: demo["tools"].get("added") == "mended")


@pytest.mark.parametrize(("debug", "reloader"), [(True, ""), (False, "true"), (False, "")])
def test_nothing_is_watched_outside_of_the_debug_reloader(
    demo: Path, monkeypatch: pytest.MonkeyPatch, debug: bool, reloader: str
) -> None:
    monkeypatch.setenv("WERKZEUG_RUN_MAIN", reloader)
    app = Flask("site")
    app.debug = debug
    threads = threading.enumerate()
    watch_folder(app, demo)
    assert threading.enumerate() == threads


def test_without_the_watch_a_new_file_is_not_seen(run: Callable[..., Site], write: Write) -> None:
    """The control: the reloader alone restarts for an edit, not for a file that it never saw."""
    site = run(UNWATCHED="1")
    first = site.until(lambda demo: demo["title"] == "demo")
    write("demo/tools/added.py", TOOL)
    time.sleep(2.5)  # more than two looks of the reloader
    assert site.demo() == first
    write("demo/agent.py", agent_with('title="Concierge"'))
    assert "added" in site.until(lambda demo: demo["title"] == "Concierge")["tools"]
