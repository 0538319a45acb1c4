"""A site's CSRFProtect, initialised before or after us, leaves our routes alone and guards the site's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from flask_wtf import CSRFProtect

from flask_litro_agent import LitroAgent
from tests.asking import HEADER, ROUTE, delete, events, post

AGENTS = Path(__file__).parent / "site" / "agents"


def protected(tmp_path, extensions):
    """Return a site with these extensions, initialised in their order."""
    app = Flask("shop", instance_path=str(tmp_path))
    app.config.update(SECRET_KEY="for tests", LITRO_AGENTS=str(AGENTS), LITRO_FSYNC="never")
    for extension in extensions:
        extension.init_app(app)
    app.post("/order", endpoint="order")(lambda: "ordered")
    return app


@pytest.fixture(params=["before", "after"])
def app(request, tmp_path):
    extensions = [CSRFProtect(), LitroAgent()]
    return protected(tmp_path, extensions if request.param == "before" else extensions[::-1])


def test_a_turn_starts_without_a_token(app):
    assert events(post(app.test_client()))[-1]["kind"] == "turn-end"


def test_stop_and_delete_need_no_token(app):
    client = app.test_client()
    turn = post(client)
    assert turn.status_code == 200
    turn.get_data()
    assert delete(client, turn="t0").status_code == 404
    assert delete(client).status_code == 204


def test_our_own_header_is_still_asked_for(app):
    assert app.test_client().post(f"{ROUTE}/s1", json={"text": "hello"}).status_code == 403


def test_the_sites_own_form_stays_protected(app):
    client = app.test_client()
    assert client.post("/order").status_code == 400
    post(client).get_data()
    assert client.post("/order").status_code == 400
    assert client.post("/order", headers=HEADER).status_code == 400


def test_our_headers_do_not_open_the_sites_form_after_the_first_request(app):
    client = app.test_client()
    client.post("/order", headers=HEADER)
    assert client.post("/order", headers={**HEADER, "Sec-Fetch-Site": "same-origin"}).status_code == 400


def test_two_apps_of_one_protection_stay_apart(tmp_path):
    extensions = [CSRFProtect(), LitroAgent()]
    for app in [protected(tmp_path / name, extensions) for name in ("one", "two")]:
        assert post(app.test_client()).status_code == 200
        assert app.test_client().post("/order").status_code == 400
