"""The MCP endpoint on real servers: the official clients, streams that clients leave, and two of them at once."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import node
from tests.asking import eventually
from tests.mcp_everything import serving
from tests.mcp_site import MODERN, empty, mcp_site, secret_for
from tests.servers import ROOT, until

pytestmark = pytest.mark.server
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
PATH = "/__litro/mcp/desk"
CREATE = ("create", "--actor", "eve", "--agent", "desk", "--json")
EVERY_TOOL = ["count", "echo", "fails", "refund", "say", "show", "stock", "waits"]


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """Return the site, and the address of a server that has it."""
    app = mcp_site(tmp_path_factory.mktemp("site"))
    with serving(app) as address:
        yield app, address


@pytest.fixture
def app(standing):
    empty(standing[0])
    return standing[0]


@pytest.fixture
def address(app, standing):
    return standing[1]


# --- the official clients ---


@pytest.mark.parametrize(("mode", "revision"), [("auto", MODERN), (MODERN, MODERN), ("legacy", "2025-11-25")])
def test_the_official_python_client_sees_what_a_host_needs(app, address, mode, revision):
    command = [sys.executable, "-m", "tests.mcp_sdk_child", address + PATH, secret_for(app), mode]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert (seen["revision"], seen["tools"]) == (revision, EVERY_TOOL)
    assert (seen["stock"], seen["echo"], seen["counted"]) == ({"tea": 7}, {"text": "grün"}, {"counted": True})
    assert [progress for progress, _ in seen["heard"]] == [1, 2, 3]
    assert (seen["refund"]["status"], seen["is_error"]) == ("needs_approval", False)
    assert seen["unknown"] == -32602
    assert ("refund", 1) not in app.extensions["done"]


def test_the_official_inspector_lists_and_calls(app, address, tmp_path):
    header = f"Authorization: Bearer {secret_for(app)}"
    asked = ("--cli", address + PATH, "--transport", "http", "--header", header, "--method")
    listed = node.run(INSPECTOR, *asked, "tools/list", cwd=tmp_path)
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == EVERY_TOOL
    called = node.run(INSPECTOR, *asked, "tools/call", "--tool-name", "stock", cwd=tmp_path)
    assert json.loads(called.stdout)["structuredContent"] == {"tea": 7}


# --- streams ---


class Stream:
    """A call of ``waits`` that is answered by a stream; its first message has come."""

    def __init__(self, address: str, secret: str, *, token: str = "p", request_id: int = 7) -> None:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": token,
        }
        params = {"name": "waits", "arguments": {}, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "waits",
        }
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        self._connection.request("POST", PATH, body=json.dumps(body), headers=headers)
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()
        self.first = self.next()

    def next(self) -> dict:
        while line := self._response.readline():
            if line.startswith(b"data: "):
                return json.loads(line.removeprefix(b"data: "))
        raise AssertionError("the stream ended")

    def leave(self) -> None:
        self._response.close()
        self._connection.close()


def test_closing_the_stream_lets_the_tool_know(app, address):
    stream = Stream(address, secret_for(app))
    assert ("left", "desk") not in app.extensions["done"]
    stream.leave()
    eventually(lambda: ("left", "desk") in app.extensions["done"])


def test_control_a_tool_whose_client_stays_is_not_left(app, address):
    """The tool of the test before would wait for its whole time."""
    stream = Stream(address, secret_for(app))
    with pytest.raises(AssertionError, match="in time"):
        eventually(lambda: ("left", "desk") in app.extensions["done"], seconds=2)
    stream.leave()
    eventually(lambda: ("left", "desk") in app.extensions["done"])


def test_two_clients_with_the_same_request_id_see_their_own_answers_alone(app, address):
    secrets = (secret_for(app), secret_for(app, "ops"))
    one, other = (Stream(address, secret, token=f"token-{secret[-4:]}") for secret in secrets)
    tokens = [stream.first["params"]["progressToken"] for stream in (one, other)]
    assert tokens == [f"token-{secret[-4:]}" for secret in secrets]
    one.leave()
    eventually(lambda: app.extensions["done"].count(("left", "desk")) == 1)
    other.leave()
    eventually(lambda: app.extensions["done"].count(("left", "desk")) == 2)


def test_many_at_once_with_one_id_each_get_their_own_value(app, address):
    secret, found = secret_for(app), {}

    def ask(number: int) -> None:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            **({"progressToken": "same"} if number % 2 else {}),
        }
        params = {"name": "echo", "arguments": {"number": number}, "_meta": meta}
        headers = {
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "echo",
        }
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        connection.request("POST", PATH, body=body, headers=headers)
        text = connection.getresponse().read().decode()
        found[number] = json.loads(re.findall(r"\{.*\}", text)[-1])["result"]["structuredContent"]
        connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: {"number": number} for number in range(12)}


@contextlib.contextmanager
def gunicorn(folder: Path) -> Iterator[str]:
    """Run the site in gunicorn with gevent, and give its address."""
    folder.mkdir()
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-b", "127.0.0.1:0", "-k", "gevent", "tests.mcp_child:app"],
            cwd=ROOT,
            env={**os.environ, "MCP_SITE": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until(lambda: re.search(r"http://127\.0\.0\.1:\d+", log.read_text()), seconds=60)
        yield re.search(r"http://127\.0\.0\.1:\d+", log.read_text())[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()


def test_under_gevent_a_stream_flows_and_is_left(tmp_path):
    with gunicorn(tmp_path / "site") as address:
        made = subprocess.run(
            [*(sys.executable, "-m", "flask", "--app", "tests.mcp_child", "litro", "token"), *CREATE],
            cwd=ROOT,
            env={**os.environ, "MCP_SITE": str(tmp_path / "site")},
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
        secret = json.loads(made.stdout.splitlines()[-1])["secret"]
        stream = Stream(address, secret)
        assert stream.first["params"] == {"progressToken": "p", "progress": 1, "message": "waiting"}
        stream.leave()
        again = Stream(address, secret)
        assert again.first["method"] == "notifications/progress"
        again.leave()
