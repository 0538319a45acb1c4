"""What is wrong with a component's template is said at start-up, with its line and what to write instead."""

from __future__ import annotations

import pytest
from flask import Blueprint, Flask
from jinja2 import FunctionLoader

from flask_litro_agent import ConfigurationError
from flask_litro_agent.renderers.catalogue import find_components, givers_of
from tests.component_site import write_asset, write_template


def faults(folder, template):
    write_template(folder, "x-card.html", template)
    with pytest.raises(ConfigurationError) as caught:
        find_components([Flask("site", root_path=str(folder))])
    return caught.value.faults


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("<p class={{ a }}>", "class= has a value without quotes"),
        ("<p class=x{{ a }}>", "class= has a value without quotes"),
        ("<p class=plain></p>", "class= has a value without quotes"),
        ("<p class= {{ a }}></p>", "class= has a value without quotes"),
        ("<p {{ a }}></p>", "a value cannot be a tag's or an attribute's name"),
        ("<p data-{{ a }}='x'></p>", "a value cannot be a tag's or an attribute's name"),
        ("<h{{ a }}>x</h1>", "a value cannot be a tag's or an attribute's name"),
        ("<!-- {{ a }} -->", "a value cannot stand in an html comment"),
        ("<script>let a = {{ a | tojson }}</script>", "<script> does not run in a component"),
        ("<script src='/x.js'></script>", "<script> does not run in a component"),
        ("<style>p { color: {{ a }} }</style>", "a value cannot stand inside <style>"),
        ("<p style='color: {{ a }}'></p>", "a value cannot stand in style="),
        ("<iframe srcdoc='{{ a }}'></iframe>", "a value cannot stand in srcdoc="),
        ("<p onclick='go()'></p>", "onclick= is a script"),
        ("<p ONCLICK='{{ a }}'></p>", "onclick= is a script"),
        ("<a href='{{ a }}'>x</a>", "href= needs the filter url"),
        ('<a href="{{ a | url | upper }}">x</a>', "href= needs the filter url"),
        ("<a href='/{{ a }}'>x</a>", "href= needs the filter url"),
        ("<a href='https://{{ a }}'>x</a>", "href= needs the filter url"),
        ("<a href='x{{ a }}'>x</a>", "href= needs the filter url"),
        ("<a href='{% if a %}/x/{% endif %}{{ b }}'>x</a>", "{% if %} cannot stand in href="),
        ("<img src='{{ a }}'>", "src= needs the filter url"),
        ("<form action='{{ a }}'></form>", "action= needs the filter url"),
        ("<svg><use xlink:href='{{ a }}'/></svg>", "xlink:href= needs the filter url"),
        ("<svg><title><a href='{{ a }}'></a></title></svg>", "href= needs the filter url"),
        ("<svg><textarea><a href='{{ a }}'></a></textarea></svg>", "href= needs the filter url"),
        ("<meta http-equiv='refresh' content='0;url={{ a }}'>", "<meta> is about the whole page"),
        ("<base href='/x/'>", "<base> is about the whole page"),
        ("<svg><a><animate attributeName='href' values='{{ a }}'/></a></svg>", "cannot stand in <animate>"),
        ('<a href = "{{ a }}">', "href= needs the filter url"),
        ("<a/href='{{ a }}'>", "href= needs the filter url"),
        ("<a title='x'href='{{ a }}'>", "href= needs the filter url"),
        ("<a href='{{ a | url }}{{ b }}'>", "href= needs the filter url"),
        ("<a href=' {{ a }}'>", "href= needs the filter url"),
        ("<A HREF='{{ a }}'>", "href= needs the filter url"),
        ("<!--><a href='{{ a }}'>-->", "href= needs the filter url"),
        ("<!---><p title=-->{{ a }}>x</p>", "title= has a value without quotes"),
        ("<!-- --!><p title=-->{{ a }}>x</p>", "title= has a value without quotes"),
        ("<p title=\u00a0'{{ a }}'>", "title= has a value without quotes"),
        ("<p title=\x0b'{{ a }}'>", "title= has a value without quotes"),
        ("<{{ a }}>", "< stands directly before something of Jinja's"),
        ("</{{ a }}>", "< stands directly before something of Jinja's"),
        ("<{% if a %}a{% else %}p{% endif %} href='{{ b }}'>", "< stands directly before something"),
        ("{% raw %}<{% endraw %}{{ a }}>", "< stands directly before something of Jinja's"),
        ("<{# a comment #}{{ a }}>", "< stands directly before something of Jinja's"),
        ("<p ='{{ a }}'>", "= must stand directly behind an attribute's name"),
        ("<a {% if b %}href{% else %}title{% endif %}='{{ a }}'>", "= must stand directly behind"),
        ("<a {% for b in c %}href{% endfor %}='{{ a }}'>", "= must stand directly behind"),
        ("<a {% if b %}h{% endif %}ref='{{ a }}'>", "a name must be written in one piece"),
        ("<a {% if b %}h{% endif %}{% if c %} {% endif %}ref='{{ a }}'>", "written in one piece"),
        ("<a h{# a comment #}ref='{{ a }}'>", "a name must be written in one piece"),
        ("<p {% if b %}title='{% else %}x{% endif %}{{ a }}'>", "end in different places of the html"),
        ("<p {% if b %}title={% endif %}'{{ a }}'>", "end in different places of the html"),
        ("{% if b %}<p title='{% elif c %}<p>{% else %}<p>{% endif %}{{ a }}'>", "end in different places"),
        ("{% for b in c %}<p title='{% endfor %}{{ a }}'>", "end in different places of the html"),
        ("<a href='{{ a ~ b | url }}'>", "the filter must be about the whole value"),
        ("<a href='{{ a or b | url }}'>", "the filter must be about the whole value"),
        ("<a href='{{ a if a else b | url }}'>", "the filter must be about the whole value"),
        ("<a href='/\t{{ a }}'>", "href= needs the filter url"),
        ("<img srcset='/a.png 1x, {{ a }} 2x'>", "srcset= needs the filter url"),
        ("<img srcset='/a{{ a }} 1x'>", "srcset= needs the filter url"),
        ("<img src='/x' attributionsrc='{{ a }}'>", "attributionsrc= needs the filter url"),
        ("<a ping='/a {{ a }}'>", "ping= needs the filter url"),
        ("<link rel='stylesheet' href='{{ a | url }}'>", "<link> brings in what its address says"),
        ("<iframe src='{{ a | url }}'></iframe>", "<iframe> brings in what its address says"),
        ('{% set b %}<b title="{{ a }}">{% endset %}<p title="{{ b }}">', "'b' is html already"),
        ('{% set b %}<b>{{ a }}</b>{% endset %}{% set c = b %}<p title="{{ c }}">', "'c' is html already"),
        ('{% macro m(x) %}<b title="{{ x }}">{% endmacro %}<p title="{{ m(a) }}">', "'m' is html already"),
        ("{% from 'components/_m.html' import m as n %}<p title='{{ n(a) }}'>", "'n' is html already"),
        ("{% import 'components/_m.html' as m %}<p title='{{ m.n(a) }}'>", "'m' is html already"),
        ("<p title='{{ litro_component(\"y-card\") }}'>", "'litro_component' is html already"),
        ('{% set b %}<b title="{{ a }}">{% endset %}{{ b | truncate(9) }}', "'b' is html already"),
        ('{% set b %}<b title="{{ a }}">{% endset %}{{ b[:9] }}', "'b' is html already"),
        ('{% set b %}<b title="{{ a }}">{% endset %}{{ b.rstrip("x>") }}', "'b' is html already"),
        ("{{ a | safe }}", "the filter 'safe' makes markup of a value"),
        ("{{ a | urlize }}", "the filter 'urlize' makes markup of a value"),
        ("<p {{ a | xmlattr }}></p>", "the filter 'xmlattr' makes markup of a value"),
        ("{% autoescape false %}{{ a }}{% endautoescape %}", "escaping cannot be turned off"),
        ("{% filter striptags %}{{ a }}{% endfilter %}", "{% filter %} changes what is escaped already"),
        ("{% set b | striptags %}{{ a }}{% endset %}", "{% set %} with a filter changes"),
        ("<p {% include 'components/_x.html' %}></p>", "{% include %} cannot stand inside a tag"),
        (
            "<p class='{% include \"components/_x.html\" %}'></p>",
            "{% include %} cannot stand inside an attribute",
        ),
        ("<p class='x", "ends inside an attribute's value"),
        ("<p", "ends inside a tag"),
        ("{% if a %}", "Unexpected end of template"),
        ("{{ a | nofilter }}", "No filter named 'nofilter'"),
    ],
)
def test_a_place_where_escaping_does_not_help_is_a_fault(tmp_path, template, fault):
    found = faults(tmp_path, template)
    assert any(said.startswith("components/x-card.html:1: ") and fault in said for said in found), found


