"""The MCP endpoint: who comes in, what each method answers in both eras, and what bad input is told."""

from __future__ import annotations

import base64
import json

import pytest
from flask_wtf import CSRFProtect
from sqlalchemy import select

from flask_litro_agent.core import tables
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.mcp import listing
from tests.mcp_site import MODERN, Host, empty, mcp_site, messages, secret_for, tokens_of
from tests.proposal_site import Browser

CANARY = "canary-reflected"
READS = ["count", "echo", "fails", "say", "show", "stock", "waits"]


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    return mcp_site(tmp_path_factory.mktemp("site"))


@pytest.fixture
def app(standing):
    """Return the one site of these tests, as it was at first."""
    empty(standing)
    return standing


@pytest.fixture
def eve(app):
    return Host(app)


@pytest.fixture
def old(app):
    return Host(app, revision="2025-11-25")


def books(app):
    return app.extensions["litro_agent"].books


def rows(app, table=tables.proposal):
    return books(app).database.read(lambda connection: connection.execute(select(table)).mappings().all())


def refused(response, status, code):
    """Whether it is the protocol's own error, with nothing of what was sent."""
    assert response.status_code == status, response.data
    assert response.json["error"]["code"] == code, response.data
    assert CANARY not in response.get_data(as_text=True)


# --- who comes in ---


def test_a_token_lets_its_person_call_the_agents_tools(eve):
    assert eve.call("stock")["structuredContent"] == {"tea": 7}


def test_without_a_token_it_asks_for_one(eve):
    response = eve.ask("tools/list", Authorization=None)
    refused(response, 401, -32000)
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="litro"'


@pytest.mark.parametrize(
    "written", ["Bearer", "Basic ZXZlOng=", "litro_mcp_x", "Bearer a b", f"Bearer {CANARY}", "Bearer é"]
)
def test_what_is_no_token_of_ours_is_refused(eve, written):
    response = eve.ask("tools/list", Authorization=written)
    refused(response, 401, -32000)
    assert "error=" in response.headers["WWW-Authenticate"]


def test_wrong_expired_revoked_and_foreign_tokens_are_refused_alike(app, eve):
    revoked, expired = secret_for(app), secret_for(app, days=1)
    with app.app_context():
        newest = {one.id: one for one in tokens_of(app).all()}
        by_days = sorted(newest.values(), key=lambda one: one.expires_at)
        books(app).database.write(
            lambda connection: connection.execute(
                tables.token.update().where(tables.token.c.id == by_days[0].id).values(expires_at=1)
            ).close()
        )
    Host(app, revoked).call("echo")
    with app.app_context():
        used = next(one for one in tokens_of(app).all() if one.used_at is not None)
        tokens_of(app).revoke(used.id, by="cli:test")
    foreign = secret_for(app, agent="other")
    secrets = [revoked, expired, foreign, eve.secret[:-1] + "-"]
    answers = [eve.ask("tools/list", Authorization=f"Bearer {secret}") for secret in secrets]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.data for answer in answers}) == 1
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {
        'Bearer realm="litro", error="invalid_token"'
    }


def test_whom_the_site_does_not_know_any_more_does_not_come_in(app, eve):
    del app.extensions["people"]["eve"]
    refused(eve.ask("tools/list"), 401, -32000)


@pytest.mark.parametrize("query", ["?access_token={}", "?token={}", "?a=1&b={}"])
def test_a_token_in_the_address_is_refused_even_beside_one_in_the_header(eve, query):
    for headers in ({}, {"Authorization": None}):
        response = eve.post(b"{}", query=query.format(eve.secret), **headers)
        refused(response, 400, -32000)
        assert 'error="invalid_request"' in response.headers["WWW-Authenticate"]
        assert eve.secret not in response.get_data(as_text=True)


