"""The shop's app, put together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from flask import Flask, Response
from flask_wtf import CSRFProtect

from example_app import data_folder, database, model_choice, pages
from example_app.identity import litro

__all__ = ["build_app"]

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def build_app(config: Mapping[str, Any]) -> Flask:
    """Return a new app; the data folder and its database are made when they are missing."""
    folder = data_folder.open_folder(config.get("SHOP_DATA") or os.environ.get("SHOP_DATA") or "instance")
    app = Flask(__name__, instance_path=str(folder))
    app.config.from_mapping(
        SECRET_KEY=data_folder.secret_key(folder),
        SESSION_COOKIE_NAME="shop_session",
        SESSION_COOKIE_SAMESITE="Lax",
        MAX_CONTENT_LENGTH=1024 * 1024,
        WTF_CSRF_TIME_LIMIT=None,
        SHOP_MODEL=model_choice.chosen(),
        LITRO_CEILING="execute",  # what is not protected may be; the operator can lower it while the shop runs
        LITRO_PROTECTED_PERMISSIONS=(
            "refunds:*",
            "returns:*",
            "credits:*",
            "purchases:*",
            "prices:*",
            "stock:*",
            "orders:*",
            "customers:*",
        ),
        LITRO_FOUR_EYES=("refunds:*", "credits:*"),
        LITRO_SIGN_IN="/sign-in",
    )
    app.config.from_mapping(config)
    CSRFProtect(app)
    database.init_app(app)
    pages.init_app(app)
    litro.init_app(app)
    app.after_request(_secure)
    return app


def _secure(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
