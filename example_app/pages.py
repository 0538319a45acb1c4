"""The shop's pages: ordinary Flask, with a chat page for each agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from flask import (
    Blueprint,
    Flask,
    abort,
    current_app,
    flash,
    jsonify,
    redirect,
    render_template,
    request,
    url_for,
)
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from example_app import (
    accounts,
    baskets,
    catalogue,
    collections,
    components,
    database,
    orders,
    policies,
    seed,
    stock,
    suggestions,
)
from example_app.assistant import months
from example_app.identity import actor_of, litro
from example_app.money import euros

__all__ = ["init_app"]

pages = Blueprint("shop", __name__)
_MOST_OFFERED = 30


def init_app(app: Flask) -> None:
    """Register the pages, their error page and what every template knows."""
    app.register_blueprint(pages)
    app.register_error_handler(HTTPException, _sorry)
    app.add_template_filter(euros)
    app.context_processor(_everywhere)


@pages.get("/")
def home() -> str:
    """Every product, or those of a category that fit a few words."""
    category = request.args.get("category")
    if category is not None and category not in catalogue.CATEGORIES:
        abort(404)
    words = request.args.get("q", "")[:80]
    held = database.connection()
    found = catalogue.find(held, catalogue.Wish(text=words, category=category, sort="rating"))
    shown = [(collection.name, _cards(held, collection.skus)) for collection in collections.published(held)]
    return render_template(
        "home.html",
        products=[components.product_card(each) for each in found],
        category=category,
        words=words,
        collections=shown,
    )


@pages.get("/products/<sku>")
def product(sku: str) -> str:
    """One product with its stock, its other colours and its reviews."""
    held = database.connection()
    found = catalogue.by_sku(held, sku) or abort(404)
    return render_template(
        "product.html",
        product=found,
        levels=stock.levels_of(held, found.sku),
        siblings=catalogue.siblings(held, found),
        reviews=catalogue.reviews_of(held, found.sku),
    )


@pages.get("/stores")
def stores() -> str:
    """Opening hours, shipping and returns."""
    held = database.connection()
    return render_template(
        "stores.html",
        stores=[
            (city, policies.address_of(held, city), policies.hours(held, city)) for city in policies.STORES
        ],
        rates=policies.rates(held),
        policies=[policies.policy(held, topic) for topic in policies.TOPICS],
    )


@pages.get("/orders")
def my_orders() -> str | Response:
    """The signed-in customer's own orders."""
    account = accounts.signed_in()
    if account is None:
        return redirect(url_for("shop.sign_in", next=request.path))
    if account.customer_id is None:
        abort(403, "Only customers have orders of their own.")
    found = orders.of_customer(database.connection(), account.customer_id)
    shown = [components.order_summary(order, date.today()) for order in found]
    return render_template("orders.html", orders=shown)


@pages.get("/basket")
def basket() -> str:
    """What lies in the visitor's basket; ``?add=SKU`` asks whether to put something in."""
    held = database.connection()
    offered = [catalogue.by_sku(held, sku) for sku in request.args.getlist("add")[:_MOST_OFFERED]]
    return render_template(
        "basket.html",
        basket=components.basket("In your basket", baskets.contents(held)),
        offered=[product for product in offered if product],
    )


@pages.post("/basket")
def add_to_basket() -> Response:
    """Put articles into the basket: for a form, and for a component's module."""
    baskets.add(database.connection(), request.form.getlist("add")[:_MOST_OFFERED])
    if request.accept_mimetypes.best == "application/json":
        return jsonify(count=baskets.count())
    flash("It is in your basket.")
    return redirect(url_for("shop.basket"))


@pages.post("/basket/empty")
def empty_basket() -> Response:
    """Take everything out of the basket."""
    baskets.empty()
    return redirect(url_for("shop.basket"))


@pages.get("/sales")
def sales() -> str | Response:
    """The months' revenue, for operators."""
    account = accounts.signed_in()
    if account is None:
        return redirect(url_for("shop.sign_in", next=request.path))
    if account.role != "operator":
        abort(403, "Only operators see the sales.")
    found = months.last(database.connection(), date.today(), 12)
    chart = components.sales_chart("Revenue by month", {month.month: month.gross_cents for month in found})
    return render_template("sales.html", chart=chart)


@pages.get("/chat/<agent>")
def chat(agent: str) -> str | Response:
    """The page on which a person talks to an agent; the agent itself says who may."""
    installed = current_app.extensions["litro_agent"]
    found = installed.agents.get(agent) or abort(404)
    try:
        if found.access:
            found.access()
    except HTTPException as refusal:
        if refusal.code == 401:
            return redirect(url_for("shop.sign_in", next=request.path))
        raise
    account = accounts.signed_in()
    return render_template(
        "chat.html",
        agent={"name": agent, "title": found.title},
        suggestions=suggestions.for_actor(agent, actor_of(account) if account else None),
        model_name=current_app.config["SHOP_MODEL"].label,
        signed_in=account.name if account else None,
        url_prefix=installed.settings.url_prefix,
    )


@pages.route("/sign-in", methods=["GET", "POST"])
def sign_in() -> str | Response | tuple[str, int]:
    """Sign in, and take along what was said before it."""
    form = accounts.SignInForm()
    if not form.validate_on_submit():
        return render_template("sign_in.html", form=form, demo=seed.ACCOUNTS, password=seed.PASSWORD)
    account = accounts.authenticate(database.connection(), form.username.data, form.password.data)
    if account is None:
        flash("That name and that password do not belong together.")
        return render_template("sign_in.html", form=form, demo=seed.ACCOUNTS, password=seed.PASSWORD), 401
    visitor = litro.visitor_id()
    accounts.start(account)
    litro.hand_over(visitor, actor_of(account))
    flash(f"Welcome, {account.name}.")
    return redirect(_inside(request.args.get("next", "")) or url_for("shop.home"))


@pages.post("/sign-out")
def sign_out() -> Response:
    """Sign out."""
    accounts.stop()
    flash("You are signed out.")
    return redirect(url_for("shop.home"))


def _cards(held: sqlite3.Connection, skus: Sequence[str]) -> list[dict[str, Any]]:
    found = (catalogue.by_sku(held, sku) for sku in skus)
    return [components.product_card(product) for product in found if product]


def _everywhere() -> dict[str, Any]:
    return {
        "account": accounts.signed_in(),
        "basket_count": baskets.count(),
        "categories": catalogue.CATEGORIES,
        "sign_out_form": accounts.SignOutForm(),
    }


def _sorry(error: HTTPException) -> Response | tuple[str, int]:
    if error.code is None or error.code < 400:
        return error.get_response()
    said = (
        "Please load the page again: the form was too old."
        if isinstance(error, CSRFError)
        else error.description
    )
    return render_template("sorry.html", code=error.code, name=error.name, said=said), error.code


def _inside(target: str) -> str | None:
    """Return the path when it leads to this site and nowhere else."""
    parts = urlsplit(target)
    is_path = target.startswith("/") and not target.startswith("//") and "\\" not in target
    return target if is_path and target.isprintable() and not parts.scheme and not parts.netloc else None
