"""The demo shop: its services over a real database, its pages, its data folder and its server."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from example_app import (
    catalogue,
    create_app,
    customers,
    database,
    model_choice,
    orders,
    periods,
    policies,
    reports,
    seed,
    stock,
)
from example_app.catalogue import Wish
from example_app.money import euros

ROOT = Path(__file__).parent.parent
TODAY = date(2026, 11, 30)
YEAR = periods.named("last_12_months", TODAY)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    database.create(path, TODAY)
    connection = database.open_database(path)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LLM_URL", "LLM_MODEL", "ANTHROPIC_API_KEY"):
            patch.delenv(name, raising=False)
        return create_app({"SHOP_DATA": tmp_path_factory.mktemp("site"), "TESTING": True})


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def sign_in(client: FlaskClient, username: str, password: str = seed.PASSWORD, **query: str):
    return fill_in(client, "/sign-in", username, password, **query)


def fill_in(client: FlaskClient, way: str, username: str, password: str = seed.PASSWORD, **query: str):
    token = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', client.get(way).text)
    form = {"username": username, "password": password, "csrf_token": token[1] if token else ""}
    return client.post(way, data=form, query_string=query or None)


# services


def test_the_seed_is_the_same_for_everybody_on_the_same_day(held, tmp_path):
    database.create(tmp_path / "again.db", TODAY)
    again = database.open_database(tmp_path / "again.db")
    for table in (
        "product",
        "stock",
        "customer",
        "orders",
        "order_line",
        "shipment",
        "return_case",
        "review",
        "payment",
        "supply",
        "message",
        "price_change",
        "stock_movement",
    ):
        rows = [[tuple(row) for row in each.execute(f"SELECT * FROM {table}")] for each in (held, again)]
        assert rows[0] == rows[1], table
    again.close()


def test_the_seed_fills_a_believable_shop(held):
    counts = {
        table: held.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for table in ("product", "customer", "orders", "return_case", "review")
    }
    assert counts["product"] == 35
    assert counts["customer"] == 25
    assert counts["orders"] == 230
    assert min(counts.values()) > 0
    statuses = {row[0] for row in held.execute("SELECT DISTINCT status FROM orders")}
    assert statuses == set(orders.STATUSES)


def test_the_database_refuses_a_line_of_an_unknown_order(held):
    with pytest.raises(sqlite3.IntegrityError):
        held.execute("INSERT INTO order_line VALUES (999999, 1, 'TNT-FJ2-GRN', 1, 100)")
    held.rollback()


@pytest.mark.parametrize(
    ("cents", "text"), [(0, "€0.00"), (490, "€4.90"), (129900, "€1,299.00"), (-5, "-€0.05")]
)
def test_money_is_written_as_on_a_price_tag(cents, text):
    assert euros(cents) == text


def test_products_are_found_by_category_price_and_size(held):
    found = catalogue.find(held, Wish(category="tents", max_cents=35000, persons=2))
    assert [product.family for product in found] == ["Basecamp 4", "Fjell 2", "Fjell 2"]
    assert all(product.price_cents <= 35000 for product in found)


def test_products_are_found_by_words_in_either_number(held):
    assert [product.sku for product in catalogue.find(held, Wish(text="headlamps"))] == [
        "LGT-L200-BLK",
        "LGT-L400-ORG",
    ]


def test_a_sleeping_bag_is_found_by_the_cold_that_it_stands(held):
    found = catalogue.find(held, Wish(category="sleeping-bags", comfort_c=-5))
    assert {product.family for product in found} == {"Dune -5", "Polar -15"}


def test_the_lightest_comes_first_when_it_is_asked_for(held):
    weights = [product.weight_g for product in catalogue.find(held, Wish(sort="weight"))]
    assert weights == sorted(weights)


@pytest.mark.parametrize(
    ("text", "sku"),
    [
        ("Fjell 2", "TNT-FJ2-GRN"),
        ("the orange Fjell 2", "TNT-FJ2-ORG"),
        ("tnt-fj3-grn", "TNT-FJ3-GRN"),
        ("Dune -5 blue", "BAG-DNM5-BLU"),
        ("dune 5 sleeping bag", "BAG-DN5-BLU"),
        ("scout kids backpack", "PCK-SCT14-YEL"),
        ("squall", "JKT-SQL-BLU"),
    ],
)
def test_a_product_is_recognised_by_what_people_call_it(held, text, sku):
    product = catalogue.match(held, text)
    assert product is not None
    assert product.sku == sku


@pytest.mark.parametrize("text", ["", "bicycle", "'; DROP TABLE product; --", "%", "☃"])
def test_what_is_not_sold_matches_nothing(held, text):
    assert catalogue.match(held, text) is None


def test_an_article_has_its_other_colours(held):
    product = catalogue.by_sku(held, "TNT-FJ2-GRN")
    assert product is not None
    assert [other.colour for other in catalogue.siblings(held, product)] == ["orange"]


def test_stock_is_counted_place_by_place(held):
    levels = stock.levels_of(held, "PCK-TRK65-RED")
    product = catalogue.by_sku(held, "PCK-TRK65-RED")
    assert [level.city for level in levels] == ["Leipzig", "Rotterdam", "Berlin", "Hamburg", "Munich"]
    assert product is not None
    assert sum(level.quantity for level in levels) == product.in_stock


def test_what_runs_low_is_at_its_reorder_level_and_the_emptiest_first(held):
    low = [level for city in stock.CITIES for level in stock.low(held, city)]
    assert low
    assert all(level.quantity <= level.reorder_level and level.missing > 0 for level in low)
    berlin = [level.quantity for level in stock.low(held, "Berlin")]
    assert berlin == sorted(berlin)


def test_an_orders_total_is_its_lines_and_its_shipping(held):
    order = orders.by_number(held, 1111)
    assert order is not None
    assert order.total_cents == order.shipping_cents + sum(
        line.quantity * line.unit_cents for line in order.lines
    )


def test_a_customers_orders_are_only_his_own_and_the_newest_first(held):
    found = orders.of_customer(held, 1)
    assert {order.customer for order in found} == {"Anna Berg"}
    assert [order.number for order in found] == [1118, 1111, 1104, 1084, 1055, 1020]


def test_orders_are_found_by_status_customer_days_and_value(held):
    found, total = orders.find(held, statuses=["paid"], since=TODAY - timedelta(days=1), until=TODAY)
    assert total == len(found) > 0
    assert {order.status for order in found} == {"paid"}
    assert orders.find(held, customer="anna berg", min_cents=1)[1] == 6
    assert orders.find(held, city="berlin", limit=1)[1] > 1


def test_a_late_parcel_should_have_arrived_before_today(held):
    late = orders.late(held, TODAY)
    assert late
    for order in late:
        assert order.shipment is not None
        assert order.shipment.is_late(TODAY)


def test_a_customer_is_found_by_name_address_and_city(held):
    assert [found.id for found in customers.find(held, "anna.berg@")] == [1]
    assert {found.city for found in customers.find(held, city="munich")} == {"Munich"}
    assert customers.find(held, "nobody") == []


def test_the_categories_add_up_to_the_sales_of_a_period(held):
    whole = reports.sales(held, YEAR)
    parts = [reports.sales_of(held, YEAR, category) for category in catalogue.CATEGORIES]
    assert whole.goods_cents == sum(part.goods_cents for part in parts) > 0
    assert whole.pieces == sum(part.pieces for part in parts)


def test_a_cancelled_order_is_no_sale(held):
    goods = held.execute(
        "SELECT sum(quantity * unit_cents) FROM orders JOIN order_line USING (number)"
        " WHERE status <> 'cancelled' AND placed_on >= ?",
        (YEAR.since.isoformat(),),
    ).fetchone()[0]
    assert reports.sales(held, YEAR).goods_cents == goods


def test_best_sellers_are_ranked_by_pieces(held):
    pieces = [row.pieces for row in reports.best_sellers(held, YEAR, limit=10)]
    assert pieces == sorted(pieces, reverse=True)


def test_returns_are_counted_by_reason_and_state(held):
    found = reports.returns(held, YEAR)
    assert found.cases == sum(found.reasons.values()) == sum(found.states.values()) > 0
    assert 0 < found.rate < 1


@pytest.mark.parametrize(
    ("name", "since", "until"),
    [
        ("today", "2026-11-30", "2026-11-30"),
        ("yesterday", "2026-11-29", "2026-11-29"),
        ("last_week", "2026-11-23", "2026-11-29"),
        ("last_month", "2026-10-01", "2026-10-31"),
        ("last_7_days", "2026-11-24", "2026-11-30"),
        ("this_year", "2026-01-01", "2026-11-30"),
    ],
)
def test_a_period_is_named_from_today(name, since, until):
    period = periods.named(name, TODAY)
    assert (period.since.isoformat(), period.until.isoformat()) == (since, until)


def test_shipping_is_free_from_a_value_on(held):
    rate = policies.rate_to(held, "Austria")
    assert rate is not None
    assert rate.standard_for(14999) == rate.standard_for(None) == 790
    assert rate.standard_for(15000) == 0


def test_a_store_is_closed_on_sunday(held):
    week = policies.hours(held, "Berlin")
    assert (week[5].opens, week[5].closes) == ("10:00", "18:00")
    assert week[6].opens is None


# what the tools offer is what the database has


def test_the_words_of_the_tools_are_those_of_the_database(held):
    def column(query: str) -> set[str]:
        return {row[0] for row in held.execute(query)}

    assert column("SELECT DISTINCT category FROM product") == set(catalogue.CATEGORIES)
    assert column("SELECT DISTINCT colour FROM product") == set(catalogue.COLOURS)
    assert column("SELECT city FROM place") == set(stock.CITIES)
    assert column("SELECT DISTINCT city FROM opening") == set(policies.STORES)
    assert column("SELECT country FROM shipping_rate") == set(policies.COUNTRIES)
    assert column("SELECT topic FROM policy") == set(policies.TOPICS)


# the model


@pytest.mark.parametrize(
    ("environ", "label"),
    [
        ({}, "scripted"),
        (
            {"LLM_URL": "http://127.0.0.1:11434/v1", "LLM_MODEL": "qwen3"},
            "qwen3 at http://127.0.0.1:11434/v1",
        ),
        ({"ANTHROPIC_API_KEY": "secret", "ANTHROPIC_MODEL": "claude-x"}, "claude-x (Anthropic)"),
    ],
)
def test_the_environment_chooses_the_model(environ, label):
    assert model_choice.chosen(environ).label == label


@pytest.mark.parametrize(("given", "missing"), [("LLM_URL", "LLM_MODEL"), ("LLM_MODEL", "LLM_URL")])
def test_half_a_choice_of_model_is_one_sentence(given, missing):
    with pytest.raises(RuntimeError, match=f"set {missing} as well"):
        model_choice.chosen({given: "something"})


def test_the_agents_and_their_page_take_the_model_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LLM_MODEL", "qwen3")
    app = create_app({"SHOP_DATA": tmp_path})
    assert app.extensions["litro_agent"].providers["concierge"].model == "qwen3"
    assert "qwen3 at http://127.0.0.1:9/v1" in app.test_client().get("/chat/concierge").text


# pages


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?category=tents",
        "/?q=rain",
        "/?q=nothing+at+all",
        "/products/TNT-FJ2-GRN",
        "/stores",
        "/sign-in",
    ],
)
def test_a_visitor_may_see_the_shop(client, path):
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/?category=cars", "/products/nope", "/chat/nobody", "/nothing"])
def test_what_is_not_there_is_a_page_that_says_so(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert "Birch &amp; Cairn" in response.text


def test_a_page_brings_no_inline_script_or_style(client):
    for path in ("/", "/products/TNT-FJ2-GRN", "/stores", "/sign-in", "/chat/concierge"):
        response = client.get(path)
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", response.text), path
        policy = response.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


def test_what_a_visitor_types_is_shown_as_text(client):
    page = client.get("/", query_string={"q": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(("username", "name", "role"), seed.ACCOUNTS)
def test_a_demo_account_signs_in_and_out(client, username, name, role):
    assert sign_in(client, username).status_code == 302
    page = client.get("/").text
    assert name in page
    token = re.search(r'id="sign-out-token"[^>]*value="([^"]+)"', page)
    assert token is not None
    assert client.post("/sign-out", data={"csrf_token": token[1]}).status_code == 302
    assert name not in client.get("/").text


def test_passwords_are_kept_as_hashes(held):
    for row in held.execute("SELECT password_hash FROM account"):
        assert seed.PASSWORD not in row[0]
        assert row[0].startswith(("scrypt:", "pbkdf2:"))


@pytest.mark.parametrize(("username", "password"), [("customer", "wrong"), ("nobody", seed.PASSWORD)])
def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(client, username, password):
    response = sign_in(client, username, password)
    assert response.status_code == 401
    assert "do not belong together" in response.text


def test_a_form_without_its_token_is_refused(client):
    response = client.post("/sign-in", data={"username": "customer", "password": seed.PASSWORD})
    assert response.status_code == 400
    assert "load the page again" in response.text


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/orders", "/orders"),
        ("//evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/\r\nX: y", "/"),
    ],
)
def test_sign_in_leads_nowhere_but_into_the_shop(client, target, location):
    assert sign_in(client, "customer", next=target).location == location


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("/chat/concierge", "/sign-in?next=/chat/concierge"),
        ("/sign-in?next=/orders", "/sign-in?next=/orders"),
        ("/sign-in", "/sign-in"),
    ],
)
def test_sign_in_leads_back_to_where_one_was(client, page, link):
    assert f'href="{link}">Sign in' in client.get(page).text


def test_an_operator_whose_sign_in_lapsed_is_led_back_to_the_page_that_he_wanted(client):
    way = client.get("/litro/?tool=refund_order").location
    assert way == "/sign-in?next=%2Flitro%2F%3Ftool%3Drefund_order"
    assert fill_in(client, way, "operator").location == "/litro/?tool=refund_order"
    assert client.get("/litro/?tool=refund_order").status_code == 200


def test_my_orders_are_for_the_signed_in_customer(client):
    assert client.get("/orders").location == "/sign-in?next=/orders"
    sign_in(client, "customer")
    page = client.get("/orders").text
    assert "Order 1118" in page
    assert "Order 1119" not in page


def test_staff_have_no_orders_of_their_own(client):
    sign_in(client, "support")
    assert client.get("/orders").status_code == 403


def test_the_concierge_talks_to_everybody(client):
    page = client.get("/chat/concierge").text
    assert "Concierge" in page
    assert "scripted" in page


def test_the_assistant_asks_visitors_to_sign_in_and_refuses_customers(client):
    assert client.get("/chat/assistant").location == "/sign-in?next=/chat/assistant"
    sign_in(client, "customer")
    assert client.get("/chat/assistant").status_code == 403


@pytest.mark.parametrize("username", ["support", "operator"])
def test_the_assistant_talks_to_staff(client, username):
    sign_in(client, username)
    assert client.get("/chat/assistant").status_code == 200


AGENT_HEADERS = {"X-Litro-Agent": "1"}


def ask(client: FlaskClient, agent: str, session: str, text: str) -> str:
    return client.post(f"/__litro/agent/{agent}/{session}", json={"text": text}, headers=AGENT_HEADERS).text


@pytest.mark.parametrize(("username", "status"), [(None, 401), ("customer", 403)])
def test_the_assistants_route_is_closed_as_its_page_is(client, username, status):
    if username:
        sign_in(client, username)
    response = client.post("/__litro/agent/assistant/s1", json={"text": "hello"}, headers=AGENT_HEADERS)
    assert response.status_code == status


def test_what_a_visitor_said_comes_along_when_he_signs_in(client, monkeypatch):
    monkeypatch.setenv("DEMO_SPEED", "0")
    said = ask(client, "concierge", "mine", "Where is my last order?")
    assert "forbidden" in said
    sign_in(client, "customer")
    replayed = client.get("/__litro/agent/concierge/mine?from=1", headers=AGENT_HEADERS).text
    assert "Where is my last order?" in replayed
    assert "1118" in ask(client, "concierge", "mine", "Where is my last order?")


def test_after_signing_out_the_conversation_is_gone(client, monkeypatch):
    monkeypatch.setenv("DEMO_SPEED", "0")
    sign_in(client, "customer")
    ask(client, "concierge", "private", "Show my orders")
    token = re.search(r'id="sign-out-token"[^>]*value="([^"]+)"', client.get("/").text)
    client.post("/sign-out", data={"csrf_token": token[1] if token else ""})
    assert client.get("/__litro/agent/concierge/private?from=1", headers=AGENT_HEADERS).status_code == 404


# the data folder


def test_the_secret_key_stays_and_is_for_the_owners_eyes(tmp_path):
    folder = tmp_path / "data"
    keys = {create_app({"SHOP_DATA": folder}).secret_key for _ in range(2)}
    assert len(keys) == 1
    assert len(keys.pop() or "") == 64
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_shops_in_one_process_have_two_keys(tmp_path):
    one, other = (create_app({"SHOP_DATA": tmp_path / name}) for name in ("one", "other"))
    assert one.secret_key != other.secret_key


def test_a_database_of_another_version_is_one_sentence(tmp_path):
    other = sqlite3.connect(tmp_path / "shop.db")
    other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(RuntimeError, match=r"shop\.db was made by another version of the shop: move it away"):
        create_app({"SHOP_DATA": tmp_path})


FIRST_START = """
import sys
from example_app import create_app, database, shop
print("ready", flush=True)
sys.stdin.read(1)
app = create_app()
with app.app_context():
    print(app.secret_key, database.connection().execute("SELECT count(*) FROM orders").fetchone()[0])
