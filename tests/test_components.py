"""A site's components in its conversations and in its pages: one template, one look, one list of what may be loaded."""

from __future__ import annotations

import base64
import decimal
import hashlib
import json
import logging

import pytest
from flask import Blueprint, render_template_string
from marshmallow import Schema, fields

from flask_litro_agent import ConfigurationError, LitroAgent, ui
from flask_litro_agent.components import Components, text_form
from flask_litro_agent.contracts import Entry, Rendered
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.testing import AgentClient, call
from flask_litro_agent.turns.history import History
from tests.component_site import weather_site, write_asset, write_template
from tests.small_site import new_app, write_agent, write_tool

CARD = 'return ui("weather-card", data={"city": "Lisbon"}, city="Lisbon", temp_c=21, days=[])'
HTML = (
    '<weather-card city="Lisbon" temp-c="21"><template shadowrootmode="open">'
    '<link rel="stylesheet" href="/__litro/components/weather-card.css">'
    '\n<h3 title="Lisbon">Lisbon</h3>\n<p>21 °C</p>\n<ul></ul></template></weather-card>'
)


class WeatherProps(Schema):
    city = fields.String(required=True)
    temp_c = fields.Integer(load_default=0)
    days = fields.List(fields.Dict(), load_default=list)
    wind = fields.String()


@pytest.fixture
def folder(tmp_path):
    write_tool(write_agent(weather_site(tmp_path)), "card", CARD)
    return tmp_path


def start(folder, *, schema=None, **config):
    app = new_app(folder, **config)
    litro = LitroAgent()
    if schema is not None:
        litro.component("weather-card")(schema)
    litro.init_app(app)
    return app


def shown(app):
    turn = AgentClient(app, "demo", script=[call("card"), "there"]).send("show")
    (payload,) = (event.payload for event in turn.events if event.kind == "ui")
    return payload


def refusal(app):
    (result,) = AgentClient(app, "demo", script=[call("card"), "oh"]).send("show").results
    return result["error"]["message"]


def test_jinja_is_the_renderer_unless_the_site_names_another(folder):
    payload = shown(start(folder))
    assert payload["html"] == HTML
    assert payload["hydrate"] == {
        "component": "weather-card",
        "props": {"days": []},
        "modules": ["weather-card.js"],
    }


def test_the_same_component_stands_in_a_page(folder):
    app = start(folder)
    with app.test_request_context():
        page = render_template_string(
            "{{ litro_component('weather-card', city='Lisbon', temp_c=21, days=[]) }}"
        )
    assert page == HTML == shown(app)["html"]


def test_in_a_page_a_value_that_json_does_not_know_is_its_text(folder):
    with start(folder).test_request_context():
        page = render_template_string(
            "{{ litro_component('weather-card', city='Lisbon', temp_c=degrees, days=()) }}",
            degrees=decimal.Decimal("21"),
        )
    assert page == HTML


def test_an_unknown_component_in_a_page_is_an_error(folder):
    with (
        start(folder).test_request_context(),
        pytest.raises(LookupError, match="did you mean 'weather-card'"),
    ):
        render_template_string("{{ litro_component('weather-cart') }}")


def test_the_light_renderer_is_one_setting_away(folder):
    assert "<template" not in shown(start(folder, LITRO_RENDERER="light"))["html"]


@pytest.mark.parametrize("name", ["lit", "fast"])
def test_a_reserved_renderer_is_answered_with_a_sentence(folder, name):
    with pytest.raises(
        ConfigurationError, match="is reserved and does not exist yet; there is: jinja, light"
    ):
        start(folder, LITRO_RENDERER=name)


def test_a_faulty_template_keeps_the_site_from_starting(folder):
    write_template(folder, "bad-card.html", "<p class={{ a }}>")
    with pytest.raises(
        ConfigurationError, match=r"components/bad-card.html:1: class= has a value without quotes"
    ):
        start(folder)


def test_a_schema_of_a_component_that_there_is_not_keeps_the_site_from_starting(folder):
    litro = LitroAgent()
    litro.component("product-card")(WeatherProps)
    with pytest.raises(ConfigurationError, match="'product-card' has a schema for its props and no template"):
        litro.init_app(new_app(folder))


def test_two_schemas_of_one_component_are_an_error(folder):
    litro = LitroAgent()
    litro.component("weather-card")(WeatherProps)
    with pytest.raises(ConfigurationError, match="has two schemas"):
        litro.component("weather-card")(WeatherProps)


def test_a_schema_after_init_app_is_an_error(folder):
    litro = LitroAgent(new_app(folder))
    with pytest.raises(ConfigurationError, match="registered after init_app"):
        litro.component("weather-card")


def render(app, **props):
    return app.extensions[EXTENSION].render(ui("weather-card", data=None, **props))


