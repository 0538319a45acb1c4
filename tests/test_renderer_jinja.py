"""The renderer ``jinja``: components as Declarative Shadow DOM, whose tags and addresses are the template's alone."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any, ClassVar

import pytest
from jinja2 import TemplateNotFound

from flask_litro_agent.contracts import Renderer
from flask_litro_agent.testing.renderers import RendererContract
from tests.component_site import WEATHER, card, renderer_of, weather_site, write_asset, write_template

#: What an attacker would put into a prop to run a script or to leave the place where the text stands.
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "</template></weather-card><script>alert(1)</script>",
    '" autofocus onfocus=alert(1) x="',
    "' autofocus onfocus=alert(1) x='",
    "`onmouseover=alert(1)",
    "x onmouseover=alert(1)",
    '"/><script>alert(1)</script>',
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "&quot; onfocus=alert(1) ",
    "{{ 7 * 7 }}",
    "{% raw %}{{ self }}{% endraw %}",
    "${alert(1)}",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[><script>alert(1)</script>]]>",
    "</style><script>alert(1)</script>",
    "\u2028<script>alert(1)</script>",
    "<\u200bscript>alert(1)</script>",
    "＜script＞alert(1)＜/script＞",
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    "<template shadowrootmode=open><script>alert(1)</script></template>",
    "<slot name=x>",
)
#: What an address may not become.
BAD_ADDRESSES = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "java\tscript:alert(1)",
    "\x01javascript:alert(1)",
    "\x00javascript:alert(1)",
    "javascript&colon;alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "blob:https://shop.example/1",
    "file:///etc/passwd",
    "filesystem:https://shop.example/x",
    "view-source:https://shop.example",
    "//evil.example/x",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "https:///evil.example",
    "/\t/evil.example",
    "x:y",
    "page.html",
)
GOOD_ADDRESSES = (
    "/products/TNT-1",
    "./next",
    "../up",
    "?page=2",
    "#reviews",
    "https://shop.example/x?y=1#z",
    "http://127.0.0.1:8000/",
    "mailto:help@shop.example",
    "tel:+493012345",
    "",
)


class TestContract(RendererContract):
    component = "weather-card"
    props: ClassVar[Mapping[str, Any]] = WEATHER

    @pytest.fixture
    def renderer(self, tmp_path) -> Renderer:
        return renderer_of(weather_site(tmp_path))


@pytest.fixture
def site(tmp_path):
    return weather_site(tmp_path)


@pytest.fixture
def renderer(site):
    return renderer_of(site)


class Skeleton(HTMLParser):
    """The tags, attribute names and addresses of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.addresses = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *(name for name, _ in attrs)))
        self.addresses += [value for name, value in attrs if name in ("href", "src")]

    def handle_comment(self, data):
        self.tags.append(("!--",))


def test_a_component_is_its_tag_around_a_shadow_root_with_its_stylesheet_linked(renderer):
    assert card(renderer, days=[]) == (
        '<weather-card city="Lisbon" temp-c="21"><template shadowrootmode="open">'
        '<link rel="stylesheet" href="/__litro/components/weather-card.css">'
        '\n<h3 title="Lisbon">Lisbon</h3>\n<p>21 °C</p>\n<ul></ul></template></weather-card>'
    )


def test_without_a_stylesheet_there_is_no_link(tmp_path):
    write_template(tmp_path, "plain-card.html", "<p>hello</p>")
    assert "<link" not in card(renderer_of(tmp_path), "plain-card")


def test_true_is_a_bare_attribute_and_false_and_none_are_none(renderer):
    html = card(renderer, is_rainy=True, is_cold=False, wind=None, days=[])
    assert html.startswith('<weather-card city="Lisbon" temp-c="21" is-rainy><template')


def test_what_is_no_plain_value_goes_to_hydrate_with_the_module(renderer):
    assert renderer.render("weather-card", WEATHER).hydrate == {
        "component": "weather-card",
        "props": {"days": WEATHER["days"]},
        "modules": ["weather-card.js"],
    }


def test_a_component_without_a_module_and_without_other_props_hydrates_nothing(tmp_path):
    write_template(tmp_path, "plain-card.html", "<p>{{ city }}</p>")
    assert renderer_of(tmp_path).render("plain-card", {"city": "Lisbon"}).hydrate is None


@pytest.mark.parametrize("text", HOSTILE)
def test_text_in_props_adds_no_tag_no_attribute_and_no_address(renderer, text):
    hostile = {"city": text, "temp_c": text, "days": [{"summary": text, "link": "/x"}]}
    plain = Skeleton(card(renderer, city="a", temp_c="a", days=[{"summary": "a", "link": "/x"}]))
    found = Skeleton(card(renderer, **hostile))
    assert (found.tags, found.addresses) == (plain.tags, plain.addresses)


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_an_address_that_a_browser_would_run_or_that_leads_astray_becomes_none(renderer, address):
    html = card(renderer, days=[{"summary": "a", "link": address}])
    assert Skeleton(html).addresses == ["/__litro/components/weather-card.css", "about:invalid"]


@pytest.mark.parametrize("address", GOOD_ADDRESSES)
def test_an_ordinary_address_stays(renderer, address):
    html = card(renderer, days=[{"summary": "a", "link": address}])
    assert Skeleton(html).addresses[1:] == [address]


