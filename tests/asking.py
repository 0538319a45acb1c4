"""Asking the test site over HTTP: its app with a log of its own, a message as rounds, a stream as events."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

from tests.site.app import create_app

ROUTE = "/__litro/agent/desk"
HEADER = {"X-Litro-Agent": "1"}


def site(tmp_path, **config):
    """Return the test site with its sessions under ``tmp_path``."""
    return create_app({"LITRO_FILE_PATH": str(tmp_path / "sessions"), "LITRO_FSYNC": "never", **config})


def rounds(*steps):
    """Return the text that makes the model answer with these rounds."""
    return json.dumps([*steps, [["say", "done"]]])


def post(client, text="hello", *, session="s1", agent="desk", actor="ann", headers=None, **options):
    """Start a turn and return the response; its body is read to the end when it is asked for."""
    signed = {**HEADER, **({"X-Actor": actor} if actor else {}), **(headers or {})}
    return client.post(f"/__litro/agent/{agent}/{session}", json={"text": text}, headers=signed, **options)


def get(client, *, session="s1", agent="desk", actor="ann", query="", headers=None):
    """Read a session from the start."""
    signed = {**({"X-Actor": actor} if actor else {}), **(headers or {})}
    return client.get(f"/__litro/agent/{agent}/{session}{query}", headers=signed)


def delete(client, *, session="s1", agent="desk", actor="ann", turn=None, headers=None):
    """Delete a session, or stop one of its turns."""
    signed = {**HEADER, **({"X-Actor": actor} if actor else {}), **(headers or {})}
    path = f"/__litro/agent/{agent}/{session}" + (f"/turn/{turn}" if turn else "")
    return client.delete(path, headers=signed)


def events(response):
    """Return the events of a stream, without the blank lines."""
    return [json.loads(line) for line in response.data.split(b"\n") if line]


def kinds(response):
    return [event["kind"] for event in events(response)]


def store_of(app):
    return app.extensions["litro_agent"].store


def on_disk(tmp_path):
    """Return the session logs that the store has, by path."""
    return {path: path.read_bytes() for path in (tmp_path / "sessions").rglob("*.jsonl")}


def eventually(claim, seconds=20.0):
    """Wait until the claim is true; fail when it never becomes so."""
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


@contextmanager
def running(client, *, session="s1", actor="ann", seconds=30):
    """Hold a turn in flight for the block; give its id and stop it afterwards."""
    response = post(client, rounds([["sleep", seconds]]), session=session, actor=actor)
    assert response.status_code == 200, response.data
    turn_id = response.headers["Litro-Turn"]
    try:
        yield turn_id
    finally:
        delete(client, session=session, actor=actor, turn=turn_id)
        response.get_data()
        response.close()


def write_agent(folder, name, *, access="", head=""):
    """Write an agent whose model answers "hello", and whose ``access`` has this body."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "agent.py").write_text(
        "from flask_litro_agent import Agent, scripted\n"
        f"{head}\n"
        'agent = Agent(model=scripted(lambda request, turn: "hello"))\n'
        + (f"def access():\n    {access}\n" if access else "")
    )