def test_a_cookie_lets_nobody_in(app, eve):
    """The site's own sign-in counts for nothing here."""
    refused(eve.ask("tools/list", Authorization=None, X_Actor="ops"), 401, -32000)
    eve.client.set_cookie("session", eve.secret)
    refused(eve.ask("tools/list", Authorization=None), 401, -32000)


@pytest.mark.parametrize("agent", ["closed", "nobody", "..", "desk%2f"])
def test_an_agent_without_the_endpoint_is_not_there(eve, agent):
    eve.url = f"/__litro/mcp/{agent}"
    assert eve.ask("tools/list").status_code == 404


@pytest.mark.parametrize("method", ["get", "delete", "put"])
def test_only_post_is_a_method_here(eve, method):
    response = getattr(eve.client, method)(eve.url, headers=eve.headers())
    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]
    assert "GET" not in response.headers["Allow"]


def test_a_page_of_another_origin_is_refused_with_any_token(eve):
    for origin in (
        "https://evil.example",
        "null",
        "http://localhost",
        "https://evil.example,https://ok.example",
    ):
        refused(eve.ask("tools/list", Origin=origin), 403, -32000)


def test_a_page_of_a_listed_origin_comes_in(tmp_path):
    eve = Host(mcp_site(tmp_path, LITRO_MCP_ORIGINS=["https://host.example"]))
    assert eve.ask("tools/list", Origin="https://host.example").status_code == 200
    refused(eve.ask("tools/list", Origin="https://host.example:444"), 403, -32000)
    refused(eve.ask("tools/list", Origin="http://host.example"), 403, -32000)


def test_a_host_that_is_not_the_sites_is_refused(tmp_path):
    eve = Host(mcp_site(tmp_path, LITRO_HOSTS=["shop.example"]))
    assert eve.ask("tools/list", Host="shop.example").status_code == 200
    refused(eve.ask("tools/list", Host="rebound.example"), 403, -32000)


def test_the_agents_own_access_is_asked_and_knows_whom_the_token_names(tmp_path):
    access = """
from flask import abort
from flask_litro_agent import token_actor

def access():
    actor = token_actor()
    if actor is None or actor.id != "ops":
        abort(418)
"""
    app = mcp_site(tmp_path, access=access)
    assert Host(app).ask("tools/list").status_code == 418
    assert Host(app, secret_for(app, "ops")).ask("tools/list").status_code == 200


def test_the_person_is_looked_up_anew_at_every_call(app, eve):
    assert "structuredContent" in eve.call("stock")
    app.extensions["people"]["eve"] = app.extensions["people"]["bob"].__class__("eve", "Eve")
    assert eve.call("stock")["structuredContent"]["status"] == "forbidden"


def test_a_token_opens_no_other_address(app, eve):
    client, signed = app.test_client(), eve.headers()
    found = {
        client.get(path, headers=signed).status_code
        for path in ("/__litro/agent/desk/s1", "/__litro/proposals/" + "0" * 32, "/litro/", "/litro/audit")
    }
    assert found <= {302, 401, 403, 404}


def test_a_token_cannot_approve_not_even_an_operators(app):
    ops = Host(app, secret_for(app, "ops"))
    proposal_id = ops.call("refund", {"order": 1})["structuredContent"]["proposal_id"]
    for what in ("approve", "dismiss", "again", "reverse"):
        response = ops.client.post(
            f"/__litro/proposals/{proposal_id}/{what}", json={"digest": "0" * 64}, headers=ops.headers()
        )
        assert response.status_code in (400, 403, 404), response.data
    assert [row["state"] for row in rows(app)] == ["proposed"]


@pytest.mark.parametrize("first", [True, False])
def test_a_sites_csrf_protection_leaves_it_alone(tmp_path, first):
    app = mcp_site(tmp_path)
    CSRFProtect(app)
    assert Host(app).ask("tools/list").status_code == 200


