"""An agent whose model is the person: a message is a JSON list of rounds, each a list of steps.

Steps: ``["say", text, seconds-between-words]``, ``["call", name, arguments]``, ``["raw", name, raw-text]``,
``["think", text]``, ``["sleep", seconds]``, ``["state", data]``, ``["error", code, retryable]``,
``["usage", in, out]``, ``["cut"]`` (ends without Done), ``["raise"]``. A text that is not JSON is echoed.
"""

from __future__ import annotations

import json

from flask import abort, request

from flask_litro_agent import Agent
from flask_litro_agent.contracts import (
    AssistantState,
    Done,
    ProviderError,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCallEvent,
    Usage,
)


class Puppet:
    model = "puppet"

    def __init__(self):
        self.requests = []

    def stream(self, request, stop):
        self.requests.append(request)
        for step in _round(request):
            if stop.is_set:
                return
            yield from self._play(step, stop)
            if step[0] in ("error", "cut"):
                return
        yield Done("stop")

    def _play(self, step, stop):
        match step:
            case ["say", text, *pace]:
                for word in text.split(" "):
                    if pace and stop.wait(pace[0]):
                        return
                    yield TextDelta(word + " ")
            case ["call", name, arguments]:
                yield ToolCallEvent("up_1", name, arguments)
            case ["raw", name, raw]:
                yield ToolCallEvent("up_1", name, {}, invalid=True, raw=raw)
            case ["think", text]:
                yield ReasoningDelta(text)
            case ["sleep", seconds]:
                stop.wait(seconds)
            case ["state", data]:
                yield AssistantState(data)
            case ["usage", tokens_in, tokens_out]:
                yield Usage(input_tokens=tokens_in, output_tokens=tokens_out, model="puppet-1")
            case ["error", code, retryable]:
                yield ProviderError(code, f"upstream says {code}", retryable=retryable, retry_after=0.01)
            case ["raise"]:
                raise RuntimeError("canary-secret in /srv/app")


def _round(request):
    users = [at for at, message in enumerate(request.messages) if message.role == "user"]
    text = "".join(part.text for part in request.messages[users[-1]].parts if isinstance(part, Text))
    try:
        rounds = json.loads(text)
    except ValueError:
        rounds = [[["say", text]]]
    done = sum(message.role == "tool" for message in request.messages[users[-1] :])
    return rounds[min(done, len(rounds) - 1)]


agent = Agent(model=Puppet(), title="Desk", suggestions=["hello"])


def access():
    if request.headers.get("X-Locked-Out"):
        abort(401)
