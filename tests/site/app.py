"""The test site. Whoever the header X-Actor names is signed in; the text of a message is the model's script."""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, request

from flask_litro_agent import Actor, LitroAgent
from flask_litro_agent.contracts import Rendered
from tests.site import slow_disk

PEOPLE = {
    "ann": Actor("ann", "Ann", frozenset({"secrets:read"})),
    "bob": Actor("bob", "Bob"),
}


class TagRenderer:
    """Renders a component as an empty tag, and knows only ``x-card``."""

    def render(self, component, props):
        if component != "x-card":
            raise LookupError(component)
        return Rendered("<x-card>canary-html</x-card>", {"props": dict(props)})


class TagPlugin:
    """The site's own plugin."""

    from flask_litro_agent import hookimpl

    @hookimpl
    def register_renderers(self):
        return {"tag": TagRenderer}

    @hookimpl
    def register_session_stores(self, app):
        return slow_disk.stores(app)


def create_app(config=None):
    """Return the site; settings also come from environment variables that start with LITRO_."""
    app = Flask(__name__, instance_path=os.environ.get("SITE_INSTANCE"))
    app.config.update(
        SECRET_KEY="for tests", LITRO_AGENTS=str(Path(__file__).parent / "agents"), LITRO_RENDERER="tag"
    )
    app.config.from_prefixed_env("SITE")
    app.config.update(config or {})
    litro = LitroAgent(plugins=[TagPlugin()])

    @litro.request_loader
    def current():
        return PEOPLE.get(request.headers.get("X-Actor", ""))

    @litro.actor_loader
    def by_id(actor_id):
        return PEOPLE.get(actor_id)

    litro.init_app(app)
    app.extensions["site_litro"] = litro

    @app.get("/")
    def home():
        return "home"

    @app.after_request
    def name_the_process(response):
        response.headers["X-Process"] = str(os.getpid())
        return response

    return app