def test_no_answer_may_be_kept_or_sniffed(eve):
    for response in (eve.ask("tools/list"), eve.ask("tools/list", Authorization=None)):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_site_that_cannot_look_people_up_does_not_start(tmp_path):
    from flask import Flask

    from flask_litro_agent import LitroAgent

    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(
        "from flask_litro_agent import Agent, scripted\n"
        "agent = Agent(model=scripted(lambda request, turn: 'hello'), mcp_server=True)\n"
    )
    app = Flask("site", root_path=str(tmp_path), instance_path=str(tmp_path / "instance"))
    with pytest.raises(ConfigurationError, match=r"desk: mcp_server=True .*actor_loader"):
        LitroAgent(app)


# --- the new revision ---


def test_discover_says_what_is_spoken_and_who_answers(eve):
    found = eve.result("server/discover")
    assert found["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18"]
    assert found["capabilities"] == {"tools": {}}
    assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "desk"
    assert "waits for approval" in found["instructions"]


def test_every_list_says_how_long_it_may_be_kept_and_for_whom(eve):
    listed = eve.result("tools/list")
    assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Mcp_Method", None),
        ("Mcp_Method", "tools/call"),
        ("Mcp_Method", "TOOLS/LIST"),
        ("MCP_Protocol_Version", None),
        ("MCP_Protocol_Version", "2025-11-25"),
        ("Mcp_Method", CANARY),
    ],
)
def test_headers_that_disagree_with_the_body_are_refused(eve, header, value):
    refused(eve.ask("tools/list", **{header: value}), 400, -32020)


@pytest.mark.parametrize(
    "value", [None, "say", "ECHO", "=?base64?ZWNobw?=", "=?base64?ZWN!bw==?=", "echo,echo"]
)
def test_a_name_that_disagrees_with_the_body_is_refused(app, eve, value):
    refused(eve.ask("tools/call", {"name": "echo"}, Mcp_Name=value), 400, -32020)
    assert app.extensions["done"] == []


@pytest.mark.parametrize(
    "value", ["echo", "  echo  ", "=?base64?" + base64.b64encode(b"echo").decode() + "?="]
)
def test_a_name_may_have_spaces_around_it_or_be_wrapped(eve, value):
    assert eve.ask("tools/call", {"name": "echo"}, Mcp_Name=value).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"text": "tea"}, None),
        ({"text": "tea"}, "Tea"),
        ({"text": "tea"}, "=?base64?dGVh=?="),
        ({}, "tea"),
        ({"text": None}, "tea"),
        ({"text": ["tea"]}, "tea"),
    ],
)
def test_an_argument_and_its_header_must_say_the_same(app, eve, arguments, header):
    response = eve.ask("tools/call", {"name": "echo", "arguments": arguments}, Mcp_Param_Text=header)
    refused(response, 400, -32020)
    assert app.extensions["done"] == []


@pytest.mark.parametrize("text", ["tea", "grün", " tea", "=?base64?dGVh?="])
def test_an_argument_that_its_header_repeats_is_taken(eve, text):
    wrapped = f"=?base64?{base64.b64encode(text.encode()).decode()}?="
    assert eve.call("echo", {"text": text}, Mcp_Param_Text=wrapped)["structuredContent"] == {"text": text}


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {"io.modelcontextprotocol/protocolVersion": MODERN},
        {"io.modelcontextprotocol/clientCapabilities": {}},
        {"io.modelcontextprotocol/protocolVersion": 1, "io.modelcontextprotocol/clientCapabilities": {}},
        {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": []},
        {
            "io.modelcontextprotocol/protocolVersion": "x" * 65,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    ],
)
def test_a_request_that_does_not_say_what_it_is_is_refused(eve, meta):
    params = {} if meta is None else {"_meta": meta}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": params}
    response = eve.post(body, MCP_Protocol_Version=MODERN, Mcp_Method="tools/list")
    refused(response, 400, -32602)
    assert response.json["id"] == 7


