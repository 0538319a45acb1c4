"""What the package never does: build objects, code or templates from data, or look a name up that data chose.

Every exception is listed with its reason; a reason without its code is a fault as well.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "flask_litro_agent"

MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "yaml", "jsonpickle", "codeop", "pty"}
CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "from_string",
    "render_template_string",
    "Markup",
    "import_module",
    "exec_module",
    "load_module",
    "system",
    "popen",
}
#: What looks an attribute up by name, and the place of the name among its arguments.
LOOKUPS = {"getattr": 1, "setattr": 1, "delattr": 1, "attrgetter": 0, "methodcaller": 0}

#: (file, code) → why it may stand there.
ALLOWED = {
    ("agent_files/modules.py", "importlib.import_module('.'.join((self.package, *parts)))"): (
        "an agent's own files, found in the site's folder at start-up"
    ),
    ("identity.py", "getattr(user, self._key)"): "the column that the site named",
    ("identity.py", "getattr(user, attribute, None)"): "one of two constants, beside it",
    ("registry.py", "getattr(self, kind.plural)"): "one of the registry's four own fields",
    (
        "schemas/reading.py",
        "getattr(reader, when, ())",
    ): "pre_load or post_load, as its callers write",
    ("schemas/reading.py", "getattr(type(schema), name)"): "one of the constants, beside it",
    ("schemas/reading.py", "getattr(Schema, name)"): "one of the constants, beside it",
    ("renderers/jinja.py", "Markup(rendered.html)"): "a component inside another: what a renderer drew",
    ("web/components.py", "Markup(components.render(UIResult(name, None, plain)).html)"): (
        "a component in a page: what a renderer drew"
    ),
    (
        "web/components.py",
        'Markup(\'<script type="module" src="{}" integrity="{}"></script>\')',
    ): "a constant",
    ("web/components.py", "Markup('\\n')"): "a constant",
    ("settings.py", "getattr(self, field.name)"): "the dataclass's own fields",
    ("web/card.py", "getattr(proposal, name)"): "the constants, beside it",
    ("testing/__init__.py", "getattr(importlib.import_module(f'{__name__}.{_CONTRACTS[name]}'), name)"): (
        "the published names of the kit: others raise AttributeError before"
    ),
    ("testing/__init__.py", "importlib.import_module(f'{__name__}.{_CONTRACTS[name]}')"): (
        "the published names of the kit: others raise AttributeError before"
    ),
}


@functools.cache
def sources() -> list[tuple[str, ast.Module]]:
    found = sorted(PACKAGE.rglob("*.py"))
    return [(path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())) for path in found]


def banned(tree: ast.AST) -> Iterator[str]:
    """Yield the code of every banned thing in a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(_root(alias.name) in MODULES for alias in names):
                yield ast.unparse(node)
            case ast.ImportFrom(module=str(module)) if _root(module) in MODULES:
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id=name)) if name in CALLS or _looks_up(name, node):
                yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr=name)) if name in CALLS - {"compile"} or _looks_up(
                name, node
            ):
                yield ast.unparse(node)
            case ast.keyword(arg="shell"):
                yield ast.unparse(node)


def _root(module: str) -> str:
    return module.split(".")[0]


def _looks_up(name: str, call: ast.Call) -> bool:
    """Whether this looks an attribute up whose name is not written right there."""
    place = LOOKUPS.get(name)
    return place is not None and not all(
        isinstance(word, ast.Constant) for word in call.args[place : place + 1]
    )


def test_nothing_banned_stands_in_the_package():
    """J10, F5: no object, code, template or attribute is chosen by data."""
    found = [(file, code) for file, tree in sources() for code in banned(tree)]
    assert [place for place in found if place not in ALLOWED] == []


def test_every_exception_is_still_needed():
    found = {(file, code) for file, tree in sources() for code in banned(tree)}
    assert set(ALLOWED) - found == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import yaml",
        "eval(text)",
        "exec(text)",
        "compile(text, '', 'exec')",
        "__import__(name)",
        "import_module(name)",
        "importlib.import_module('json')",
        "environment.from_string(text)",
        "render_template_string('x')",
        "getattr(tools, name)",
        "getattr(tools, f'{name}')",
        "setattr(tools, name, 1)",
        "operator.attrgetter(name)",
        "os.system('ls')",
        "subprocess.run('ls', shell=True)",
        "Markup(text)",
    ],
)
def test_the_test_sees_what_it_bans(source):
    assert list(banned(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["getattr(value, 'name', None)", "re.compile(text)", "setattr(value, 'x', 1)", "import json"]
)
def test_the_test_lets_the_ordinary_be(source):
    assert not list(banned(ast.parse(source)))
