"""What is wrong with a component's template, found at start-up: whatever could let a value become markup or script.

Escaping makes a value harmless in a text and inside quotes. These are the places where it does not, and the tags and
filters of Jinja that go around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from jinja2 import Environment, TemplateSyntaxError, nodes

from flask_litro_agent.renderers.environment import UNESCAPED
from flask_litro_agent.renderers.finished_html import find_finished_html
from flask_litro_agent.renderers.places import Place, Reader, Spot

__all__ = ["template_faults"]

_URLS: Final = frozenset(
    {
        "action",
        "attributionsrc",
        "background",
        "cite",
        "data",
        "formaction",
        "href",
        "imagesrcset",
        "ping",
        "poster",
        "src",
        "srcset",
        "xlink:href",
    }
)
#: How an address begins that no value behind it can turn into another site's, or into a script.
_ANCHORED: Final = re.compile(r"/[^/\\{\s]|\.{1,2}/|[?#]|https?://[^/?#{]+[/?#]|mailto:|tel:", re.IGNORECASE)
#: What speaks for the whole page, or gives other elements their addresses.
_OUT_OF_PLACE: Final = frozenset({"base", "meta"})
#: Attributes with several addresses: behind a space in a value another one begins.
_LISTS: Final = frozenset({"imagesrcset", "ping", "srcset"})
#: What brings another page or a stylesheet into this one.
_LOADERS: Final = frozenset({"embed", "frame", "iframe", "link", "object"})
_ANIMATIONS: Final = frozenset({"animate", "set"})
_NEVER: Final = frozenset({"style", "srcdoc"})
#: Jinja's statements that may stand inside a tag.
_INSIDE: Final = frozenset({"if", "elif", "else", "endif", "for", "endfor", "set"})
_SPACES: Final = frozenset({"whitespace"})
_BRANCHES: Final = frozenset({"if", "for"})
_OTHER_BRANCHES: Final = frozenset({"elif", "else"})
_ENDS: Final = frozenset({"endif", "endfor"})
#: A piece of html after which anything could become a tag.
_UNFINISHED: Final = re.compile(r"<(?:/|!-?)?\Z")
_CUT_TAG: Final = (
    "< stands directly before something of Jinja's, which could become a tag; write &lt;, or the tag's name"
)
_NEEDS_URL: Final = (
    '{0}= needs the filter url: {0}="{{{{ … | url }}}}", or a path before it; '
    "the filter must be about the whole value: ( … or … ) | url"
)


def template_faults(environment: Environment, name: str, source: str) -> list[str]:
    """Return a sentence with its line for everything that is wrong with one template."""
    try:
        tree = environment.parse(source, name)
        html = find_finished_html(tree)
        found = [*_tree_faults(tree), *html.faults(tree), *_Walk(environment, html.names).faults(source)]
        if not found:
            environment.compile(source, name)  # which knows the filters and tests that there are
    except TemplateSyntaxError as error:
        found = [(error.lineno, f"{error.message}")]
    return [f"{name}:{line}: {fault}" for line, fault in sorted(set(found))]


def _tree_faults(tree: nodes.Template) -> Iterator[tuple[int, str]]:
    for node in tree.find_all(nodes.Filter):
        if node.name in UNESCAPED:
            yield (
                node.lineno,
                f"the filter '{node.name}' makes markup of a value; there is no such filter here",
            )
    for around in tree.find_all((nodes.ScopedEvalContextModifier, nodes.EvalContextModifier)):
        yield around.lineno, "escaping cannot be turned off or on: it is always on"
    for block in tree.find_all(nodes.FilterBlock):
        yield block.lineno, "{% filter %} changes what is escaped already; use the filter on the value itself"
    for assigned in tree.find_all(nodes.AssignBlock):
        if assigned.filter is not None:
            yield (
                assigned.lineno,
                "{% set %} with a filter changes what is escaped already; filter the value itself",
            )


@dataclass(slots=True)
class _Branches:
    """Where an ``if`` or ``for`` stands, and the ends of its branches so far."""

    start: Reader
    is_closed: bool
    ends: list[Reader] = field(default_factory=list)


@dataclass(slots=True)
class _Walk:
    """One way through a template's tokens, with the place in the html that it has come to."""

    environment: Environment
    html: frozenset[str]
    reader: Reader = field(default_factory=Reader)
    open: list[_Branches] = field(default_factory=list)

    def faults(self, source: str) -> Iterator[tuple[int, str]]:
        """Yield each fault and its line."""
        inside: list[tuple[str, str]] = []
        line = 1
        for line, token, text in self.environment.lex(source):
            match token:
                case "data":
                    yield from self._literal(line, text)
                case "variable_begin" | "block_begin":
                    inside = []
                case "variable_end":
                    yield from ((line, fault) for fault in self._value(inside))
                case "block_end":
                    yield from ((line, fault) for fault in self._statement(inside))
                case _ if token not in _SPACES:
                    inside.append((token, text))
        if self.reader.spot.place is not Place.TEXT:
            yield line, f"ends inside {self.reader.spot.place.value}"

    def _literal(self, line: int, text: str) -> Iterator[tuple[int, str]]:
        for place, part in enumerate(text.splitlines(keepends=True)):
            for spot in self.reader.read(part):
                yield from ((line + place, fault) for fault in _spot_faults(spot))
        if self.reader.spot.place is Place.TEXT and _UNFINISHED.search(text):
            yield line + text.count("\n"), _CUT_TAG

    def _value(self, expression: list[tuple[str, str]]) -> Iterator[str]:
        spot = self.reader.value()
        if spot.place is Place.QUOTED and (name := _html_in(expression, self.html)):
            yield f"'{name}' is html already: it cannot stand in {spot.attribute}=, whose quotes it would end"
        yield from _value_faults(spot, is_url=_is_url(self.environment, expression))

    def _statement(self, statement: list[tuple[str, str]]) -> Iterator[str]:
        name = statement[0][1] if statement else ""
        yield from _statement_faults(self.reader.spot, name)
        self.reader.interrupt()
        if name in _BRANCHES:
            self.open.append(_Branches(self.reader.copy(), is_closed=False))
        elif name in _OTHER_BRANCHES:
            self._branch(is_last=name == "else")
        elif name in _ENDS and not self._close(name):
            yield f"{{% {name} %}}: its branches end in different places of the html; close in each what it opens"

    def _branch(self, *, is_last: bool) -> None:
        branches = self.open[-1]
        branches.ends.append(self.reader)
        branches.is_closed = is_last
        self.reader = branches.start.copy()

    def _close(self, name: str) -> bool:
        branches = self.open.pop()
        skipped = () if branches.is_closed and name == "endif" else (branches.start,)
        return self.reader.join((*branches.ends, *skipped))


