"""A provider for a server that streams ``data: {"text": …}`` events and ends with ``data: [DONE]``.

It stands on the package's published parts: ``http.post`` can always be stopped, ``sse.EventStream`` cuts the bytes
into events, ``strict_json`` reads them.
"""

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import Done, ProviderError, Text, TextDelta
from flask_litro_agent.errors import InvalidJSON
from flask_litro_agent.providers import http
from flask_litro_agent.providers.sse import EventStream, StreamTooLarge


class Lines:
    def __init__(self, model, *, base_url, api_key=""):
        self.model = model
        self._url = base_url
        self._headers = {"authorization": f"Bearer {api_key}", "content-type": "application/json"}

    def stream(self, request, stop):
        try:
            yield from self._answer(request, stop)
        except http.Stopped:
            return
        except http.UpstreamFailed as failed:
            yield failed.error
        except (InvalidJSON, KeyError, TypeError, StreamTooLarge):
            yield ProviderError("protocol", "the server sent something else than texts")

    def _answer(self, request, stop):
        texts = [part.text for part in request.messages[-1].parts if isinstance(part, Text)]
        body = strict_json.encode({"model": self.model, "text": " ".join(texts)})
        options = request.options
        limits = http.Limits(idle_seconds=options.idle_seconds, total_seconds=options.total_seconds)
        with http.post(self._url, headers=self._headers, body=body, limits=limits, stop=stop) as exchange:
            if exchange.status != 200:
                yield ProviderError(
                    "server", f"the server answered {exchange.status}", status=exchange.status
                )
                return
            yield from _events(exchange)


def _events(exchange):
    parser = EventStream()
    while data := exchange.read():
        for event in parser.feed(data):
            if event.data == "[DONE]":
                yield Done()
                return
            yield TextDelta(strict_json.decode(event.data)["text"])
    yield ProviderError("truncated", "the server's answer broke off")
