"""Parameters that several tools ask for, said once in the same words."""

from __future__ import annotations

from marshmallow import fields, validate

from example_app import catalogue, periods, policies, stock

__all__ = [
    "address",
    "category",
    "cents",
    "country",
    "customer_id",
    "hold",
    "limit",
    "number_of",
    "order_number",
    "period",
    "place",
    "product",
    "reason",
    "sku",
    "store",
]


def product(*, required: bool = True) -> fields.String:
    return fields.String(
        required=required,
        validate=validate.Length(1, 80),
        metadata={"description": "Name or article number, e.g. 'Trek 65' or 'PCK-TRK65-RED'"},
    )


def order_number(*, required: bool = True) -> fields.Integer:
    return fields.Integer(
        strict=True,
        required=required,
        validate=validate.Range(1, 999_999),
        metadata={"description": "The number of an order, e.g. 1111"},
    )


def period(default: str) -> fields.String:
    return fields.String(
        load_default=default,
        validate=validate.OneOf(periods.NAMES),
        metadata={"description": "The days that count, seen from today"},
    )


def category() -> fields.String:
    return fields.String(
        validate=validate.OneOf(catalogue.CATEGORIES), metadata={"description": "Only this category"}
    )


def place() -> fields.String:
    return fields.String(
        validate=validate.OneOf(stock.CITIES), metadata={"description": "Only this warehouse or store"}
    )


def country() -> fields.String:
    return fields.String(
        validate=validate.OneOf(policies.COUNTRIES),
        metadata={"description": "Only customers from this country"},
    )


def number_of(what: str, default: int, least: int, most: int) -> fields.Integer:
    return fields.Integer(
        strict=True,
        load_default=default,
        validate=validate.Range(least, most),
        metadata={"description": what},
    )


def store() -> fields.String:
    return fields.String(
        validate=validate.OneOf(policies.STORES), metadata={"description": "Only this store"}
    )


def limit(default: int) -> fields.Integer:
    return fields.Integer(
        strict=True,
        load_default=default,
        validate=validate.Range(1, 50),
        metadata={"description": "At most so many entries"},
    )


def sku() -> fields.String:
    return fields.String(
        required=True,
        validate=validate.Regexp(r"[A-Z0-9-]{3,20}\Z"),
        metadata={"description": "The article number as product_details returns it, e.g. 'PCK-TRK65-RED'"},
    )


def cents(what: str, most: int = 1_000_000) -> fields.Integer:
    return fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, most),
        metadata={"description": f"{what} in cents: 1250 is €12.50"},
    )


def customer_id() -> fields.Integer:
    return fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, 10_000_000),
        metadata={"description": "The number that find_customers returns"},
    )


def reason() -> fields.String:
    return fields.String(
        required=True,
        validate=validate.Length(1, 200),
        metadata={"description": "Why, in a few words that the person said"},
    )


def address() -> fields.String:
    return fields.String(
        required=True,
        validate=validate.Length(8, 200),
        metadata={"description": "The whole new address in one line: street, postcode, town, country"},
    )


def hold() -> fields.Boolean:
    return fields.Boolean(
        required=True,
        metadata={"description": "true holds the order back, false lets it go on"},
    )