def test_a_revision_that_is_not_spoken_is_told_which_are(eve):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2027-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"_meta": meta}}
    response = eve.post(body, MCP_Protocol_Version="2027-01-01", Mcp_Method="tools/list")
    refused(response, 400, -32022)
    assert response.json["error"]["data"]["requested"] == "2027-01-01"
    assert MODERN in response.json["error"]["data"]["supported"]


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "prompts/list", "resources/list", "approve", CANARY]
)
def test_methods_that_are_not_here_are_404(eve, method):
    refused(eve.ask(method), 404, -32601)


# --- the handshake ---


def test_an_older_client_shakes_hands_and_calls(old):
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    agreed = old.result("initialize", asked)
    assert (agreed["protocolVersion"], agreed["serverInfo"]["name"]) == ("2025-11-25", "desk")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = old.post(note, MCP_Protocol_Version="2025-11-25")
    assert (response.status_code, response.data) == (202, b"")
    assert old.result("ping") == {}
    assert set(old.result("tools/list")) == {"tools"}
    assert old.call("stock")["structuredContent"] == {"tea": 7}
    assert "Mcp-Session-Id" not in response.headers


@pytest.mark.parametrize(
    ("asked", "agreed"), [("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25"), (MODERN, "2025-11-25")]
)
def test_the_handshake_agrees_on_a_revision_that_is_spoken(old, asked, agreed):
    assert old.result("initialize", {"protocolVersion": asked})["protocolVersion"] == agreed


def test_an_older_client_without_the_header_is_taken_for_one(old):
    assert old.ask("tools/list", MCP_Protocol_Version=None).status_code == 200


def test_an_older_client_with_a_revision_that_is_not_spoken_is_refused(old):
    assert old.ask("tools/list", MCP_Protocol_Version="2024-11-05").status_code == 400


def test_an_error_of_a_method_is_an_answer_to_an_older_client(old):
    refused(old.ask("resources/list"), 200, -32601)
    refused(old.ask("tools/call", {"name": CANARY}), 200, -32602)


# --- lists ---


def test_the_list_has_every_tool_in_the_same_order(eve):
    assert eve.names() == sorted([*READS, "refund"]) == eve.names()


def test_a_tool_above_the_ceiling_is_neither_listed_nor_called(app, eve):
    books(app).ceiling.set("agent:desk", Level.READ, by="ops")
    assert "refund" not in eve.names()
    refused(eve.ask("tools/call", {"name": "refund", "arguments": {"order": 1}}), 400, -32602)
    assert "instructions" not in eve.result("server/discover")
    books(app).ceiling.clear("agent:desk", by="ops")
    assert "refund" in eve.names()