@pytest.mark.parametrize(
    "template",
    [
        "<p class=\"a {{ b }} c\" title='{{ b }}'>{{ b }}</p>",
        '<a href="{{ b | url }}">x</a>',
        "<a href=\"{{ b.link | default('/') | url }}\">x</a>",
        "<a href='/products/{{ b }}?x={{ b }}'>x</a>",
        "<a href='#{{ b }}'>x</a>",
        "<a href='mailto:{{ b }}'>x</a>",
        "<option {% if b %}selected{% endif %}>x</option>",
        '<p {% if b %}class="x"{% else %}class="y"{% endif %}>x</p>',
        '<p class="{% if b %}x{% else %}y{% endif %}">x</p>',
        "<style>p { color: green }</style>",
        "<textarea>{{ b }}</textarea>",
        "a < b and {{ b }}",
        "<!-- a comment --> {# {{ another }} #}",
        "{% set c %}<b>{{ b }}</b>{% endset %}{{ c }}",
        "{% macro m(x) %}<b>{{ x }}</b>{% endmacro %}{{ m(b) }}",
        '<input type="checkbox" checked>',
        '<br/><img src="/a.svg" alt=""/>',
        "{{ b if b else '–' }}",
        '<svg viewBox="0 0 10 10"><rect height="{{ b }}"/></svg>',
        "<p{% if b %} hidden{% endif %}{% if c %} title='{{ b }}'{% endif %} class='x'>x</p>",
        "<p {% if b %}hidden {% endif %}class='x'>x</p>",
        "{% for c in b %}{% if c %}<b>{% else %}<i>{% endif %}{{ c }}{% else %}none{% endfor %}",
        "<a href='{{ (b or c) | url }}'>x</a>",
        "<img srcset='{{ b | url }} 1x, {{ c | url }} 2x'>",
        "<link rel='stylesheet' href='/themes/{{ b }}.css'>",
        "{% import 'components/_m.html' as m %}{{ m.n(b) }}{% set c = m.n(b) %}<p>{{ c }}</p>",
        "<p title='{{ b.caller }}'>{{ b.title() | upper }}</p>",
        "<!----><!-- a > b -- c -->{{ b }}",
    ],
)
def test_an_ordinary_template_has_no_fault(tmp_path, template):
    write_template(tmp_path, "x-card.html", template)
    assert list(find_components([Flask("site", root_path=str(tmp_path))]).components) == ["x-card"]


