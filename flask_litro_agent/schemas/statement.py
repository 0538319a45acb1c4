"""What is said about one value: the keywords of its JSON Schema, notes for the reader, and losses.

A loss is a rule of the marshmallow field that JSON Schema has no word for. Notes and losses are sentences; both
end up in the description, losses are also reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["NOT_NULL", "Statement", "json_type", "nullable"]

#: The types of a value that may be anything but null.
NOT_NULL: Final = ("string", "number", "boolean", "array", "object")


_TYPES: Final = {
    type(None): "null",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


def json_type(value: Any) -> str:
    """Return the name of a JSON value's type, the narrowest one."""
    return _TYPES[type(value)]


@dataclass(slots=True)
class Statement:
    """Keywords, notes and losses of one value; grows while its field is read."""

    keywords: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)

    @classmethod
    def anything(cls) -> Statement:
        """Any value but null."""
        return cls({"type": list(NOT_NULL)})

    @property
    def untyped(self) -> bool:
        """True while every type but null is possible."""
        return self.keywords.get("type") == list(NOT_NULL)

    def lose(self, sentence: str) -> None:
        """Report a rule that the keywords do not say."""
        self.losses.append(sentence)

    def require(self, keyword: str, value: Any) -> None:
        """Add a keyword; one that already stands is kept, and both hold."""
        if keyword in self.keywords:
            self.keywords.setdefault("allOf", []).append({keyword: value})
        else:
            self.keywords[keyword] = value


def nullable(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords that accept null as well."""
    if "$ref" in keywords:
        rest = {name: value for name, value in keywords.items() if name != "$ref"}
        return {"anyOf": [{"$ref": keywords["$ref"]}, {"type": "null"}], **rest}
    wider = dict(keywords)
    if "anyOf" in wider and {"type": "null"} not in wider["anyOf"]:
        wider["anyOf"] = [*wider["anyOf"], {"type": "null"}]
    if "type" in wider:
        wider["type"] = _with_null(wider["type"])
    if "enum" in wider and None not in wider["enum"]:
        wider["enum"] = [*wider["enum"], None]
    if wider.get("const") is not None:
        wider["enum"] = [wider.pop("const"), None]
    return wider


def _with_null(types: str | list[str]) -> str | list[str]:
    listed = [types] if isinstance(types, str) else types
    return types if "null" in listed else [*listed, "null"]
