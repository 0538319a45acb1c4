"""Parameters that several tools ask for, said once in the same words."""

from __future__ import annotations

from marshmallow import fields, validate

from example_app import catalogue, periods, policies, stock

__all__ = ["category", "limit", "order_number", "period", "place", "product", "store"]


def product() -> fields.String:
    return fields.String(
        required=True,
        validate=validate.Length(1, 80),
        metadata={"description": "Name or article number, e.g. 'Trek 65' or 'PCK-TRK65-RED'"},
    )


def order_number(*, required: bool = True) -> fields.Integer:
    return fields.Integer(
        strict=True,
        required=required,
        validate=validate.Range(1000, 999_999),
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