@pytest.mark.parametrize(
    ("props", "said"),
    [
        ({}, '"city": ["Missing data for required field."]'),
        ({"city": "Lisbon", "town": 1}, '"town": ["Unknown field."]'),
        ({"city": 7}, '"city": ["Not a valid string."]'),
    ],
)
def test_props_that_the_schema_refuses_are_an_error_that_names_them(folder, props, said):
    with pytest.raises(ValueError, match="the props of 'weather-card' are wrong") as caught:
        render(start(folder, schema=WeatherProps), **props)
    assert said in str(caught.value)


def test_a_prop_that_the_schema_lets_be_left_out_has_its_default_or_is_none(folder):
    write_template(folder, "weather-card.html", "{{ city }} {{ temp_c }} {{ wind is none }}")
    assert ">Lisbon 0 True<" in render(start(folder, schema=WeatherProps), city="Lisbon").html


def test_a_component_inside_another_is_checked_by_its_schema_too(folder):
    write_template(folder, "outer-card.html", "{{ litro_component('weather-card', town='x') }}")
    app = start(folder, schema=WeatherProps)
    with pytest.raises(ValueError, match="the props of 'weather-card' are wrong"):
        app.extensions[EXTENSION].render(ui("outer-card", data=None))


def test_wrong_props_are_a_tool_error_and_the_log_says_which(folder, caplog):
    write_tool(folder / "agents" / "demo", "card", 'return ui("weather-card", data=1, town="x")')
    with caplog.at_level(logging.ERROR):
        assert (
            refusal(start(folder, schema=WeatherProps))
            == "the component 'weather-card' could not be rendered"
        )
    assert '"town": ["Unknown field."]' in caplog.text


def digest(text):
    return f"sha384-{base64.b64encode(hashlib.sha384(text.encode()).digest()).decode()}"


def module(folder):
    return (folder / "static" / "components" / "weather-card.js").read_text()


def test_the_list_says_what_may_be_loaded_with_its_integrity(folder):
    write_template(folder, "plain-card.html", "x")
    assert start(folder).test_client().get("/__litro/components.json").json == {
        "components": {
            "plain-card": {"modules": [], "style": None},
            "weather-card": {
                "modules": [
                    {"src": "/__litro/components/weather-card.js", "integrity": digest(module(folder))}
                ],
                "style": "/__litro/components/weather-card.css",
            },
        }
    }


def test_the_list_of_an_app_below_a_path_has_that_path(folder):
    client = start(folder).test_client()
    listed = client.get("/__litro/components.json", environ_overrides={"SCRIPT_NAME": "/shop"}).json
    assert listed["components"]["weather-card"]["style"] == "/shop/__litro/components/weather-card.css"


def test_an_app_below_a_path_says_so_and_its_stylesheets_are_found(folder):
    assert (
        'href="/shop/__litro/components/weather-card.css"'
        in shown(start(folder, APPLICATION_ROOT="/shop"))["html"]
    )


def test_the_prefix_of_the_routes_is_that_of_the_components(folder):
    app = start(folder, LITRO_URL_PREFIX="/agents")
    assert 'href="/agents/components/weather-card.css"' in render(app, city="x", temp_c=1, days=[]).html
    assert app.test_client().get("/agents/components/weather-card.css").status_code == 200