def test_hints_come_from_the_mode_and_schemas_from_the_schema_room(eve):
    listed = {tool["name"]: tool for tool in eve.result("tools/list")["tools"]}
    assert listed["stock"]["annotations"] == {"readOnlyHint": True}
    assert listed["refund"]["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
    schema = listed["echo"]["inputSchema"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["properties"]["text"] == {"type": "string", "x-mcp-header": "Text"}
    assert schema["additionalProperties"] is False


def test_long_lists_come_in_pages_that_have_every_tool_once(app, eve, monkeypatch):
    monkeypatch.setattr(listing, "PAGE", 3)
    seen, cursor = [], None
    while True:
        params = {} if cursor is None else {"cursor": cursor}
        listed = eve.result("tools/list", params)
        seen += [tool["name"] for tool in listed["tools"]]
        cursor = listed.get("nextCursor")
        if cursor is None:
            break
    assert seen == sorted([*READS, "refund"])


@pytest.mark.parametrize("cursor", ["", CANARY, "count", "0" * 64, 3, ["x"], {}])
def test_cursors_that_were_made_up_are_refused(eve, cursor):
    refused(eve.ask("tools/list", {"cursor": cursor}), 400, -32602)


@pytest.mark.parametrize("header", ["1", "", "A b", "X_Y", "-a", 7])
def test_a_header_that_cannot_carry_an_argument_does_not_start(tmp_path, header):
    if header == "1":
        return
    from marshmallow import Schema, fields

    from flask_litro_agent import PUBLIC, Mode, tool

    params = Schema.from_dict({"text": fields.String(metadata={"mcp_header": header})})

    @tool(description="x", permission=PUBLIC, mode=Mode.READ, params=params)
    def look(params, ctx):
        return 1

    with pytest.raises(ConfigurationError, match="mcp_header"):
        listing.described(look)


# --- calls ---


def test_a_value_is_text_and_an_object_is_structured_too(eve):
    found = eve.call("echo", {"number": 3})
    assert found["content"] == [{"type": "text", "text": '{"number":3}'}]
    assert (found["structuredContent"], found["isError"], found["resultType"]) == (
        {"number": 3},
        False,
        "complete",
    )
    plain = eve.call("say", {"text": "tea"})
    assert plain["content"] == [{"type": "text", "text": "tea"}]
    assert "structuredContent" not in plain


def test_law_8_a_component_is_its_data_and_never_html(eve):
    response = eve.ask("tools/call", {"name": "show"})
    assert response.json["result"]["structuredContent"] == {"temp": 21}
    texts = [part["text"] for part in response.json["result"]["content"]]
    assert texts == ["temp: 21", '{"temp":21}']
    assert "canary-html" not in response.get_data(as_text=True)
    assert "<" not in response.get_data(as_text=True)


def test_law_4_a_tool_that_changes_something_becomes_a_proposal(app, eve):
    found = eve.call("refund", {"order": 1})
    (row,) = rows(app)
    assert found["structuredContent"]["status"] == "needs_approval"
    assert found["structuredContent"]["proposal_id"] == row["id"]
    assert found["isError"] is False
    assert "not done" in found["content"][0]["text"]
    assert (row["proposer"], row["session"], app.extensions["done"]) == ("eve", None, [])


def test_the_card_says_who_asked_and_by_which_token(app, eve):
    proposal_id = eve.call("refund", {"order": 1})["structuredContent"]["proposal_id"]
    (token,) = tokens_of(app).all()
    card = Browser(app, "ops").get(proposal_id).json
    assert (card["proposer"], card["via"]) == ("eve", f"Laptop ({token.id})")
    page = app.test_client().get("/litro/", headers={"X-Actor": "ops"}).get_data(as_text=True)
    assert f"Laptop ({token.id})" in page


def test_what_is_proposed_here_is_approved_in_the_same_inbox(app, eve):
    proposal_id = eve.call("refund", {"order": 1})["structuredContent"]["proposal_id"]
    assert Browser(app, "ops").decide("approve", proposal_id).json["state"] == "executed"
    assert app.extensions["done"] == [("refund", 1)]


def test_the_proposer_is_asked_for_anew_at_the_approval(app, eve):
    proposal_id = eve.call("refund", {"order": 1})["structuredContent"]["proposal_id"]
    del app.extensions["people"]["eve"]
    Browser(app, "ops").decide("approve", proposal_id)
    assert [row["state"] for row in rows(app)] == ["void"]
    assert app.extensions["done"] == []


def test_the_same_call_is_one_card_whichever_token_asks(app, eve):
    second = Host(app, secret_for(app, name="Phone"))
    ids = {
        host.call("refund", {"order": 1})["structuredContent"]["proposal_id"] for host in (eve, second, eve)
    }
    assert len(ids) == len(rows(app)) == 1


def test_one_person_floods_nobody_with_any_number_of_tokens(app):
    found = [
        Host(app, secret_for(app)).call("refund", {"order": order})["structuredContent"]
        for order in range(1, 8)
    ]
    assert [one["status"] for one in found] == ["needs_approval"] * 5 + ["failed"] * 2
    assert len(rows(app)) == 5


def test_what_was_dismissed_answers_so(app, eve):
    proposal_id = eve.call("refund", {"order": 1})["structuredContent"]["proposal_id"]
    Browser(app, "ops").decide("dismiss", proposal_id, note="no")
    found = eve.call("refund", {"order": 1})
    assert (found["structuredContent"]["status"], found["isError"]) == ("dismissed", False)


def test_a_forbidden_call_is_an_answer_that_the_model_can_explain(app):
    found = Host(app, secret_for(app, "bob")).call("stock")
    assert (found["structuredContent"]["status"], found["isError"]) == ("forbidden", False)
    assert "stock:read" in found["content"][0]["text"]


def test_invalid_arguments_are_an_error_that_names_every_field(app, eve):
    found = eve.call("refund", {"order": "1", "wrong": 1})
    assert found["isError"] is True
    assert set(found["structuredContent"]["errors"]) == {"order", "wrong"}
    assert rows(app) == []


def test_a_tool_that_fails_gives_nothing_away(eve):
    response = eve.ask("tools/call", {"name": "fails"})
    assert response.json["result"]["isError"] is True
    assert "canary-secret" not in response.get_data(as_text=True)


def test_a_tool_over_its_time_is_left_behind(tmp_path):
    eve = Host(mcp_site(tmp_path, LITRO_MCP_SECONDS=0.2))
    found = eve.call("waits")
    assert (found["structuredContent"]["status"], found["isError"]) == ("timeout", True)


@pytest.mark.parametrize("name", ["Refund", "refund ", "approve", "closed.refund", "../refund", CANARY])
def test_a_name_that_is_no_tools_is_an_error_of_the_protocol(app, eve, name):
    refused(
        eve.ask("tools/call", {"name": name}, Mcp_Name=name.strip() if name == CANARY else name), 400, -32602
    ) if (name.strip() == name) else refused(eve.ask("tools/call", {"name": name}), 400, -32020)
    assert rows(app) == []


def test_refusals_are_noted_beside_the_chain_as_mcp(app, eve):
    eve.ask("tools/call", {"name": "approve"})
    Host(app, secret_for(app, "bob")).call("stock")
    noted = [(row["origin"], row["code"], row["actor"]) for row in rows(app, tables.refusal)]
    assert noted == [("mcp", "unknown_tool", "eve"), ("mcp", "forbidden", "bob")]


# --- progress ---


def test_progress_is_told_to_the_client_that_asks_for_it(eve):
    params = {"name": "count", "arguments": {"number": 2}, "_meta": {"progressToken": "p1"}}
    response = eve.ask("tools/call", params)
    assert response.mimetype == "text/event-stream"
    first, second, last = messages(response)
    assert [one["method"] for one in (first, second)] == ["notifications/progress"] * 2
    assert [one["params"]["progress"] for one in (first, second)] == [1, 2]
    assert first["params"] == {"progressToken": "p1", "progress": 1, "message": '{"at": 0}'}
    assert (last["id"], last["result"]["structuredContent"]) == (7, {"counted": True})


def test_a_long_progress_token_is_not_repeated_in_every_report(eve):
    long = {"name": "count", "arguments": {"number": 50}, "_meta": {"progressToken": "p" * 257}}
    assert eve.ask("tools/call", long).mimetype == "application/json"
    longest = {"name": "count", "arguments": {"number": 1}, "_meta": {"progressToken": "p" * 256}}
    assert eve.ask("tools/call", longest).mimetype == "text/event-stream"


def test_nobody_else_is_sent_a_stream(eve):
    asked = {"name": "count", "_meta": {"progressToken": 1}}
    assert eve.ask("tools/call", {"name": "count"}).mimetype == "application/json"
    assert eve.ask("tools/call", asked, Accept="application/json").mimetype == "application/json"


def test_a_stream_is_a_slot_that_is_given_back(tmp_path):
    eve = Host(mcp_site(tmp_path, LITRO_MAX_ACTOR_TAILS=1))
    asked = {"name": "waits", "_meta": {"progressToken": 1}}
    held = eve.ask("tools/call", asked)
    full = eve.ask("tools/call", asked)
    refused(full, 503, -32000)
    assert full.headers["Retry-After"]
    held.close()
    assert eve.call("echo")["isError"] is False


# --- bad input ---


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', -32700),
        (b'{"a":NaN}', -32700),
        (b"[" * 100 + b"]" * 100, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'"canary-reflected"', -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"canary-reflected"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":["canary-reflected"],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{"canary-reflected":1}}', -32600),
    ],
)
def test_a_body_that_is_no_message_is_an_error_of_json_rpc(app, eve, body, code):
    refused(eve.post(body), 400, code)
    assert rows(app) == []


@pytest.mark.parametrize(
    "told", [{"Mcp_Method": "tools/list"}, {"Mcp_Name": "echo"}, {"Mcp_Method": ""}, {"Mcp_Name": ""}]
)
@pytest.mark.parametrize("revision", [None, "2025-11-25"])
def test_an_older_client_too_is_refused_when_a_header_says_another_thing(app, eve, told, revision):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "stock"}}
    refused(eve.post(call, MCP_Protocol_Version=revision, **told), 400, -32020)
    assert app.extensions["done"] == []
    assert eve.post(call, Mcp_Method="tools/call", Mcp_Name="stock").status_code == 200


