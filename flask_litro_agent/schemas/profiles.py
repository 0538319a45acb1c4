"""A JSON Schema document as a provider's strict mode takes it.

Each provider compiles a subset of JSON Schema into a grammar. A keyword outside of the subset moves into the
description, where the model still reads it; the tool's own schema still checks it. Sources: OpenAI, "Structured
Outputs: supported schemas"; Anthropic, "Structured outputs: JSON Schema limitations" and "complexity limits".
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from flask_litro_agent.schemas.statement import json_type, nullable

__all__ = ["anthropic_strict", "openai_strict"]

Node = dict[str, Any]

_STRUCTURE: Final = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "type",
    }
)
_FORMATS: Final = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
)
_OPENAI: Final = _STRUCTURE | {
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
}
_ANTHROPIC: Final = _STRUCTURE | {"default"}
_LOOKAROUND: Final = re.compile(r"\(\?[=!<]|\\[bB1-9]")

#: OpenAI's published limits of one schema.
_MAX_PROPERTIES: Final = 5000
_MAX_ENUM_VALUES: Final = 1000
_MAX_NAMES: Final = 120_000
_LONG_ENUM, _MAX_LONG_ENUM = 250, 15_000

#: Anthropic's published limits of one request: strict tools, optional parameters, parameters of several types.
_REQUEST: Final = (20, 24, 16)

_WORDS: Final = {
    "exclusiveMaximum": "Less than {}.",
    "exclusiveMinimum": "More than {}.",
    "format": "Format: {}.",
    "maxItems": "At most {} items.",
    "maxLength": "At most {} characters.",
    "maxProperties": "At most {} names.",
    "maximum": "At most {}.",
    "minItems": "At least {} items.",
    "minLength": "At least {} characters.",
    "minProperties": "At least {} names.",
    "minimum": "At least {}.",
    "multipleOf": "A multiple of {}.",
    "pattern": "Matches {}.",
}
_TITLES: Final = {"allOf": "All of", "default": "Default", "not": "Not", "propertyNames": "Each name"}


class _NotStrict(Exception):
    """The document says something that strict mode cannot."""


def openai_strict(document: Mapping[str, Any]) -> Node | None:
    """Return the document for OpenAI's strict mode: every name required, what may be left out nullable.

    None when it cannot be strict: open objects, untyped values and tuples have no strict form.
    """
    try:
        strict = _changed(dict(document), _strict)
    except _NotStrict:
        return None
    return strict if strict.get("type") == "object" and _fits(strict) else None


def anthropic_strict(documents: Iterable[Mapping[str, Any]]) -> list[Node | None]:
    """Return each document for Anthropic's strict mode: ``anyOf`` for null, what may be left out stays optional.

    None for one that cannot be strict, which here is also a schema that contains itself, and for one that the
    documents before it leave no room for: all of a request become one grammar.
    """
    left: tuple[int, ...] = _REQUEST
    forms: list[Node | None] = []
    for form in map(_alone, documents):
        after = left if form is None else tuple(map(operator.sub, left, _cost(form)))
        fits = min(after) >= 0
        forms.append(form if fits else None)
        left = after if fits else left
    return forms


def _changed(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node with the change made to it after every schema inside of it."""
    inner = dict(node)
    for keyword in ("properties", "$defs"):
        if keyword in inner:
            inner[keyword] = {name: _changed(part, change) for name, part in inner[keyword].items()}
    for keyword in ("anyOf", "prefixItems"):
        if keyword in inner:
            inner[keyword] = [_changed(part, change) for part in inner[keyword]]
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner.get(keyword), dict):
            inner[keyword] = _changed(inner[keyword], change)
    return change(inner)


def _strict(node: Node) -> Node:
    _refuse_open(node)
    strict = _spoken(
        node, lambda keyword, value: keyword in _OPENAI or _grammatical(keyword, value, _FORMATS)
    )
    if "const" in strict:
        strict["enum"] = [strict.pop("const")]
    if "properties" in strict:
        required = strict.get("required", [])
        strict["properties"] = {
            name: part if name in required else nullable(part) for name, part in strict["properties"].items()
        }
        strict["required"] = list(strict["properties"])
    return _lone_reference(strict)


def _alone(document: Mapping[str, Any]) -> Node | None:
    """Return the document for Anthropic as if it were the only one."""
    try:
        form = _changed(dict(document), _for_anthropic)
    except _NotStrict:
        return None
    return form if form.get("type") == "object" and not _contains_itself(form) else None


