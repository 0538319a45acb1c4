"""The demo shop on a Monday morning: what its people asked for in chats, and what became of it, in every state.

``with monday(folder) as shop`` serves one on a free port, in this process; ``shop.ids`` has a proposal of each state.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from flask import Flask
from playwright.sync_api import Page as Tab
from sqlalchemy import update
from werkzeug.serving import WSGIRequestHandler, make_server

from example_app import create_app, seed
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import proposal
from tests.shop_desk import Person

#: What each state was asked for with; the last word of a state comes from the second operator.
WISHES = {
    "open": "Refund 20 euros for order 1104 because the zip broke",
    "list": "Lower the prices of all tents by 10 %",
    "unknown": "Order 12 Trek 65",
    "executed": "Set the price of the Trek 65 to 199 euros",
    "void": "Set the price of the Trek 65 to 189 euros",
    "dismissed": "Give Anna Berg 15 euros of credit because the parcel was late",
    "failed": "Add a note about Anna Berg: prefers a call in the evening",
    "expired": "Publish a collection “Light nights” of sleeping bags",
}

_CUT = "CREATE TRIGGER cut BEFORE INSERT ON purchase BEGIN SELECT RAISE(ABORT, 'connection reset'); END"


class Monday:
    """A shop that is served, and how people get to its pages."""

    def __init__(self, app: Flask, url: str) -> None:
        self.app = app
        self.url = url
        self.ids: dict[str, str] = {}

    @property
    def ledger(self):
        return self.app.extensions["litro_agent"].books.ledger

    def ask(self, person: Person, text: str, *, session: str) -> str:
        """Say it to the assistant; return the id of what it then proposed."""
        answer = person.client.post(
            f"/__litro/agent/assistant/{session}", json={"text": text}, headers={"X-Litro-Agent": "1"}
        )
        events = [json.loads(line) for line in answer.text.splitlines() if line]
        (card,) = [event["payload"] for event in events if event["kind"] == "proposal"]
        return card["proposal_id"]

    def age(self, proposal_id: str, ms: int) -> None:
        """Make a proposal, and all that happened to it, so much older."""
        moments = [proposal.c[name] for name in ("created_at", "claimed_at", "started_at", "settled_at")]
        older = update(proposal).where(proposal.c.id == proposal_id)
        older = older.values({moment: moment - ms for moment in moments})
        self.app.extensions["litro_agent"].books.database.write(lambda held: held.execute(older).close())

    def leave(self, proposal_id: str, *, seconds: float) -> None:
        """Make a proposal so old that it is open for so many more seconds."""
        found = self.ledger.get(proposal_id)
        self.age(proposal_id, found.expires_at - found.read_at - int(seconds * 1000))

    @contextlib.contextmanager
    def changed(self, there: str, back: str) -> Iterator[None]:
        """Change the shop's database behind the back of its tools, for the block."""
        self._run(there)
        try:
            yield
        finally:
            self._run(back)

    def rows(self, query: str, *values: object) -> list[tuple]:
        """Read the shop's own database: the effects of what was approved."""
        with contextlib.closing(sqlite3.connect(self.app.config["SHOP_DATABASE"])) as held:
            return held.execute(query, values).fetchall()

    def sign_in(self, tab: Tab, username: str, then: str = "/litro/") -> None:
        """Sign in by the shop's form, and go on to a page."""
        tab.goto(f"{self.url}/sign-in")
        tab.get_by_label("User name").fill(username)
        tab.get_by_label("Password").fill(seed.PASSWORD)
        tab.get_by_role("button", name="Sign in").click()
        tab.goto(self.url + then)

    def _run(self, statement: str) -> None:
        held = sqlite3.connect(self.app.config["SHOP_DATABASE"])
        with contextlib.closing(held), held:
            held.execute(statement)


@contextlib.contextmanager
def monday(folder: Path, *, full: bool = True, **config: object) -> Iterator[Monday]:
    """Serve a shop; a ``full`` one has a proposal in each state."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        app = create_app({"SHOP_DATA": folder, "LITRO_EXTERNAL_URL": url, **config})
        shop = Monday(app, url)
        server = make_server(
            "127.0.0.1", port, app, threaded=True, request_handler=_Quiet, fd=listener.fileno()
        )
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            if full:
                fill(shop)
            yield shop
        finally:
            server.shutdown()
            thread.join(10)
            server.server_close()


def fill(shop: Monday) -> None:
    """Let one operator ask for something of each state, and another one decide."""
    olga, otto = Person(shop.app, "operator"), Person(shop.app, "second")
    shop.ids = {state: shop.ask(olga, wish, session=f"monday-{state}") for state, wish in WISHES.items()}
    otto.decide("approve", shop.ids["executed"])
    otto.decide("approve", shop.ids["void"])
    otto.decide("dismiss", shop.ids["dismissed"], note="Ask for a photo of the parcel first")
    with shop.changed(
        "UPDATE customer SET id = 9001 WHERE id = 1", "UPDATE customer SET id = 1 WHERE id = 9001"
    ):
        otto.decide("approve", shop.ids["failed"])
    with shop.changed(_CUT, "DROP TRIGGER cut"):
        otto.decide("approve", shop.ids["unknown"])
    shop.leave(shop.ids["expired"], seconds=-1)
    ceiling = shop.app.extensions["litro_agent"].books.ceiling
    ceiling.set("tool:assistant.draft_email", Level.OFF, by="account:4")
    ceiling.set("agent:concierge", Level.PROPOSE, by="account:3")
    found = {state: found_state(shop, proposal_id) for state, proposal_id in shop.ids.items()}
    assert found == {state: "open" if state == "list" else state for state in WISHES}, found


def found_state(shop: Monday, proposal_id: str) -> str:
    """Return how a proposal stands, in one of the words above."""
    row = shop.ledger.get(proposal_id)
    if row.outcome == "failed":
        return "failed"
    return "open" if row.state is State.PROPOSED else row.state.value


class _Quiet(WSGIRequestHandler):
    """Writes no line for a request."""

    def log_request(self, code: object = "-", size: object = "-") -> None:
        return
