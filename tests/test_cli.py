"""``flask litro``: every command by click's runner, and as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from flask_litro_agent.cli import litro_commands
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.terminal import TERMINAL_VISITOR
from flask_litro_agent.testing.stores import make_entries
from tests.site.app import create_app

ROOT = Path(__file__).parent.parent


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("SITE_INSTANCE", str(tmp_path))
    return create_app({"LITRO_HOSTS": ["localhost"], "SECRET_KEY": "long enough for the doctor"})


@pytest.fixture
def litro(app):
    """Return ``run(*arguments)``, which runs ``flask litro`` in this process."""
    runner = app.test_cli_runner()
    return lambda *arguments, **options: runner.invoke(args=["litro", *arguments], **options)


@pytest.fixture
def process(tmp_path):
    """Return ``run(*arguments)``, which runs ``flask --app tests.site.app litro`` as a process."""
    environment = os.environ | {
        "SITE_INSTANCE": str(tmp_path),
        "SITE_LITRO_HOSTS": '["localhost"]',
        "SITE_SECRET_KEY": "long enough for the doctor",
        "PYTHONWARNINGS": "error",
    }

    def run(*arguments, given=b""):
        command = [sys.executable, "-m", "flask", "--app", "tests.site.app", "litro", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, input=given, capture_output=True, timeout=120, check=False
        )

    return run


def rounds(*steps):
    return json.dumps(steps)


def stored(app, session, owner=TERMINAL_VISITOR.id):
    store = app.extensions[EXTENSION].store
    return [entry.line for entry in store.read(SessionKey("desk", owner, session))]


@pytest.fixture
def tool_count(app):
    return len(app.extensions[EXTENSION].agents["desk"].tools)


def test_agents_are_listed(litro, tool_count):
    assert litro("agents").output == f"desk  Desk  puppet  {tool_count} tools\n"


def test_agents_are_listed_as_json(litro, tool_count):
    (agent,) = json.loads(litro("agents", "--json").output)
    assert agent == {
        "name": "desk",
        "title": "Desk",
        "model": "puppet",
        "tools": tool_count,
        "suggestions": ["hello"],
    }


def test_tools_are_listed_with_what_they_need(litro):
    lines = litro("tools", "desk").output.splitlines()
    assert "desk.secret  read  secrets:read  secret for tests." in lines
    assert "desk.echo  read  PUBLIC  echo for tests." in lines


def test_tools_of_all_agents_are_listed_as_json(litro):
    tools = json.loads(litro("tools", "--json").output)
    assert {tool["agent"] for tool in tools} == {"desk"}
    assert {"name", "mode", "permission", "description"} < set(tools[0])


def test_a_text_is_said_and_the_answer_shown(litro):
    shown = litro("chat", "desk", "good morning")
    assert (shown.output.strip(), shown.exit_code) == ("good morning", 0)


def test_calls_progress_and_results_are_shown_in_their_order(litro):
    shown = litro(
        "chat", "desk", rounds([["say", "let me see"], ["call", "count", {"to": 2}]], [["say", "two"]])
    )
    lines = [line.rstrip() for line in shown.output.splitlines()]
    assert lines == ["let me see", '→ count {"to": 2}', "  … 0", "  … 1", "← 2", "two"]


def test_a_refused_call_shows_its_code_and_sentence(litro):
    shown = litro("chat", "desk", rounds([["call", "secret", {}]], [["say", "sorry"]]))
    assert "← forbidden: this person may not use secret" in shown.output


def test_an_actor_brings_his_permissions(litro):
    shown = litro("chat", "desk", "--as", "ann", rounds([["call", "secret", {}]], [["say", "there"]]))
    assert '← {"who": "ann"}' in shown.output


def test_a_turn_that_fails_says_why_and_exits_with_1(litro):
    shown = litro("chat", "desk", rounds([["error", "quota", False]]))
    assert shown.exit_code == 1
    assert "error (quota): upstream says quota\nthe turn ended: failed\n" in shown.output


def test_a_session_is_continued(app, litro):
    litro("chat", "desk", "--session", "s1", "one")
    first = stored(app, "s1")
    litro("chat", "desk", "--session", "s1", "two")
    assert stored(app, "s1")[: len(first)] == first
    assert len(stored(app, "s1")) == 2 * len(first)


def test_without_a_session_each_text_begins_a_new_one(litro):
    litro("chat", "desk", "one"), litro("chat", "desk", "two")
    assert len(json.loads(litro("sessions", "--json").output)) == 2


def test_lines_of_standard_input_are_said_one_after_another(litro):
    shown = litro("chat", "desk", "--session", "s1", input="one\n\n  \ntwo\n")
    head, *answers = [line.strip() for line in shown.output.splitlines()]
    assert head == "Desk · puppet · session s1 · Ctrl-D ends"
    assert answers == ["one", "two"]
    assert shown.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chat", "nobody", "hi"], "Error: no agent named 'nobody'; there is: desk\n"),
        (["tools", "nobody"], "Error: no agent named 'nobody'; there is: desk\n"),
        (
            ["chat", "desk", "hi", "--as", "eve"],
            "Error: the site's actor_loader knows nobody with the id 'eve'\n",
        ),
        (
            ["chat", "desk", "hi", "--session", "../x"],
            "Error: a session id has 1 to 64 of the characters A-Z a-z",
        ),
        (
            ["chat", "desk", "hi", "--session", ""],
            "Error: a session id has 1 to 64 of the characters A-Z a-z",
        ),
        (["chat", "desk", "  "], "Error: the text is empty\n"),
        (["chat", "desk", "\udcff"], "Error: the text is not UTF-8\n"),
        (["chat", "desk", "a\x00b"], "Error: not accepted: a NUL character in a string\n"),
        (["replay", "desk", "s9"], "Error: no session 's9' of agent 'desk' belongs to 'visitor:terminal-"),
        (["replay", "desk", "s9", "--owner", "\udcff"], "Error: "),
    ],
)
def test_what_cannot_be_is_one_sentence(litro, arguments, sentence):
    shown = litro(*arguments)
    assert shown.exit_code == 1
    assert shown.output.startswith(sentence)
    assert shown.output.count("\n") == 1


def test_a_session_in_which_a_turn_runs_is_busy(app, litro):
    store = app.extensions[EXTENSION].store
    lease = store.acquire(SessionKey("desk", TERMINAL_VISITOR.id, "s1"), 30.0, "t1")
    try:
        shown = litro("chat", "desk", "--session", "s1", "hi")
    finally:
        store.release(lease)
    assert (shown.output, shown.exit_code) == ("Error: a turn is running in this session: t1\n", 1)


def test_a_deleted_session_is_gone(app, litro):
    litro("chat", "desk", "--session", "s1", "one")
    app.extensions[EXTENSION].runner.delete(SessionKey("desk", TERMINAL_VISITOR.id, "s1"))
    assert litro("replay", "desk", "s1").output.startswith("Error: no session 's1'")
    assert litro("chat", "desk", "--session", "s1", "two").output == "Error: there is no such session\n"


def test_sessions_are_listed_newest_first(litro):
    for session in ("s1", "s2"):
        litro("chat", "desk", "--session", session, "hi")
    litro("chat", "desk", "--as", "ann", "--session", "hers", "hi")
    assert [row["id"] for row in json.loads(litro("sessions", "--json").output)] == ["s2", "s1"]
    assert litro("sessions", "--owner", "ann").output.startswith("desk  hers  updated ")


def test_every_page_of_sessions_is_listed(app, litro):
    store = app.extensions[EXTENSION].store
    for number in range(60):
        lease = store.acquire(SessionKey("desk", TERMINAL_VISITOR.id, f"s{number}"), 30.0)
        store.append(lease.key, make_entries(1), lease)
        store.release(lease)
    assert len(json.loads(litro("sessions", "--json", "--agent", "desk").output)) == 60
    assert json.loads(litro("sessions", "--json", "--agent", "other").output) == []


def test_replay_prints_the_stored_bytes(app, process):
    said = process("chat", "desk", "--session", "s1", "Grüße\u2028aus Köln ✓")
    assert said.returncode == 0, said.stderr
    replayed = process("replay", "desk", "s1")
    assert replayed.stdout == b"".join(stored(app, "s1"))
    assert replayed.stdout.count(b"\n") == len(stored(app, "s1"))


def test_the_report_is_printed(litro, tool_count):
    assert litro("report").output.splitlines()[:2] == [
        "flask-litro-agent",
        f"  agents:    desk: puppet, {tool_count} tools, access checked",
    ]


def test_the_report_is_printed_as_json(litro):
    report = json.loads(litro("report", "--json").output)
    assert report["store"] == ["file"]
    assert report["warnings"] == []


def test_the_doctor_prints_its_findings(litro):
    shown = litro("doctor")
    assert "ok   SECRET_KEY is set" in shown.output.splitlines()
    assert shown.exit_code == 0


def test_the_doctor_exits_with_1_when_something_is_unsafe(app, litro):
    app.secret_key = None
    findings = json.loads((shown := litro("doctor", "--json")).output)
    assert {"level", "message"} == set(findings[0])
    assert shown.exit_code == 1


def test_a_process_talks_with_standard_input_and_leaves_nothing_on_standard_error(process):
    done = process("chat", "desk", given=b"one\ntwo\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [line.strip() for line in done.stdout.decode().splitlines()][1:] == ["one", "two"]


@pytest.mark.parametrize("arguments", [["chat", "desk", b"\xff"], ["chat", "desk"]])
def test_bytes_that_are_no_text_are_one_sentence_of_a_process(process, arguments):
    done = process(*arguments, given=b"\xff\n")
    assert done.returncode == 1
    assert done.stderr == b"Error: the text is not UTF-8\n"


def test_every_command_says_what_it_does_in_a_sentence(app):
    commands = litro_commands()
    context = click.Context(commands)
    for name in commands.list_commands(context):
        help_text = commands.get_command(context, name).help
        assert help_text.strip().endswith("."), name
    about_ledger = "proposals dismiss ceiling prune audit db"
    names = f"chat agents tools sessions replay report doctor token {about_ledger}"
    assert commands.list_commands(context) == sorted(names.split())
