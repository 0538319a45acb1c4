"""The house as it was drawn: imports go down, built-ins stand where strangers stand, one door to a tool's function."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "flask_litro_agent"
NAME = "flask_litro_agent"

#: From the ground up. A module may import its own floor's room and everything below.
FLOORS = (
    ("errors",),
    ("strict_json",),
    ("events", "contracts", "settings", "signals"),
    ("tools", "schemas", "instructions"),
    ("agents", "core", "identity"),
    ("agent_files",),
    ("hookspecs", "registry"),
    ("plugin_settings", "providers", "sessions", "renderers", "policies"),
    ("plugins",),
    ("turns", "bookkeeping", "notices", "components"),
    ("mcp", "report"),
    ("installation",),
    ("assembly", "web", "terminal", "doctor"),
    ("commands",),
    ("cli",),
    ("extension",),
    ("testing",),
)
LEVELS = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}

#: What a stranger's plugin may import, so what ours may.
PUBLISHED = {"errors", "strict_json", "events", "contracts", "settings", "tools", "hookspecs", "schemas"}
OPTIONAL = {"flask_babel", "flask_login", "flask_security", "gevent"}


@functools.cache
def sources() -> list[tuple[str, ast.Module]]:
    found = sorted(PACKAGE.rglob("*.py"))
    return [(path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())) for path in found]


def room_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def imported_rooms(node: ast.AST) -> Iterator[str]:
    """Yield the rooms of our package that one import statement names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith(f"{NAME}."):
                yield alias.name.split(".")[1]
    elif isinstance(node, ast.ImportFrom) and node.module:
        if node.module == NAME:
            yield from (alias.name for alias in node.names)
        elif node.module.startswith(f"{NAME}."):
            yield node.module.split(".")[1]


def test_every_module_stands_on_a_floor():
    rooms = {room_of(file) for file, _ in sources()} - {"__init__"}
    assert rooms == set(LEVELS)


def test_imports_only_go_down():
    """Neighbours on one floor may be imported, as long as it makes no circle."""
    upward = [
        f"{file}:{node.lineno} imports {target}"
        for file, tree in sources()
        if room_of(file) != "__init__"
        for node in ast.walk(tree)
        for target in imported_rooms(node)
        if LEVELS[target] > LEVELS[room_of(file)]
    ]
    assert upward == []


def test_no_two_rooms_import_each_other():
    edges = {
        (room_of(file), target)
        for file, tree in sources()
        if room_of(file) != "__init__"
        for node in ast.walk(tree)
        for target in imported_rooms(node)
        if target != room_of(file)
    }
    assert [edge for edge in edges if edge[::-1] in edges] == []


def test_an_import_inside_a_function_is_an_optional_dependency():
    hidden = [
        f"{file}:{node.lineno}"
        for file, tree in sources()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and not _names_optional(node)
    ]
    assert hidden == []


def _names_optional(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return all(name.split(".")[0] in OPTIONAL for name in names)


@pytest.mark.parametrize("room", ["providers", "sessions", "renderers", "policies"])
def test_built_in_plugins_import_only_what_a_stranger_may(room):
    foreign = [
        f"{file} imports {target}"
        for file, tree in sources()
        if room_of(file) == room
        for node in ast.walk(tree)
        for target in imported_rooms(node)
        if target not in PUBLISHED | {room}
    ]
    assert foreign == []


def test_law_5_a_tools_function_is_called_in_the_gate_alone():
    """Law 5: one gate."""
    own = {
        "providers/scripted.py",
        "registry.py",
        "plugins.py",
    }  # a script's and a factory's function, not a tool's
    calls = [
        file
        for file, tree in sources()
        if file not in own
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "function"
    ]
    assert calls == ["core/gate.py"]


def callers_of(method):
    return {
        file
        for file, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == method and isinstance(node.ctx, ast.Load)
    }


def test_law_5_one_view_alone_approves():
    """The test kit's client posts to that view: it never reaches the gate's method."""
    views = {"web/proposals.py", "testing/client.py"}
    assert callers_of("approve") <= views
    assert callers_of("carry_out") == {"core/gate.py"}


def test_nobody_reaches_behind_the_gate():
    """Outside the wall an approval has one door, and the gate's parts have none."""
    reached = [
        f"{file}:{node.lineno}"
        for file, tree in sources()
        if room_of(file) != "core"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == "_wiring")
        or (isinstance(node, ast.ImportFrom) and node.module == f"{NAME}.core.approval")
    ]
    assert reached == []


@pytest.mark.parametrize("method", ["preview", "as_of", "inverse", "reconcile", "labels"])
def test_what_stands_beside_a_tool_is_called_inside_the_wall_alone(method):
    called = [
        file
        for file, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]
    assert {room_of(file) for file in called} <= {"core", "web"}


def test_turns_know_no_view_and_no_pluggy():
    known = {
        name.split(".")[0]
        for file, tree in sources()
        if room_of(file) in ("turns", "core")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert known.isdisjoint({"flask", "werkzeug", "pluggy", "gevent", "asyncio"})


def test_nothing_uses_an_event_loop():
    users = [file for file, tree in sources() for node in ast.walk(tree) if _is_asynchronous(node)]
    assert users == []


def _is_asynchronous(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "asyncio" for alias in node.names)
    return isinstance(node, ast.AsyncFunctionDef | ast.Await)


def test_no_module_is_a_grab_bag():
    forbidden = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}
    assert [file for file, _ in sources() if Path(file).stem in forbidden] == []


def test_no_module_level_state_changes():
    """Two apps in one process share nothing: a module holds constants and loggers, never an empty container."""
    end_mark = "providers/frames.py"  # DONE is compared by identity and stays empty
    empty = [
        file
        for file, tree in sources()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_empty_container(node.value)
    ]
    assert empty == [end_mark]


def _is_empty_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.List | ast.Set):
        return not value.elts
    return isinstance(value, ast.Dict) and not value.keys
