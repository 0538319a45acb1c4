"""The demo's assistant over MCP: the whole way of issue and operator, from the token to the inbox."""

from __future__ import annotations

import json

import pytest

from tests.mcp_site import Host
from tests.shop_desk import OLGA, SAM, TREK, Person

pytest_plugins = ["tests.shop_fixtures"]


def host_of(app, actor):
    """Make a token as a person does in a terminal, and return the host that has it."""
    asked = [
        "litro",
        "token",
        "create",
        "--actor",
        actor.id,
        "--agent",
        "assistant",
        "--name",
        "Desktop",
        "--json",
    ]
    made = app.test_cli_runner().invoke(args=asked)
    assert made.exit_code == 0, made.output
    return Host(app, json.loads(made.output)["secret"], agent="assistant")


def test_an_operator_connects_a_host_reads_the_stock_and_finds_the_refund_in_the_inbox(app, olga, new_order):
    host = host_of(app, OLGA)
    assert {"stock_levels", "refund_order"} <= set(host.names())
    stock = host.call("stock_levels", {"product": TREK})["structuredContent"]
    assert stock["found"] is True
    arguments = {"order_number": new_order, "amount_cents": 100, "reason": "Scratched"}
    waits = host.call("refund_order", arguments)["structuredContent"]
    assert waits["status"] == "needs_approval"
    inbox = olga.client.get("/litro/", headers={"Accept": "text/html"}).text
    assert waits["proposal_id"] in inbox
    assert "Desktop (" in inbox
    assert olga.decide("approve", waits["proposal_id"]).status_code == 403  # four eyes: her own program asked
    settled = Person(app, "second").decide("approve", waits["proposal_id"])
    assert (settled.json["state"], settled.json["outcome"]) == ("executed", "ok")


def test_law_8_a_component_of_the_shops_is_its_text_and_its_data(app, new_order):
    host = host_of(app, OLGA)
    found = host.call("order_details", {"order_number": new_order})
    text, data = (part["text"] for part in found["content"])
    assert str(new_order) in text
    assert json.loads(data) == found["structuredContent"]
    assert "<" not in text + data


def test_support_has_its_own_permissions_there_too(app):
    host = host_of(app, SAM)
    assert host.call("low_stock")["structuredContent"]["status"] == "forbidden"


def test_the_concierge_has_no_endpoint(app):
    host = host_of(app, OLGA)
    host.url = "/__litro/mcp/concierge"
    assert host.ask("tools/list").status_code == 404


@pytest.mark.parametrize("actor_id", ["account:1", "account:99"])
def test_who_is_no_staff_is_kept_out_by_the_agents_access(app, actor_id):
    books = app.extensions["litro_agent"].books
    secret = books.tokens.create(actor=actor_id, agent="assistant", name="x", days=1, by="test").secret
    assert Host(app, secret, agent="assistant").ask("tools/list").status_code in (401, 403)