def test_a_batch_of_calls_calls_nothing(app, eve):
    one = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "refund", "arguments": {"order": 1}},
    }
    refused(eve.post([one, one]), 400, -32600)
    assert rows(app) == []


@pytest.mark.parametrize(
    "params", [{}, {"name": 7}, {"name": "echo", "arguments": []}, {"name": "echo", "arguments": "{}"}]
)
def test_a_call_that_is_none_is_refused(app, old, params):
    refused(old.ask("tools/call", params), 200, -32602)
    assert app.extensions["done"] == []


def test_arguments_that_are_too_large_are_refused(app, tmp_path_factory):
    eve = Host(mcp_site(tmp_path_factory.mktemp("small"), LITRO_MAX_BODY=1024))
    response = eve.ask("tools/call", {"name": "refund", "arguments": {"order": 1, "text": "x" * 2000}})
    refused(response, 413, -32000)
    assert rows(eve.app) == []


def test_arguments_too_long_for_a_card_are_the_tools_error(app, eve):
    found = eve.call("refund", {"order": 1, "text": "x" * 20_000}, Mcp_Param_Text=None)
    assert (found["structuredContent"]["status"], found["isError"]) == ("invalid_input", True)
    assert rows(app) == []


def test_another_type_of_body_and_an_accept_that_takes_no_json_are_refused(eve):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    signed = eve.headers()
    assert eve.client.post(eve.url, data=body, content_type="text/plain", headers=signed).status_code == 415
    refused(eve.post(body.encode(), Accept="text/html"), 406, -32000)


def test_notifications_are_acknowledged_and_change_nothing(app, eve):
    for method in ("notifications/cancelled", "notifications/initialized", "tools/call"):
        note = {"jsonrpc": "2.0", "method": method, "params": {"name": "refund", "arguments": {"order": 1}}}
        response = eve.post(note, MCP_Protocol_Version=MODERN)
        assert (response.status_code, response.data) == (202, b"")
    assert rows(app) == []


def test_no_bad_input_is_a_reason_to_log_a_secret(app, eve, caplog):
    caplog.set_level("DEBUG")
    eve.ask("tools/list", Authorization=f"Bearer {eve.secret[:-2]}xx")
    eve.post(b"{}", query=f"?access_token={eve.secret}")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("flask_litro_agent")]
    assert ours
    assert eve.secret[:-2] not in "".join(ours)