def _spot_faults(spot: Spot) -> Iterator[str]:
    """Yield what is wrong with literal html."""
    if spot.place is Place.UNQUOTED:
        yield _unquoted(spot)
    elif spot.place is Place.DIVIDED:
        yield "a name must be written in one piece: put a space before it, or close the name before the statement"
    elif spot.place is Place.TAG and spot.attribute.startswith("on"):
        yield f"{spot.attribute}= is a script; add the listener in the component's module"
    elif spot.tag in _OUT_OF_PLACE:
        yield f"<{spot.tag}> is about the whole page; it cannot stand in a component"
    elif spot.place is Place.RAW and spot.tag == "script":
        yield "<script> does not run in a component; write it in the component's module"


def _value_faults(spot: Spot, *, is_url: bool) -> Iterator[str]:
    """Yield what is wrong with a value that stands there; ``is_url`` when it is the filter's whole result."""
    match spot.place:
        case Place.TAG | Place.DIVIDED:
            yield "a value cannot be a tag's or an attribute's name"
        case Place.UNQUOTED:
            yield _unquoted(spot)
        case Place.COMMENT:
            yield "a value cannot stand in an html comment; Jinja's own comment is {# … #}"
        case Place.RAW:
            yield f"a value cannot stand inside <{spot.tag}>; give it to an attribute"
        case Place.QUOTED if spot.tag in _ANIMATIONS:
            yield f"a value cannot stand in <{spot.tag}>, which can make it an address"
        case Place.QUOTED if spot.attribute in _NEVER:
            yield f"a value cannot stand in {spot.attribute}=; choose a class by it instead"
        case Place.QUOTED if spot.attribute in _URLS:
            yield from _address_faults(spot, is_url=is_url)


def _address_faults(spot: Spot, *, is_url: bool) -> Iterator[str]:
    if spot.tag in _LOADERS and not spot.value:
        yield f"<{spot.tag}> brings in what its address says: write the path before the value"
    elif not _is_safe_address(spot, is_url=is_url):
        yield _NEEDS_URL.format(spot.attribute)


def _is_safe_address(spot: Spot, *, is_url: bool) -> bool:
    if spot.attribute in _LISTS:
        return is_url and re.fullmatch(r"(.*[\s,])?", spot.value, re.DOTALL) is not None
    return _ANCHORED.match(spot.value) is not None if spot.value else is_url


def _is_url(environment: Environment, expression: list[tuple[str, str]]) -> bool:
    """Whether the filter ``url`` is about the whole value: in ``a or b | url`` it is about ``b`` alone."""
    written = " ".join(text for _, text in expression)
    output = environment.parse(f"{{{{ {written} }}}}").body[0]
    value = output.nodes[0] if isinstance(output, nodes.Output) else None
    return isinstance(value, nodes.Filter) and value.name == "url"


def _html_in(expression: list[tuple[str, str]], html: frozenset[str]) -> str | None:
    before = [("", ""), *expression]
    for last, (token, text) in zip(before, expression, strict=False):
        if token == "name" and text in html and last != ("operator", "."):
            return text
    return None


def _statement_faults(spot: Spot, name: str) -> Iterator[str]:
    if spot.place is Place.QUOTED and spot.attribute in _URLS:
        yield f"{{% {name} %}} cannot stand in {spot.attribute}=; write the choice inside {{{{ … }}}}"
    elif spot.place is not Place.TEXT and name not in _INSIDE:
        yield f"{{% {name} %}} cannot stand inside {spot.place.value}"


def _unquoted(spot: Spot) -> str:
    if not spot.attribute:
        return "= must stand directly behind an attribute's name, with nothing of Jinja's between"
    return f'{spot.attribute}= has a value without quotes; write {spot.attribute}="…"'