def test_every_fault_of_every_template_is_told_with_its_line(tmp_path):
    write_template(tmp_path, "y-card.html", "\n\n{{ a | safe }}")
    assert faults(tmp_path, "<p class={{ a }}>\n<p onclick=''>") == (
        'components/x-card.html:1: class= has a value without quotes; write class="…"',
        "components/x-card.html:2: onclick= is a script; add the listener in the component's module",
        "components/y-card.html:3: the filter 'safe' makes markup of a value; there is no such filter here",
    )


def test_a_partial_is_checked_like_a_component(tmp_path):
    write_template(tmp_path, "_row.html", "<p class={{ a }}>")
    assert "components/_row.html:1" in faults(tmp_path, "ok")[0]


@pytest.mark.parametrize(
    "name", ["Product-Card.html", "product--card.html", "1-card.html", "a-b c.html", "font-face.html"]
)
def test_a_name_that_is_no_custom_elements_is_a_fault(tmp_path, name):
    write_template(tmp_path, name, "x")
    (fault,) = faults(tmp_path, "ok")
    assert fault.startswith(f"components/{name}: ")


def test_a_template_without_a_hyphen_is_the_sites_own_and_left_alone(tmp_path):
    write_template(tmp_path, "navbar.html", "<p class={{ a }}>")
    write_template(tmp_path, "x-card.html", "ok")
    assert list(find_components([Flask("site", root_path=str(tmp_path))]).components) == ["x-card"]


def test_a_module_with_a_name_that_could_be_another_path_is_a_fault(tmp_path):
    write_asset(tmp_path, "x-card?v=1.js", "//")
    (fault,) = faults(tmp_path, "ok")
    assert "x-card?v=1.js: the name needs lower-case letters" in fault


def blueprint(folder, name):
    (folder / name).mkdir()
    return Blueprint(
        name, __name__, root_path=str(folder / name), template_folder="templates", static_folder="static"
    )


def test_a_blueprints_components_are_the_sites_as_well(tmp_path):
    app, part = Flask("site", root_path=str(tmp_path)), blueprint(tmp_path, "part")
    write_template(tmp_path / "part", "part-card.html", "part")
    write_asset(tmp_path / "part", "part-card.css", "p {}")
    app.register_blueprint(part)
    found = find_components(givers_of(app)).components["part-card"]
    assert (found.style, found.modules) == ("part-card.css", ())


def test_what_the_app_has_wins_over_a_blueprints(tmp_path):
    app, part = Flask("site", root_path=str(tmp_path)), blueprint(tmp_path, "part")
    write_template(tmp_path / "part", "x-card.html", "the part's")
    write_template(tmp_path, "x-card.html", "the app's")
    app.register_blueprint(part)
    loader = find_components(givers_of(app)).loader
    assert loader.get_source(app.jinja_env, "components/x-card.html")[0] == "the app's"


def test_two_blueprints_with_the_same_component_are_a_fault(tmp_path):
    app = Flask("site", root_path=str(tmp_path))
    for name in ("one", "two"):
        app.register_blueprint(blueprint(tmp_path, name))
        write_template(tmp_path / name, "x-card.html", name)
    with pytest.raises(ConfigurationError, match="given by the blueprints 'one' and 'two': keep one"):
        find_components(givers_of(app))


def test_a_loader_that_cannot_say_what_it_has_brings_no_components(tmp_path):
    app = Flask("site", root_path=str(tmp_path))
    app.jinja_loader = FunctionLoader({"components/x-card.html": "x"}.get)
    assert find_components(givers_of(app)).components == {}
