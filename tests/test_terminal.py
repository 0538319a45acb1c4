"""An agent in the terminal: what is shown, and Ctrl-C, which stops the turn and not the program."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.terminal import TERMINAL_VISITOR, say
from tests.proposal_site import EVE, proposal_site
from tests.site.app import create_app

ROOT = Path(__file__).parent.parent
SECONDS = 30.0
LONG = json.dumps([[["say", "begin " + "word " * 5000, 0.02]]])


@pytest.fixture
def shown(tmp_path, monkeypatch, capsys):
    """Return ``run(*rounds) -> (what the terminal shows, how the turn ended)``."""
    monkeypatch.setenv("SITE_INSTANCE", str(tmp_path))
    installed = create_app().extensions["litro_agent"]
    key = SessionKey("desk", TERMINAL_VISITOR.id, "s1")

    def run(*rounds):
        reason = say(installed, key, TERMINAL_VISITOR, json.dumps(rounds))
        return capsys.readouterr().out, reason

    return run


def test_control_characters_are_stripped(shown):
    text, _ = shown([["say", "a\x1b[2Jb\x07\r\x9bc\u202ed\u2028e\tf\ng"]])
    assert text.strip() == "a[2Jbcde\tf\ng"


def test_control_characters_of_arguments_results_and_errors_are_stripped(shown):
    text, _ = shown(
        [["call", "echo", {"text": "\x1b[31m\x9b"}]], [["call", "bad\x1bname", {}]], [["say", "done"]]
    )
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "→ badname" in text


def test_a_proposal_is_shown_as_waiting_and_its_end_as_what_it_was(tmp_path, capsys):
    app = proposal_site(tmp_path)
    installed, key = app.extensions["litro_agent"], SessionKey("desk", "eve", "s1")
    say(installed, key, EVE, json.dumps([[["call", "refund", {"order": 7}]], [["say", "done"]]]))
    (proposal_id,) = re.findall(
        r"← waits for approval: refund\(order: 7\) \((\w+)\)", capsys.readouterr().out
    )
    proposal = installed.books.ledger.get(proposal_id)
    installed.books.ledger.dismiss(proposal_id, proposal.digest, operator_id="ops", note=None)
    say(installed, key, EVE, json.dumps([[["say", "hello"]]]))
    assert f"proposal {proposal_id}: dismissed" in capsys.readouterr().out


def test_letters_and_spaces_of_every_script_are_kept(shown):
    text, _ = shown([["say", "10\u00a0€ für 山田\u3000さん"]])
    assert text.strip() == "10\u00a0€ für 山田\u3000さん"


def test_reasoning_and_the_answer_have_lines_of_their_own(shown):
    text, _ = shown([["think", "what is asked?"], ["say", "Hello"]])
    assert [line.strip() for line in text.splitlines()] == ["what is asked?", "Hello"]


def test_a_long_value_is_cut(shown):
    text, _ = shown([["call", "echo", {"text": "x" * 1000}]], [["say", "done"]])
    called, answered, _ = text.splitlines()
    assert called.endswith("x…")
    assert len(called) < 250
    assert answered.startswith("← ")


def test_a_component_is_shown_as_its_text(shown):
    text, _ = shown([["call", "card", {}]], [["say", "there"]])
    assert "│ city: Lisbon\n" in text
    assert "canary-html" not in text


def test_how_the_turn_ended_is_returned_and_shown_unless_it_finished(shown):
    assert shown([["say", "fine"]]) == ("fine \n", "finished")
    text, reason = shown([["error", "server", False]])
    assert reason == "failed"
    assert text.endswith("the turn ended: failed\n")


class Terminal:
    """A ``flask litro chat`` on a terminal of its own, which does not echo."""

    def __init__(self, folder, *arguments):
        ours, theirs = pty.openpty()
        mode = termios.tcgetattr(theirs)
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, mode)
        environment = os.environ | {"SITE_INSTANCE": str(folder), "SITE_LITRO_HOSTS": '["localhost"]'}
        command = [
            sys.executable,
            "-m",
            "flask",
            "--app",
            "tests.site.app",
            "litro",
            "chat",
            "desk",
            *arguments,
        ]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._file = ours
        self._text = ""

    def expect(self, pattern):
        """Read until the pattern is there; return everything up to it, and go on behind it."""
        until = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self._text)):
            assert time.monotonic() < until, f"{pattern!r} is not in {self._text[-500:]!r}"
            if select.select([self._file], [], [], 0.1)[0]:
                self._text += os.read(self._file, 65536).decode().replace("\r", "")
        before, self._text = self._text[: found.end()], self._text[found.end() :]
        return before

    def type(self, text):
        os.write(self._file, text.encode())

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def sleeps(self):
        """Wait until the program waits for its input: a signal before that is heard only with the next line."""
        until = time.monotonic() + SECONDS
        stat = Path(f"/proc/{self.process.pid}/stat")
        while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < until, "it never waits"
            time.sleep(0.01)

    def ended(self):
        """Return the exit status, reading what is still written."""
        until = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < until, f"it goes on: {self._text[-500:]!r}"
            self._drain()
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=SECONDS)
        os.close(self._file)

    def _drain(self):
        try:
            if select.select([self._file], [], [], 0.1)[0]:
                self._text += os.read(self._file, 65536).decode()
        except OSError:  # a terminal whose program has ended
            time.sleep(0.02)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(*arguments):
        opened.append(Terminal(tmp_path, "--session", "s1", *arguments))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def turn_ends(folder):
    store = FileStore(folder / "litro" / "sessions")
    key = SessionKey("desk", TERMINAL_VISITOR.id, "s1")
    entries = store.read(key, kinds=frozenset({events.TURN_END}))
    return [events.decode(entry.line).payload["reason"] for entry in entries]


@pytest.mark.server
def test_ctrl_c_stops_the_turn_and_the_conversation_goes_on(terminal, tmp_path):
    chat = terminal()
    chat.expect("Ctrl-D ends.*\n.*> ")
    for _ in range(2):
        chat.type(LONG[:3000] + '", 0.02]]]\n')
        chat.expect("begin word word")
        chat.interrupt()
        chat.expect("the turn ended: stopped")
        chat.expect("> ")
    chat.type("still there?\n")
    chat.expect("still there?")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.ended() == 0
    assert turn_ends(tmp_path) == ["stopped", "stopped", "finished"]


@pytest.mark.server
def test_ctrl_c_at_the_prompt_changes_nothing(terminal):
    chat = terminal()
    chat.expect("> ")
    chat.sleeps()
    chat.interrupt()
    chat.expect("> ")
    chat.type("still there?\n")
    chat.expect("still there?")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.ended() == 0


@pytest.mark.server
def test_ctrl_c_stops_a_single_text_and_exits_with_1(terminal, tmp_path):
    chat = terminal(LONG)
    chat.expect("begin word word")
    chat.interrupt()
    chat.expect("the turn ended: stopped")
    assert chat.ended() == 1
    assert turn_ends(tmp_path) == ["stopped"]


@pytest.mark.server
def test_ctrl_c_leaves_a_tool_that_hangs_behind(terminal, tmp_path):
    chat = terminal(json.dumps([[["call", "forever", {}]], [["say", "never"]]]))
    chat.expect("… 1")
    chat.interrupt()
    chat.expect("← failed: forever was left behind: the turn was stopped")
    assert chat.ended() == 1
    assert turn_ends(tmp_path) == ["stopped"]
