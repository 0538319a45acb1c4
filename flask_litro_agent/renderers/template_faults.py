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
from flask_litro_agent.renderers.places import Place, Reader, Spot

__all__ = ["template_faults"]

_URLS: Final = frozenset(
    {
        "action",
        "background",
        "cite",
        "data",
        "formaction",
        "href",
        "ping",
        "poster",
        "src",
        "srcset",
        "xlink:href",
    }
)
#: How an address begins that no value behind it can turn into another site's, or into a script.
_ANCHORED: Final = re.compile(r"/[^/\\{]|\.{1,2}/|[?#]|https?://[^/?#{]+[/?#]|mailto:|tel:", re.IGNORECASE)
#: What speaks for the whole page, or gives other elements their addresses.
_OUT_OF_PLACE: Final = frozenset({"base", "meta"})
_ANIMATIONS: Final = frozenset({"animate", "set"})
_NEVER: Final = frozenset({"style", "srcdoc"})
#: Jinja's statements that may stand inside a tag.
_INSIDE: Final = frozenset({"if", "elif", "else", "endif", "for", "endfor", "set"})
_SPACES: Final = frozenset({"whitespace"})


def template_faults(environment: Environment, name: str, source: str) -> list[str]:
    """Return a sentence with its line for everything that is wrong with one template."""
    try:
        tree = environment.parse(source, name)
        found = [*_tree_faults(tree), *_Walk(environment).faults(source)]
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
class _Walk:
    """One way through a template's tokens, with the place in the html that it has come to."""

    environment: Environment
    reader: Reader = field(default_factory=Reader)

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
                    yield from ((line, fault) for fault in _value_faults(self.reader.value(), inside))
                case "block_end":
                    yield from ((line, fault) for fault in _statement_faults(self.reader.spot, inside))
                case _ if token not in _SPACES:
                    inside.append((token, text))
        if self.reader.spot.place is not Place.TEXT:
            yield line, f"ends inside {self.reader.spot.place.value}"

    def _literal(self, line: int, text: str) -> Iterator[tuple[int, str]]:
        for place, part in enumerate(text.splitlines(keepends=True)):
            for spot in self.reader.read(part):
                yield from ((line + place, fault) for fault in _spot_faults(spot))


def _spot_faults(spot: Spot) -> Iterator[str]:
    """Yield what is wrong with literal html."""
    if spot.place is Place.UNQUOTED:
        yield _unquoted(spot)
    elif spot.place is Place.TAG and spot.attribute.startswith("on"):
        yield f"{spot.attribute}= is a script; add the listener in the component's module"
    elif spot.tag in _OUT_OF_PLACE:
        yield f"<{spot.tag}> is about the whole page; it cannot stand in a component"
    elif spot.place is Place.RAW and spot.tag == "script":
        yield "<script> does not run in a component; write it in the component's module"


def _value_faults(spot: Spot, expression: list[tuple[str, str]]) -> Iterator[str]:
    """Yield what is wrong with a value that stands there."""
    match spot.place:
        case Place.TAG:
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
        case Place.QUOTED if spot.attribute in _URLS and not _is_safe_address(spot, expression):
            yield f'{spot.attribute}= needs the filter url: {spot.attribute}="{{{{ … | url }}}}", or a path before it'


def _statement_faults(spot: Spot, statement: list[tuple[str, str]]) -> Iterator[str]:
    name = statement[0][1] if statement else ""
    if spot.place is Place.QUOTED and spot.attribute in _URLS:
        yield f"{{% {name} %}} cannot stand in {spot.attribute}=; write the choice inside {{{{ … }}}}"
    elif spot.place is not Place.TEXT and name not in _INSIDE:
        yield f"{{% {name} %}} cannot stand inside {spot.place.value}"


def _is_safe_address(spot: Spot, expression: list[tuple[str, str]]) -> bool:
    if spot.value:
        return _ANCHORED.match(spot.value) is not None
    return expression[-2:] == [("operator", "|"), ("name", "url")]


def _unquoted(spot: Spot) -> str:
    return f'{spot.attribute or "an attribute"}= has a value without quotes; write {spot.attribute}="…"'
