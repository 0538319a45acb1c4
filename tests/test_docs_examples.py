"""The examples of the documentation: the Python runs, the page works in a browser, the JSON is what is sent."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from werkzeug.serving import make_server

import flask_litro_agent
from flask_litro_agent import events, strict_json
from tests.doc_pages import PAGES, blocks, files, payloads

pytest_plugins = ["tests.browser"]

APP = """
from flask import Flask
from flask_litro_agent import LitroAgent

def create_app(config=None):
    app = Flask(__name__)
    app.config.update(SECRET_KEY="for tests", **(config or {}))
    LitroAgent(app)
    return app
"""
TURN = """
from app import create_app
from flask_litro_agent.testing import AgentClient

def test_every_agent_answers(tmp_path):
    app = create_app({"LITRO_FILE_PATH": str(tmp_path)})
    for name in app.extensions["litro_agent"].agents:
        assert AgentClient(app, name).send("Hello there").reason == "finished"
"""


def test_every_event_in_an_example_is_one() -> None:
    documented = payloads()
    lines = [line for _, _, text in blocks("json") for line in text.splitlines() if line.startswith('{"seq"')]
    assert lines
    for line in lines:
        event = events.decode(line.encode())
        assert events.encode(event.seq, event.ts, event.kind, event.payload) == f"{line}\n".encode()
        assert set(event.payload) <= {name.rstrip("?") for name in documented[event.kind]}


def test_every_json_example_is_json() -> None:
    for _, _, text in blocks("json"):
        for line in text.splitlines():
            strict_json.decode(line)


@pytest.mark.parametrize("name", sorted({where for where, _, _ in blocks("python")}))
def test_every_python_example_compiles_and_imports_what_there_is(name: str) -> None:
    for _, _, text in (block for block in blocks("python") if block[0] == name):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flask_litro_agent"):
                module = importlib.import_module(str(node.module))
                assert {alias.name for alias in node.names} <= set(dir(module)) | set(
                    flask_litro_agent.__all__
                )


@pytest.mark.parametrize("name", [name for name in PAGES if files(name)])
def test_the_examples_of_a_page_run(name: str, tmp_path: Path) -> None:
    given = files(name)
    given.setdefault("app.py", APP)
    if not any(path.startswith("tests/") for path in given):
        given["tests/test_turn.py"] = TURN
    write(tmp_path, given)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        ".",
        "tests",
    ]
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "LITRO_"))
    }
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture
def quickstart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the site of the quickstart; give its address."""
    write(tmp_path, files("quickstart"))
    spec = importlib.util.spec_from_file_location("quickstart_app", tmp_path / "app.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # Flask looks there for the app's folder
    spec.loader.exec_module(module)
    app = module.create_app({"LITRO_FILE_PATH": str(tmp_path / "sessions")})
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.browser
def test_the_page_of_the_quickstart_shows_the_session_again_after_a_reload(
    page: Page, quickstart: str
) -> None:
    answer = "> What is the weather?\n[get_weather]\nIt is sunny in Lisbon, 21 °C."
    page.goto(quickstart)
    page.click("button")
    expect(page.locator("#log")).to_contain_text("It is")
    page.reload()
    expect(page.locator("#log")).to_have_text(answer)


def write(folder: Path, given: Mapping[str, str]) -> None:
    for path, text in given.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
