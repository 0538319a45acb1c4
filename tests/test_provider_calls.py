"""Calls are the same however a server spells them, as long as its id or its index tells them apart."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent.contracts import ToolSpec
from flask_litro_agent.providers.identifiers import Names
from flask_litro_agent.providers.openai_calls import Calls

TOOLS = ("get", "get_weather", "track_order")
ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "{}"]), st.sampled_from([1, "", "}{", "ö🦊", {"c": [{}]}, None]), max_size=2
)
CALLS = st.lists(st.tuples(st.sampled_from(TOOLS), ARGUMENTS), min_size=1, max_size=4)
SPELLINGS = st.fixed_dictionaries(
    {
        "told_apart_by": st.sampled_from(
            ["index", "index as text", "index and id", "id alone", "id, index 0"]
        ),
        "id_again": st.booleans(),
        "name_again": st.sampled_from(["always", "never", "empty"]),
        "arguments": st.sampled_from(["whole", "pieces", "buffer so far", "object", "placeholder first"]),
        "interleaved": st.booleans(),
    }
)


def fragments(arguments: dict[str, Any], how: str, cuts: list[int]) -> list[Any]:
    text = json.dumps(arguments)
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    match how:
        case "whole":
            return [text]
        case "object":
            return [arguments]
        case "buffer so far":
            return [text[:end] for end in ends]
    pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return ["{}", *pieces] if how == "placeholder first" and arguments and len(pieces) > 1 else ["", *pieces]


def entries(number: int, name: str, pieces: list[Any], spelling: dict[str, Any]) -> list[dict[str, Any]]:
    """Spell one call as the entries of ``delta.tool_calls``."""
    by, spelled = spelling["told_apart_by"], []
    for position, piece in enumerate(pieces):
        is_head = position == 0
        function = {"arguments": piece}
        if is_head or spelling["name_again"] != "never":
            function["name"] = name if is_head or spelling["name_again"] == "always" else ""
        entry: dict[str, Any] = {"function": function}
        if "index" in by:
            index = 0 if by == "id, index 0" else number
            entry["index"] = str(index) if by == "index as text" else index
        if "id" in by and (is_head or spelling["id_again"] or by != "index and id"):
            entry["id"] = f"call_{number}"
        spelled.append(entry)
    return spelled


@given(CALLS, SPELLINGS, st.lists(st.integers(1, 30), min_size=1, max_size=3))
def test_calls_are_the_same_however_they_are_spelled(
    made: list[tuple[str, dict[str, Any]]], spelling: dict[str, Any], cuts: list[int]
) -> None:
    calls = Calls(Names([ToolSpec(name, "", {}) for name in TOOLS]))
    queues = [
        entries(number, name, fragments(arguments, spelling["arguments"], cuts), spelling)
        for number, (name, arguments) in enumerate(made)
    ]
    heads = [queue.pop(0) for queue in queues] if spelling["interleaved"] else []
    for entry in heads:
        calls.take(entry, choice=0)
    for queue in queues:
        for entry in queue:
            calls.take(entry, choice=0)

    assert [(event.name, event.input) for event in calls.events(is_cut=False)] == made
