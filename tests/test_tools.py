from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from marshmallow import Schema, fields

from flask_litro_agent import tools
from flask_litro_agent.contracts import Actor, Stop, ToolFacts
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.tools import PUBLIC, Mode, Tool, ToolContext, ToolKit, UIResult, tool, ui


class Nothing(Schema):
    """No parameters."""


class City(Schema):
    city = fields.String(required=True)


def look(params: dict[str, Any], ctx: ToolContext) -> str:
    return "seen"


GOOD: dict[str, Any] = {
    "description": "Look.",
    "permission": "orders:read",
    "mode": Mode.READ,
    "params": Nothing,
}


def declare(function: Callable[..., Any] = look, **changes: Any) -> Tool:
    declaration = {name: value for name, value in {**GOOD, **changes}.items() if value != "left out"}
    made: Tool = tool(**declaration)(function)
    return made


def faults(function: Callable[..., Any] = look, **changes: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as raised:
        declare(function, **changes)
    return raised.value.faults


# a declaration


def test_a_tool_is_what_was_declared() -> None:
    made = declare(params=City, shows="call")
    assert (made.name, made.description, made.permission, made.mode) == (
        "look",
        "Look.",
        "orders:read",
        Mode.READ,
    )
    assert (made.shows, made.function) == ("call", look)
    assert isinstance(made.params, City)


def test_a_schema_may_be_given_made() -> None:
    schema = City()
    assert declare(params=schema).params is schema


def test_a_description_over_several_lines_loses_its_indent() -> None:
    description = """Look at orders.

        At most fifty.
        """
    assert declare(description=description).description == "Look at orders.\n\nAt most fifty."


def test_the_source_is_the_functions_file_and_line() -> None:
    assert declare().source == f"{__file__}:{look.__code__.co_firstlineno}"


def test_the_source_lies_behind_a_sites_own_decorators() -> None:
    @functools.lru_cache
    @functools.wraps(look)
    def wrapped(params: dict[str, Any], ctx: ToolContext) -> str:
        return look(params, ctx)

    assert declare(wrapped).source == declare().source


def test_a_generator_may_be_a_tool() -> None:
    def count(params: dict[str, Any], ctx: ToolContext) -> Iterator[int]:
        yield 1

    assert declare(count).name == "count"


@pytest.mark.parametrize("name", ["description", "permission", "mode", "params"])
def test_leaving_one_out_raises_and_names_it(name: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}'"):
        declare(**{name: "left out"})


def test_a_misspelt_keyword_raises() -> None:
    with pytest.raises(TypeError, match="permision"):
        declare(permision="orders:read")


def test_public_may_stand_on_a_read_tool() -> None:
    assert declare(permission=PUBLIC).permission is PUBLIC


@pytest.mark.parametrize("mode", [Mode.PROPOSE, Mode.EXECUTE])
def test_public_may_not_stand_on_a_tool_that_changes_something(mode: Mode) -> None:
    (fault,) = faults(permission=PUBLIC, mode=mode)
    assert fault.endswith("PUBLIC may stand only on a tool with Mode.READ; name a permission")


FAULTS = [
    ("description", "", "description must be a text that tells the model what the tool does"),
    ("description", " \n", "description must be a text that tells the model what the tool does"),
    ("description", None, "description must be a text that tells the model what the tool does"),
    ("description", b"Look.", "description must be a text that tells the model what the tool does"),
    *(
        (
            "permission",
            value,
            "permission must be the name of one permission, such as 'orders:read', or PUBLIC",
        )
        for value in (
            "",
            " ",
            "orders:read ",
            "\torders:read",
            None,
            "*",
            "orders:*",
            ["orders:read"],
            True,
            type(PUBLIC),
        )
    ),
    *(
        ("mode", value, f"mode must be Mode.READ, Mode.PROPOSE or Mode.EXECUTE, not {value!r}")
        for value in ("read", 1, None, Mode, True)
    ),
    *(
        ("params", value, "params must be a marshmallow Schema (an empty one for no parameters)")
        for value in (None, {}, {"city": fields.String()}, dict, fields.String(), "City")
    ),
    ("params", City(many=True), "params must be one object; a Schema with many=True is a list"),
    ("shows", "all", "shows must be 'result', 'call' or 'nothing', not 'all'"),
    ("shows", None, "shows must be 'result', 'call' or 'nothing', not None"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), FAULTS)
def test_a_bad_declaration_is_one_sentence_with_file_and_line(name: str, value: Any, sentence: str) -> None:
    place = f"{__file__}:{look.__code__.co_firstlineno}"
    assert faults(**{name: value}) == (f"{place}: tool 'look': {sentence}",)


def test_all_faults_of_a_declaration_are_told_together() -> None:
    told = faults(description="", permission="*", mode="read", params=None, shows="all")
    assert [fault.split("'look': ")[1].split()[0] for fault in told] == [
        "description",
        "permission",
        "mode",
        "params",
        "shows",
    ]


async def coroutine(params: dict[str, Any], ctx: ToolContext) -> str:
    return "seen"


async def stream(params: dict[str, Any], ctx: ToolContext) -> AsyncIterator[str]:
    yield "seen"


@pytest.mark.parametrize("function", [coroutine, stream])
def test_an_asynchronous_function_is_refused(function: Callable[..., Any]) -> None:
    (fault,) = faults(function)
    assert fault.endswith("is 'async def'; tools are synchronous: write 'def'")


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (lambda: None, "()"),
        (lambda params: None, "(params)"),
        (lambda params, ctx, more: None, "(params, ctx, more)"),
        (lambda *, params, ctx: None, "(*, params, ctx)"),
    ],
)
def test_a_function_that_cannot_be_called_with_params_and_ctx_is_refused(
    function: Callable[..., Any], takes: str
) -> None:
    function.__name__ = "city"
    (fault,) = faults(function)
    assert fault.endswith(f"takes {takes}; a tool is called with (params, ctx)")