"""


@pytest.mark.server
def test_four_processes_that_start_at_once_make_one_shop(tmp_path):
    environ = {**os.environ, "SHOP_DATA": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST_START],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("g")
        process.stdin.close()
        process.stdin = None
    answers = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 4, answers
    assert len({said for said, _ in answers}) == 1
    assert answers[0][0].endswith(" 230\n")


def test_a_start_that_died_half_way_leaves_nothing_half(tmp_path):
    (tmp_path / "shop.db.draft").write_bytes(b"half a database")
    app = create_app({"SHOP_DATA": tmp_path})
    assert app.test_client().get("/").status_code == 200
    assert not (tmp_path / "shop.db.draft").exists()


# the server

WITHOUT_GEVENT = """
import runpy, sys

class NoGevent:
    def find_spec(self, name, path=None, target=None):
        if name == "gevent":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoGevent())
runpy.run_module("example_app", run_name="__main__")
"""
SERVERS = {"gevent": ["-m", "example_app"], "threads": ["-c", WITHOUT_GEVENT]}


def start_shop(folder: Path, command: list[str], *arguments: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "SHOP_DATA": str(folder), "DEMO_SPEED": "0", "PYTHONPATH": str(ROOT)}
    for name in ("LLM_URL", "LLM_MODEL", "ANTHROPIC_API_KEY"):
        environ.pop(name, None)
    return subprocess.Popen(
        [sys.executable, *command, *arguments],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.server
@pytest.mark.parametrize("kind", SERVERS)
def test_the_demo_says_one_line_serves_and_ends_clean(tmp_path, kind):
    if kind == "gevent":
        pytest.importorskip("gevent", reason="gevent is missing: pip install 'flask-litro-agent[gevent]'")
    process = start_shop(tmp_path, SERVERS[kind], "--port", "0")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(
            r"Shop: http://127\.0\.0\.1:\d+ · model: scripted \(set LLM_URL \+ LLM_MODEL or ANTHROPIC_API_KEY\)"
            r" · sign in: customer, support, operator, second \(password outdoor\) · data: .+\n",
            line,
        )
        address = line.split()[1]
        with urllib.request.urlopen(f"{address}/", timeout=20) as response:
            assert "Good things for bad weather" in response.read().decode()
        assert "turn-end" in _ask(address, "Show me tents for two under 350 euros")
    finally:
        process.send_signal(signal.SIGTERM)
        rest, complaints = process.communicate(timeout=30)
    assert (process.returncode, rest, complaints) == (0, "", "Stopped by SIGTERM.\n")


QUITTER = """
from gevent import monkey; monkey.patch_all()
import socket, sys
from flask import Flask
from example_app.serve import serve

