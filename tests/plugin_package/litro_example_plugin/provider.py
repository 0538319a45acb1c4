"""A provider without an upstream: it says what it was told."""

from flask_litro_agent.contracts import Done, ProviderError, Text, TextDelta


class Echo:
    def __init__(self, model, *, prefix=""):
        self.model = model
        self._prefix = prefix

    def stream(self, request, stop):
        texts = [part.text for part in request.messages[-1].parts if isinstance(part, Text)]
        if not texts:
            yield ProviderError("bad_request", "the last message has no text")
            return
        for word in f"{self._prefix}{' '.join(texts)}".split(" "):
            if stop.is_set:
                return
            yield TextDelta(f"{word} ")
        yield Done()
