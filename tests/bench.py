"""A workbench for the tests of gate and turns: one runner on a real file store, the test site's tools, a Puppet.

A turn's script is what ``tests/site/agents/desk/agent.py`` plays: a list of rounds, each a list of steps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import threading
import time
from pathlib import Path

from hypothesis import strategies as st

from flask_litro_agent import events
from flask_litro_agent.agent_files import load_agents
from flask_litro_agent.agents import Agent, LoadedAgent
from flask_litro_agent.contracts import Actor, Rendered, SessionKey
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.installation import tool_spec
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.settings import Settings
from flask_litro_agent.turns.loop import Assignment
from flask_litro_agent.turns.runner import Runner
from flask_litro_agent.turns.tail import HEARTBEAT, Tail
from tests.site.agents.desk.agent import Puppet

ANN = Actor("ann", "Ann", frozenset({"secrets:read"}))
BOB = Actor("bob", "Bob")
SOON = 20.0


@functools.cache
def desk_tools():
    """Return the test site's tools by name."""
    return load_agents(Path(__file__).parent / "site" / "agents").agents["desk"].tools


def render(component):
    """Render ``x-card`` and nothing else, with a canary that no model may see."""
    if component.component != "x-card":
        raise LookupError(component.component)
    return Rendered("<x-card>canary-html</x-card>", {"props": dict(component.props)})


class Bench:
    """One process's turns: a runner, its store and what a turn needs; settings are ``Settings`` fields."""

    def __init__(
        self, store, *, tools=(), policies=None, provider=None, limits=None, endings=None, **settings
    ):
        self.store = FileStore(store, fsync="never") if isinstance(store, Path) else store
        self.settings = Settings(**{"lease_seconds": 15.0, **settings})
        self.runner = Runner(self.store, self.settings, endings=endings)
        self.puppet = provider or Puppet()
        self.tools = {**desk_tools(), **{tool.name: tool for tool in tools}}
        self.limits = dataclasses.replace(self.settings.limits, **(limits or {}))
        policies = [Permissions()] if policies is None else policies
        self.gate = Gate(
            {"desk": self.tools},
            {"desk": self.limits},
            policies,
            around=lambda context: contextlib.nullcontext(),
        )
        agent = Agent(model=self.puppet)
        self.agent = LoadedAgent(name="desk", agent=agent, tools=self.tools, instructions="Be kind.")

    def key(self, session="s1", actor=ANN):
        return SessionKey("desk", actor.id, session)

    def assignment(self, actor=ANN, **changes):
        assignment = Assignment(
            agent=self.agent,
            provider=self.puppet,
            limits=self.limits,
            actor=actor,
            origin="chat",
            gate=self.gate,
            render=render,
            specs=tuple(map(tool_spec, self.tools.values())),
        )
        return dataclasses.replace(assignment, **changes)

    def start(self, *rounds, session="s1", actor=ANN, spawn=None, text=None, **changes):
        """Begin a turn that plays these rounds (or that was asked ``text``)."""
        said = json.dumps(rounds) if text is None else text
        return self.runner.start(
            self.key(session, actor), said, self.assignment(actor, **changes), spawn=spawn
        )

    def run(self, *rounds, **options):
        """Run a whole turn; return its events."""
        live = self.start(*rounds, **options)
        assert live.wait_closed(SOON), "the turn did not end"
        return [event for event in self.events(live.key) if event.seq >= live.first_seq]

    def entries(self, key=None):
        return list(self.store.read(key or self.key()))

    def events(self, key=None):
        return [events.decode(entry.line) for entry in self.entries(key)]

    def log(self, key=None):
        """Return the session's lines as one text."""
        return b"".join(entry.line for entry in self.entries(key))

    def tail(self, key=None, *, after=0, **options):
        """Return a tail of a session; a turn in flight when ``turn_from`` is given, a replay with ``until``."""
        wanted = {
            "live": self.runner.live,
            "longest": SOON,
            "heartbeat": SOON,
            "gone": lambda: False,
            **options,
        }
        return Tail(store=self.store, key=key or self.key(), after=after, **wanted)

    def read_turn(self, live):
        """Return the bytes that the POST response of this turn sends."""
        tail = self.tail(live.key, after=live.first_seq - 1, turn_from=live.first_seq)
        return b"".join(chunk for chunk in tail.chunks() if chunk != HEARTBEAT)


def until(condition, seconds=SOON):
    """Wait until the condition holds and return what it gave; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.005)


def in_background(work):
    """Start a thread and return it with the list that gets its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    return thread, results


def kinds(found):
    return [event.kind for event in found]


def here(work):
    """Run a turn in this thread: ``spawn=here``."""
    work()


def steps():
    """Return a strategy for one step of a model's answer."""
    words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
    calls = st.one_of(
        st.builds(lambda value: ["call", "echo", {"value": value}], words | st.integers() | st.none()),
        st.builds(lambda value: ["call", "quiet", {"value": value}], words),
        st.builds(lambda name: ["call", name, {}], st.sampled_from(["crash", "card", "buried", "polite", "no_tool"])),
        st.builds(lambda to: ["call", "count", {"to": to}], st.integers(0, 3)),
        st.builds(lambda raw: ["raw", "echo", raw], words),
    )  # fmt: skip
    said = st.one_of(
        st.builds(lambda text: ["say", text], words),
        st.builds(lambda text: ["think", text], words),
        st.builds(lambda text: ["state", {"signature": text}], words),
        st.just(["usage", 3, 5]),
    )
    ends = st.sampled_from([["error", "server", False], ["error", "overloaded", True], ["cut"], ["raise"]])
    return st.one_of(said, said, calls, calls, ends)


def scripts(most=3):
    """Return a strategy for the rounds of one turn; the last one makes no call, so that the turn ends."""
    rounds = st.lists(st.lists(steps(), max_size=4), max_size=most)
    return st.builds(lambda first: [*first, [["say", "done"]]], rounds)


def of_kind(found, *wanted):
    return [event.payload for event in found if event.kind in wanted]


def reason(found):
    """Return how a turn ended, having checked that it did so once, at its end."""
    assert kinds(found).count(events.TURN_END) == 1
    assert found[-1].kind == events.TURN_END
    return found[-1].payload["reason"]


def messages_are_valid(messages):
    """Check that every call has its one result in the message that follows it, and that no other result is there."""
    for place, message in enumerate(messages):
        calls = [part.id for part in message.parts if type(part).__name__ == "ToolCall"]
        results = [part.call_id for part in message.parts if type(part).__name__ == "ToolResult"]
        if message.role == "assistant":
            follows = messages[place + 1] if place + 1 < len(messages) else None
            answered = [part.call_id for part in follows.parts] if follows and follows.role == "tool" else []
            assert calls == answered, (calls, answered)
        assert bool(results) == (message.role == "tool")
        assert not results or messages[place - 1].role == "assistant"
    return True