def _cost(form: Node) -> tuple[int, int, int]:
    """Return what the form takes of ``_REQUEST``."""
    nodes = list(_nodes(form))
    optional = sum(len(node.get("properties", {})) - len(node.get("required", [])) for node in nodes)
    return 1, optional, sum(len(node.get("anyOf", [])) > 1 for node in nodes)


def _contains_itself(form: Node) -> bool:
    """Whether a chain of references comes back to where it began."""
    parts = {f"#/$defs/{name}": part for name, part in form.get("$defs", {}).items()}
    parts["#"] = {**form, "$defs": {}}
    leads = {name: {node["$ref"] for node in _nodes(part) if "$ref" in node} for name, part in parts.items()}
    while leads:
        ends = [name for name, references in leads.items() if not references & leads.keys()]
        if not ends:
            return True
        leads = {name: references for name, references in leads.items() if name not in ends}
    return False


def _refuse_open(node: Node) -> None:
    types = [node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])
    if "object" in types and ("properties" not in node or node.get("additionalProperties") is not False):
        raise _NotStrict
    if "array" in types and not isinstance(node.get("items"), dict):
        raise _NotStrict
    if node.get("not") == {} or not node.keys() & {"type", "anyOf", "$ref"}:
        raise _NotStrict


def _for_anthropic(node: Node) -> Node:
    _refuse_open(node)
    formats = _FORMATS | {"uri"}
    spoken = _spoken(node, lambda keyword, value: _anthropic_takes(keyword, value, formats))
    return _lone_reference(_split_types(spoken))


def _anthropic_takes(keyword: str, value: Any, formats: frozenset[str]) -> bool:
    if keyword == "minItems":
        return bool(value <= 1)
    return keyword in _ANTHROPIC or _grammatical(keyword, value, formats)


def _grammatical(keyword: str, value: Any, formats: frozenset[str]) -> bool:
    if keyword == "pattern":
        return not _LOOKAROUND.search(value)
    return keyword == "format" and value in formats


def _spoken(node: Node, takes: Callable[[str, Any], bool]) -> Node:
    """Return the node with every keyword that is not taken said in its description."""
    kept = {keyword: value for keyword, value in node.items() if takes(keyword, value)}
    said = [_in_words(keyword, value) for keyword, value in node.items() if keyword not in kept]
    if said:
        kept["description"] = " ".join(filter(None, [kept.get("description", ""), *said]))
    return kept


def _in_words(keyword: str, value: Any) -> str:
    if keyword in _WORDS:
        return _WORDS[keyword].format(value)
    return f"{_TITLES.get(keyword, keyword)}: {json.dumps(value, ensure_ascii=False)}."


def _lone_reference(node: Node) -> Node:
    if "$ref" not in node or len(node) == 1:
        return node
    rest = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
    return {"anyOf": [{"$ref": node["$ref"]}], **rest}


def _split_types(node: Node) -> Node:
    if not isinstance(node.get("type"), list):
        return node
    shared = {
        key: value for key, value in node.items() if key not in {"type", "description", "default", "enum"}
    }
    branches = [_branch(kind, shared, node.get("enum")) for kind in node["type"]]
    outer = {key: value for key, value in node.items() if key in {"description", "default"}}
    return {**outer, "anyOf": branches}


def _branch(kind: str, shared: Node, enum: list[Any] | None) -> Node:
    if kind == "null":
        return {"type": "null"}
    kinds = (kind, "integer") if kind == "number" else (kind,)
    values = {} if enum is None else {"enum": [value for value in enum if json_type(value) in kinds]}
    return {"type": kind, **shared, **values}


def _fits(document: Node) -> bool:
    nodes = list(_nodes(document))
    names = [name for node in nodes for name in (*node.get("properties", {}), *node.get("$defs", {}))]
    enums = [node["enum"] for node in nodes if "enum" in node]
    texts = [sum(len(value) for value in enum if isinstance(value, str)) for enum in enums]
    return (
        len(names) <= _MAX_PROPERTIES
        and sum(map(len, enums)) <= _MAX_ENUM_VALUES
        and sum(map(len, names)) + sum(texts) <= _MAX_NAMES
        and all(
            text <= _MAX_LONG_ENUM for enum, text in zip(enums, texts, strict=True) if len(enum) > _LONG_ENUM
        )
    )


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    parts = [*node.get("properties", {}).values(), *node.get("$defs", {}).values(), *node.get("anyOf", [])]
    if isinstance(node.get("items"), dict):
        parts.append(node["items"])
    for part in parts:
        yield from _nodes(part)
