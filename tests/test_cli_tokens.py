"""``flask litro token``: a secret that is printed once, tokens that are listed without it, and their end."""

from __future__ import annotations

import json

import pytest

from flask_litro_agent import LitroAgent
from tests.mcp_site import Host, empty, mcp_site, tokens_of
from tests.small_site import new_app, write_agent


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    return mcp_site(tmp_path_factory.mktemp("site"), LITRO_EXTERNAL_URL="https://shop.example/")


@pytest.fixture
def app(standing):
    empty(standing)
    return standing


@pytest.fixture
def litro(app):
    invoke = app.test_cli_runner().invoke
    return lambda *arguments: invoke(args=["litro", "token", *arguments])


def made(litro, *more):
    result = litro("create", "--actor", "eve", "--agent", "desk", "--json", *more)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_the_secret_that_is_printed_lets_its_person_in(app, litro):
    result = litro("create", "--actor", "eve", "--agent", "desk", "--name", "Eve's laptop")
    secret, once, where, row = result.output.splitlines()
    assert Host(app, secret).names()
    assert "cannot be shown again" in once
    assert "https://shop.example/__litro/mcp/desk" in where
    assert "Eve's laptop" in row


def test_it_is_printed_once_and_never_listed(litro):
    found = made(litro)
    for asked in (("list",), ("list", "--json"), ("revoke", found["id"]), ("revoke", found["id"], "--json")):
        assert found["secret"] not in litro(*asked).output


def test_json_has_everything_that_a_script_needs(litro):
    found = made(litro, "--days", "3", "--name", "CI")
    assert found["url"] == "https://shop.example/__litro/mcp/desk"
    assert (found["actor"], found["agent"], found["name"], found["state"]) == ("eve", "desk", "CI", "live")
    assert found["created_at"] < found["expires_at"]
    assert (found["used_at"], found["revoked_at"]) == (None, None)


def test_it_is_good_for_ninety_days_unless_said_otherwise(app, litro):
    made(litro)
    (token,) = tokens_of(app).all()
    assert token.expires_at - token.created_at == 90 * 86_400_000


def test_a_revoked_one_is_over_at_once_and_listed_as_revoked(app, litro):
    found = made(litro)
    assert litro("revoke", found["id"]).exit_code == 0
    assert Host(app, found["secret"]).ask("tools/list").status_code == 401
    (listed,) = json.loads(litro("list", "--json").output)
    assert (listed["id"], listed["state"]) == (found["id"], "revoked")


def test_the_list_says_when_each_was_last_used(app, litro):
    found = made(litro)
    Host(app, found["secret"]).names()
    (listed,) = json.loads(litro("list", "--json").output)
    assert listed["used_at"] is not None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--actor", "nobody", "--agent", "desk"), "knows nobody"),
        (("--actor", "visitor:AAAAAAAAAAAAAAAAAAAAAA", "--agent", "desk"), "with an account"),
        (("--actor", "eve", "--agent", "closed"), "mcp_server=True"),
        (("--actor", "eve", "--agent", "nowhere"), "no agent named"),
        (("--actor", "eve", "--agent", "desk", "--name", "a\x1b[31m"), "one line"),
    ],
)
def test_what_cannot_be_is_one_sentence(app, litro, asked, said):
    result = litro("create", *asked)
    assert result.exit_code == 1
    assert said in result.output
    assert tokens_of(app).all() == []


def test_an_unknown_id_is_said(litro):
    result = litro("revoke", "0" * 16)
    assert (result.exit_code, result.output) == (1, "Error: there is no such token\n")


def test_a_site_without_the_endpoint_says_how_to_have_one(tmp_path):
    write_agent(tmp_path)
    app = new_app(tmp_path)
    LitroAgent(app)
    result = app.test_cli_runner().invoke(
        args=["litro", "token", "create", "--actor", "eve", "--agent", "demo"]
    )
    assert result.exit_code == 1
    assert "mcp_server=True" in result.output