@pytest.mark.parametrize(
    "name", ["onclick", "onfocus", "onanything", "style", "id", "class", "slot", "is", "nonce", "part"]
)
def test_a_prop_whose_attribute_means_something_to_the_browser_is_an_error(renderer, name):
    with pytest.raises(ValueError, match=f"a prop cannot be called '{name}'"):
        card(renderer, **{name: "alert(1)"})


@pytest.mark.parametrize("name", ["a b", "x>", "Big", "__proto__", "a__b", "-x", "x=y", "ü", "", "_x", "x_"])
def test_a_prop_with_a_name_that_is_no_attributes_is_an_error(renderer, name):
    with pytest.raises(ValueError, match="is not the name of a prop"):
        card(renderer, **{name: "x"})


def test_a_missing_prop_is_an_error_and_never_an_empty_place(renderer):
    with pytest.raises(Exception, match="'city' is undefined"):
        renderer.render("weather-card", {"temp_c": 1, "days": []})


def test_an_unknown_component_names_the_nearest(renderer):
    with pytest.raises(LookupError, match="no component named 'wether-card'; did you mean 'weather-card'"):
        renderer.render("wether-card", WEATHER)


@pytest.mark.parametrize(
    "expression",
    [
        "''.__class__",
        "''['__class__'].__mro__",
        "''|attr('__class__')",
        "litro_component.__globals__",
        "(''|escape).__class__('<b>')",
        "[city]|map('safe')|join",
        "days.append(1)",
        "range(10**9)|list|length",
    ],
)
def test_the_sandbox_keeps_a_template_from_what_is_behind_its_values(tmp_path, expression):
    write_template(tmp_path, "sly-card.html", f"{{{{ {expression} }}}}")
    with pytest.raises(Exception, match=r"."):
        print(card(renderer_of(tmp_path), "sly-card"))


def test_json_in_an_attribute_is_escaped_like_any_text(tmp_path):
    write_template(tmp_path, "json-card.html", '<p data-days="{{ days | tojson }}"></p>')
    html = card(renderer_of(tmp_path), "json-card", days=['"><script>'])
    assert Skeleton(html).tags == [
        ("json-card", "city", "temp-c"),
        ("template", "shadowrootmode"),
        ("p", "data-days"),
    ]


def test_a_component_stands_inside_another_and_brings_its_module_along(site):
    write_template(
        site, "week-list.html", "{% for day in days %}{{ litro_component('day-row', text=day) }}{% endfor %}"
    )
    write_template(site, "day-row.html", "<p>{{ text }}</p>")
    write_asset(site, "day-row.js", "//")
    rendered = renderer_of(site).render("week-list", {"days": ["<Mon>"]})
    inside = (
        '<day-row text="&lt;Mon&gt;"><template shadowrootmode="open"><p>&lt;Mon&gt;</p></template></day-row>'
    )
    assert rendered.html == f'<week-list><template shadowrootmode="open">{inside}</template></week-list>'
    assert rendered.hydrate["modules"] == ["day-row.js"]


def test_a_component_that_contains_itself_is_an_error_and_no_endless_loop(tmp_path):
    write_template(tmp_path, "self-card.html", "{{ litro_component('self-card') }}")
    with pytest.raises(RecursionError):
        renderer_of(tmp_path).render("self-card", {})


def test_the_text_form_is_a_template_of_its_own_that_is_not_escaped(site):
    write_template(site, "weather-card.txt", "{{ city }}: {{ temp_c }} °C")
    assert renderer_of(site).render("weather-card", {**WEATHER, "city": "A & B"}).text == "A & B: 21 °C"


def test_without_such_a_template_the_text_is_made_elsewhere(renderer):
    assert renderer.render("weather-card", WEATHER).text is None


@pytest.mark.parametrize(
    "template",
    [
        "{% include 'components/x-card.txt' %}",
        "{% include a %}",
        "{% from 'components/x-card.txt' import m %}{{ m(b) }}",
        "{% extends 'components/x-card.txt' %}",
    ],
)
def test_a_text_form_which_is_not_escaped_never_becomes_a_part_of_a_component(tmp_path, template):
    write_template(tmp_path, "x-card.html", template)
    write_template(tmp_path, "x-card.txt", "{% macro m(b) %}{{ b }}{% endmacro %}")
    with pytest.raises(TemplateNotFound):
        renderer_of(tmp_path).render("x-card", {"a": "components/x-card.txt", "b": HOSTILE[1]})


@pytest.mark.parametrize("given", ["b", "[b]", "{'x': b}"])
def test_html_as_a_prop_of_a_component_inside_is_a_text_there(tmp_path, given):
    inside = '{% set b %}<b title="{{ a }}">{% endset %}{{ litro_component("y-card", b=' + given + ") }}"
    write_template(tmp_path, "x-card.html", inside)
    write_template(tmp_path, "y-card.html", '<p title="{{ b }}">{{ b }}</p>')
    found = Skeleton(renderer_of(tmp_path).render("x-card", {"a": "x onmouseover=alert(1)"}).html)
    assert [tag for tag, *_ in found.tags] == ["x-card", "template", "y-card", "template", "p"]
    assert ("p", "title") in found.tags