app = Flask("quitter")
app.add_url_rule("/", "quit", sys.exit)
listener = socket.create_server(("127.0.0.1", 0))
print(f"Shop: http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
sys.exit(serve(app, listener))
"""


@pytest.mark.server
def test_a_demo_that_ends_without_a_signal_says_why_and_does_not_call_it_success(tmp_path):
    pytest.importorskip("gevent", reason="gevent is missing: pip install 'flask-litro-agent[gevent]'")
    process = start_shop(tmp_path, ["-c", QUITTER])
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=20)
        _, complaints = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait(10)
    assert process.returncode == 1
    assert "SystemExit" in complaints
    assert complaints.endswith("The shop stopped, and no signal asked it to: the reason stands above.\n")


def _ask(address: str, text: str) -> str:
    request = urllib.request.Request(
        f"{address}/__litro/agent/concierge/first",
        data=f'{{"text": "{text}"}}'.encode(),
        headers={"Content-Type": "application/json", "X-Litro-Agent": "1"},
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.read().decode()


@pytest.mark.server
def test_a_busy_port_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        process = start_shop(tmp_path, ["-m", "example_app"], "--port", str(port))
        said, complaints = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == ""
    assert complaints == (
        f"Cannot listen on 127.0.0.1:{port} (Address already in use): choose another one with --port\n"
    )


@pytest.mark.server
def test_gunicorn_serves_the_shop_with_two_gevent_workers(tmp_path):
    pytest.importorskip("gunicorn", reason="gunicorn is missing: pip install 'flask-litro-agent[gevent]'")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = ["-m", "gunicorn", "example_app:create_app()", "-k", "gevent", "-w", "2", "-b", address[7:]]
    process = start_shop(tmp_path, command, "--log-level", "error")
    try:
        assert "Good things for bad weather" in _wait_for(f"{address}/", seconds=90)
        assert "turn-end" in _ask(address, "Is the Squall rain jacket in stock in Berlin?")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0


def _wait_for(url: str, *, seconds: float) -> str:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return response.read().decode()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