@pytest.mark.parametrize("function", [lambda *both: None, lambda params, ctx, unit="C": None])
def test_a_function_may_take_more_than_it_is_given(function: Callable[..., Any]) -> None:
    function.__name__ = "city"
    assert declare(function).name == "city"


def test_a_decorator_may_add_an_argument() -> None:
    def city(database: object, params: dict[str, Any], ctx: ToolContext) -> None: ...

    @functools.wraps(city)
    def connected(*both: Any) -> None: ...

    assert declare(connected).name == "city"


def test_a_synchronous_function_around_a_coroutine_is_fine() -> None:
    @functools.wraps(coroutine)
    def around(params: dict[str, Any], ctx: ToolContext) -> str:
        return asyncio.run(coroutine(params, ctx))

    assert declare(around).name == "coroutine"


@pytest.mark.parametrize(
    "name", ["Look", "_look", "7look", "lo-ok", "look\n", "löök", "a" * 65, "<lambda>", ""]
)
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    def function(params: dict[str, Any], ctx: ToolContext) -> str:
        return "seen"

    function.__name__ = name
    (fault,) = faults(function)
    assert fault.endswith("the name must match [a-z][a-z0-9_]{0,63}")


def test_a_name_may_have_64_characters() -> None:
    def function(params: dict[str, Any], ctx: ToolContext) -> str:
        return "seen"

    function.__name__ = "a" * 64
    assert declare(function).name == "a" * 64


def test_an_object_that_can_be_called_is_refused_without_a_file() -> None:
    (fault,) = faults(functools.partial(look, ctx=None))
    assert fault.startswith("(no file): tool ")


# a tool as a value


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Tool)])
def test_a_tool_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(declare(), name, None)


def test_a_tool_cannot_be_called() -> None:
    assert not callable(declare())


def test_a_tool_does_not_print_its_function() -> None:
    assert "function" not in repr(declare())


@pytest.mark.parametrize(
    ("mode", "word"), [(Mode.READ, "read"), (Mode.PROPOSE, "propose"), (Mode.EXECUTE, "execute")]
)
def test_the_facts_are_what_was_declared_in_plain_words(mode: Mode, word: str) -> None:
    assert declare(mode=mode).facts == ToolFacts("look", "Look.", "orders:read", word)


def test_the_facts_of_a_public_tool_name_no_permission() -> None:
    assert declare(permission=PUBLIC).facts.permission is None


def test_the_facts_hold_nothing_that_can_be_called() -> None:
    facts = declare().facts
    held = [getattr(facts, field.name) for field in dataclasses.fields(facts)]
    assert not any(map(callable, held))


def test_modes_are_ordered_from_least_to_most() -> None:
    assert Mode.READ < Mode.PROPOSE < Mode.EXECUTE


def test_public_prints_as_it_is_written() -> None:
    assert repr(PUBLIC) == "PUBLIC"


def test_another_public_is_no_permission() -> None:
    (fault,) = faults(permission=type(PUBLIC)())
    assert "permission must be the name of one permission" in fault


# a kit


def test_a_kit_is_its_tools_in_order() -> None:
    ready = declare()
    kit = ToolKit(ready)
    added = kit.tool(**GOOD)(stock)
    assert list(kit) == [ready, added]
    assert list(kit) == [ready, added]


def stock(params: dict[str, Any], ctx: ToolContext) -> int:
    return 3


def test_a_kits_decorator_declares_as_tool_does() -> None:
    assert ToolKit().tool(**GOOD)(stock).facts == declare(stock).facts


def test_a_bad_declaration_never_enters_a_kit() -> None:
    kit = ToolKit()
    with pytest.raises(ConfigurationError, match="tool 'stock': mode must be"):
        kit.tool(**{**GOOD, "mode": "read"})(stock)
    assert list(kit) == []


def test_two_kits_share_nothing() -> None:
    one, other = ToolKit(), ToolKit()
    one.tool(**GOOD)(stock)
    assert list(other) == []


# what a function is handed, and may return


def test_progress_is_reported() -> None:
    reported: list[Any] = []
    ToolContext(actor=Actor("7", "Ann"), agent="desk", report=reported.append).progress({"done": 3})
    assert reported == [{"done": 3}]


def test_progress_without_a_listener_goes_nowhere() -> None:
    ToolContext(actor=Actor("7", "Ann"), agent="desk").progress(1)


def test_a_context_knows_that_nobody_waits_any_more() -> None:
    stop = Stop()
    ctx = ToolContext(actor=Actor("7", "Ann"), agent="desk", stop=stop)
    assert not ctx.stopped
    stop.set()
    assert ctx.stopped


def test_no_two_contexts_share_their_stop() -> None:
    one, other = (ToolContext(actor=Actor("7", "Ann"), agent="desk") for _ in range(2))
    one.stop.set()
    assert not other.stopped


def test_a_context_cannot_be_given_a_stronger_actor() -> None:
    with pytest.raises(AttributeError):
        ToolContext(actor=Actor("7", "Ann"), agent="desk").actor = Actor("1", "Root")


def test_a_component_keeps_data_for_the_model_apart_from_props_for_the_page() -> None:
    assert ui("weather-card", data={"temp_c": 21}, city="Lisbon") == UIResult(
        "weather-card", {"temp_c": 21}, {"city": "Lisbon"}
    )


def test_a_component_must_say_what_the_model_gets() -> None:
    with pytest.raises(TypeError, match="data"):
        ui("weather-card", city="Lisbon")


def test_the_public_names_are_there() -> None:
    assert all(hasattr(tools, name) for name in tools.__all__)