@pytest.mark.parametrize(
    ("file", "kind"), [("weather-card.js", "text/javascript"), ("weather-card.css", "text/css")]
)
def test_a_file_is_served_as_what_it_is_and_kept_as_long_as_it_is_the_same(folder, file, kind):
    client = start(folder).test_client()
    answer = client.get(f"/__litro/components/{file}")
    assert answer.data == (folder / "static" / "components" / file).read_bytes()
    assert answer.mimetype == kind
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-cache"
    again = client.get(f"/__litro/components/{file}", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize(
    "file",
    ["..%2Fapp.py", "%2e%2e/secret.js", "nothing.js", "weather-card.html", "weather-card.js/", "a%00.js"],
)
def test_any_other_file_is_not_found(folder, file):
    (folder / "secret.js").write_text("//")
    answer = start(folder).test_client().get(f"/__litro/components/{file}")
    assert answer.status_code == 404
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_module_that_changes_after_the_start_is_served_as_its_integrity_says(folder):
    app = start(folder)
    before = module(folder)
    write_asset(folder, "weather-card.js", "changed()")
    assert app.test_client().get("/__litro/components/weather-card.js").text == before


def test_in_debug_mode_a_changed_module_is_there_at_once(folder):
    app = new_app(folder)
    app.debug = True
    LitroAgent(app)
    write_asset(folder, "weather-card.js", "changed()")
    client = app.test_client()
    assert client.get("/__litro/components/weather-card.js").text == "changed()"
    (listed,) = client.get("/__litro/components.json").json["components"]["weather-card"]["modules"]
    assert listed["integrity"] == digest("changed()")


def test_in_debug_mode_a_template_is_read_and_checked_anew(folder):
    app = new_app(folder)
    app.debug = True
    LitroAgent(app)
    write_template(folder, "weather-card.html", "changed")
    assert "changed" in render(app, city="x").html
    write_template(folder, "weather-card.html", "<p class={{ city }}>")
    with pytest.raises(ConfigurationError, match="class= has a value without quotes"):
        render(app, city="x")


def tags(app, *names):
    with app.test_request_context():
        return render_template_string("{{ litro_component_modules(*names) }}", names=names)


def test_a_page_gets_the_script_tags_with_their_integrity(folder):
    source = "/__litro/components/weather-card.js"
    tag = f'<script type="module" src="{source}" integrity="{digest(module(folder))}"></script>'
    assert tags(start(folder)) == tag == tags(start(folder), "weather-card")


def test_modules_of_an_unknown_component_are_an_error(folder):
    with pytest.raises(LookupError, match="no component named 'x-card'; there is: weather-card"):
        tags(start(folder), "x-card")


def test_what_a_blueprint_brings_after_the_start_is_not_among_the_components(folder):
    """Components are fixed at start-up: register the blueprint before init_app."""
    app = start(folder)
    late = folder / "late"
    write_template(late, "late-card.html", "late")
    app.register_blueprint(Blueprint("late", __name__, root_path=str(late), template_folder="templates"))
    with pytest.raises(LookupError, match="no component named 'late-card'"):
        app.extensions[EXTENSION].render(ui("late-card", data=None))


class Asking:
    """A renderer that takes the names of modules from its props."""

    components: dict = {}  # noqa: RUF012  # a renderer's, as a stranger writes it
    assets: dict = {}  # noqa: RUF012

    def render(self, component, props):
        return Rendered(
            "<x-card></x-card>", {"component": "x-card", "props": {}, "modules": [props["module"]]}
        )


@pytest.mark.parametrize(
    "name",
    [
        "https://evil.example/x.js",
        "//evil.example/x.js",
        "/../x.js",
        "../secret.js",
        "data:text/javascript,alert(1)",
        "blob:https://shop.example/1",
        "weather-card.js?x=1",
        "weather-card.js#x",
        "redirect",
        "jsonp?callback=alert",
    ],
)
def test_a_module_that_is_not_on_the_list_is_refused_whoever_asks(name):
    with pytest.raises(ValueError, match="is not in its folder"):
        Components(Asking(), {}, url="/x").render(ui("x-card", data=None, module=name))


def test_the_text_form_of_data_is_lines_that_a_person_can_read():
    data = {
        "name": "Fjell 2",
        "in_stock": True,
        "colours": ["red", "blue"],
        "of": [{"a": 1, "b": None}],
        "none": [],
    }
    assert text_form(data) == (
        "name: Fjell 2\nin stock: yes\ncolours:\n  - red\n  - blue\nof:\n  - a: 1\n    b: –\nnone: –"
    )


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\u202e", "\u2066", "\u200b", "\x9b", "\r", "\u2028"])
def test_in_the_text_form_no_character_moves_the_others(folder, character):
    write_template(folder, "weather-card.txt", "{{ city }}")
    text = render(start(folder), city=f"Lis{character}bon", temp_c=1, days=[]).text
    assert text == f"Lis\\u{ord(character):04x}bon"
    assert text_form({"city": f"Lis{character}bon"}) == f"city: {text}"


def test_the_text_form_has_an_end():
    assert len(text_form("x" * 100_000)) == 4000


def test_the_report_at_start_up_names_the_components(folder):
    assert "renderer:  jinja: weather-card" in str(start(folder).extensions[EXTENSION].report)


def test_a_schema_may_be_declared_as_a_decorator(folder):
    litro = LitroAgent()

    @litro.component("weather-card")
    class Props(Schema):
        city = fields.String(required=True)

    assert Props().fields.keys() == {"city"}


def test_a_conversation_of_components_counts_their_data_alone_against_the_models_context():
    history = History(context_tokens=500)
    payload = {"call_id": "1-1", "name": "card", "html": "x" * 4000, "data": 1}
    lines = [
        ("turn-start", {"turn_id": "1", "agent": "demo"}),
        ("message", {"role": "user", "text": "first"}),
        ("tool-call", {"call_id": "1-1", "name": "card", "input": {}}),
        ("ui", payload),
        ("turn-end", {"turn_id": "1", "reason": "finished"}),
        ("turn-start", {"turn_id": "2", "agent": "demo"}),
        ("message", {"role": "user", "text": "second"}),
    ]
    for seq, (kind, said) in enumerate(lines, 1):
        line = json.dumps({"seq": seq, "ts": 1, "kind": kind, "payload": said}) + "\n"
        history.feed(Entry(seq, kind, line.encode()))
    assert "first" in repr(history.messages())
