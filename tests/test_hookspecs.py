"""Four hooks, and no fifth: a plugin has no other way in."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pluggy
import pytest

import flask_litro_agent
from flask_litro_agent import hookspecs
from flask_litro_agent.registry import KINDS

PACKAGE = Path(flask_litro_agent.__file__).parent
HOOKS = ["register_policies", "register_providers", "register_renderers", "register_session_stores"]
#: The only modules that may know pluggy.
PLUGGED = {"hookspecs.py", "plugins.py"}


def specified() -> list[str]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return [name for name in vars(manager.hook) if not name.startswith("_")]


def pluggy_uses(source: str) -> Iterator[str]:
    """Yield each place that declares a hook, asks a hook, or imports pluggy."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(alias.name.split(".")[0] == "pluggy" for alias in names):
                yield f"line {node.lineno}: import pluggy"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "pluggy":
                yield f"line {node.lineno}: from pluggy import"
            case ast.Name(id="hookspec") | ast.Attribute(attr="hookspec") | ast.alias(name="hookspec"):
                yield f"line {node.lineno}: hookspec"
            case ast.Attribute(attr="hook" | "subset_hook_caller") if isinstance(node.ctx, ast.Load):
                yield f"line {node.lineno}: a hook is asked"


def test_there_are_exactly_four_hooks() -> None:
    assert sorted(specified()) == HOOKS


def test_every_hook_has_its_kind_in_the_registry() -> None:
    assert sorted(kind.hook for kind in KINDS) == HOOKS


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented(hook: str) -> None:
    assert len(inspect.getdoc(getattr(hookspecs, hook)) or "") > 40


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_given_the_app_and_the_settings(hook: str) -> None:
    assert list(inspect.signature(getattr(hookspecs, hook)).parameters) == ["app", "settings"]


@pytest.mark.parametrize("hook", HOOKS)
def test_no_hook_is_a_first_result_or_a_historic_one(hook: str) -> None:
    options = getattr(getattr(hookspecs, hook), f"{hookspecs.PROJECT}_spec")
    assert not options["firstresult"]
    assert not options["historic"]


def test_the_public_names_of_the_page_are_the_hooks_and_their_mark() -> None:
    assert sorted(hookspecs.__all__) == sorted([*HOOKS, "PROJECT", "hookimpl"])


def test_no_other_module_declares_or_asks_a_hook() -> None:
    found = {
        str(path.relative_to(PACKAGE)): uses
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in PLUGGED and (uses := list(pluggy_uses(path.read_text())))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pluggy",
        "from pluggy import PluginManager",
        "from flask_litro_agent.hookspecs import hookspec",
        "@hookspec\ndef after_verdict(verdict): ...",
        "@hookspecs.hookspec\ndef after_verdict(verdict): ...",
        "verdict = manager.hook.decide(actor=actor)",
        "manager.subset_hook_caller('decide', [])",
    ],
)
def test_the_search_for_other_hooks_finds_one(source: str) -> None:
    assert list(pluggy_uses(source))
