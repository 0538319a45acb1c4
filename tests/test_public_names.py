"""The published names, pinned; and every module's own list of them."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import flask_litro_agent

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "flask_litro_agent"
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)

PUBLISHED = [
    *(
        "PUBLIC",
        "Actor",
        "Agent",
        "AgentError",
        "CallSite",
        "Change",
        "ConfigurationError",
        "FlaskLogin",
        "FlaskSecurity",
    ),
    *("LitroAgent", "LitroError", "Mode", "NeedsApproval", "NothingDone", "Outcome", "ProposalFacts", "Ran"),
    *("Refused", "ToolContext", "ToolKit", "TurnFacts", "Verdict"),
    *("anthropic", "call", "ceiling_changed", "delay", "hookimpl", "openai_compatible", "proposal_recorded"),
    *("proposal_settled", "say", "scripted", "token_actor", "tool", "turn_ended", "ui"),
]
TEST_KIT = [
    *("AgentClient", "CalledTool", "PolicyContract", "ProviderContract", "RendererContract", "StoreContract"),
    *("TurnRecord", "call", "delay", "say"),
]


def in_order(names):
    """Sort as the linter does: constants, then classes, then functions."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))


def tree_of(module):
    path = ROOT.joinpath(*module.split("."))
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())


def listed(module):
    """Return the names in a module's ``__all__``, None for a module without one."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return None


def test_the_published_names_are_these():
    assert flask_litro_agent.__all__ == PUBLISHED


def test_the_test_kits_names_are_these():
    assert importlib.import_module("flask_litro_agent.testing").__all__ == TEST_KIT


def test_a_star_import_brings_the_published_names():
    names = {}
    exec("from flask_litro_agent import *", names)
    assert set(names) - {"__builtins__"} == set(PUBLISHED)


def test_nothing_public_is_published_and_left_out_of_the_list():
    imported = {
        alias.asname or alias.name
        for node in tree_of("flask_litro_agent").body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == set(PUBLISHED)


@pytest.mark.parametrize("module", MODULES)
def test_a_modules_list_is_sorted_and_true(module):
    names = listed(module)
    if names is None:
        assert not tree_of(module).body[1:], "a module with code says what it offers"
        return
    assert names == in_order(names)
    assert len(names) == len(set(names))
    offered = importlib.import_module(module)
    assert [name for name in names if not hasattr(offered, name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_whatever_is_public_says_what_it_is_for(module):
    tree = tree_of(module)
    assert not tree.body or ast.get_docstring(tree)
    bare = [
        f"{module}:{node.lineno} {node.name}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="the wheel is built with hatchling: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True, timeout=300
    )
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_says_that_it_is_typed(wheel):
    assert "flask_litro_agent/py.typed" in wheel


def test_the_wheel_holds_every_module_and_the_browsers_part(wheel):
    here = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")}
    assert here <= set(wheel)
    assert "flask_litro_agent/static/litro_agent/litro.js" in wheel


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"flask_litro_agent"}


def test_the_wheel_brings_the_pytest_plugin(wheel):
    (points,) = (data for name, data in wheel.items() if name.endswith("entry_points.txt"))
    assert b"[pytest11]\nlitro_agent = flask_litro_agent.testing.fixtures" in points
