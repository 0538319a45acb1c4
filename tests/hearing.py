"""A receiver of every signal of one app, and how long it may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask_litro_agent import ceiling_changed, proposal_recorded, proposal_settled, turn_ended

SIGNALS = {
    "recorded": proposal_recorded,
    "settled": proposal_settled,
    "ceiling": ceiling_changed,
    "turn": turn_ended,
}


class Ear:
    """What was heard, as (word, values); ``of`` gives the values of one word."""

    def __init__(self):
        self.heard = []

    def of(self, word):
        return [values for said, values in self.heard if said == word]

    def proposals(self, word):
        return [values["proposal"] for values in self.of(word)]


@contextmanager
def hearing(app) -> Iterator[Ear]:
    """Hear every signal of the app for the block."""
    ear = Ear()

    def receiver_of(word):
        def receive(sender, **values):
            assert sender is app
            ear.heard.append((word, values))

        return receive

    receivers = {word: receiver_of(word) for word in SIGNALS}
    for word, signal in SIGNALS.items():
        signal.connect(receivers[word], sender=app)
    try:
        yield ear
    finally:
        for word, signal in SIGNALS.items():
            signal.disconnect(receivers[word], sender=app)


@contextmanager
def connected(signal, app, receiver) -> Iterator[None]:
    """Connect one receiver for the block."""
    signal.connect(receiver, sender=app, weak=False)
    try:
        yield
    finally:
        signal.disconnect(receiver, sender=app)
