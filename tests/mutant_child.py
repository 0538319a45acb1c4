"""Runs tests against the package with one place of its source changed: ``mutant_child.py < mutants.json``.

Each mutant is ``{"module", "old", "new", "tests"}``; one line of output says ``died`` or ``lived``, or why there was
nothing to run. The functions of the imported module get the changed source's code and have their own back afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).parent.parent
QUIET = ["--assert=plain", "-q", "-o", "addopts=", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]


class Mutation:
    """Collects the tests of all mutants, and in the place of a run tries one mutant after the other."""

    def __init__(self, mutants: list[dict[str, Any]]) -> None:
        self.mutants = mutants
        self.fates: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for mutant in self.mutants:
            asked = [item for item in session.items if _is_asked(item.nodeid, mutant["tests"])]
            self.fates.append(_fate(mutant, asked))
        return True


def _is_asked(node: str, tests: list[str]) -> bool:
    return node in tests or node.partition("[")[0] in tests


def _fate(mutant: dict[str, Any], items: list[pytest.Item]) -> str:
    file = ROOT / Path(*mutant["module"].split(".")).with_suffix(".py")
    source = file.read_text()
    if mutant["old"] and source.count(mutant["old"]) != 1:
        return f"found {source.count(mutant['old'])} times"
    if not items:
        return "no test"
    changed = source.replace(mutant["old"], mutant["new"]) if mutant["old"] else source
    with _changed(mutant["module"], source, changed):
        return "died" if any(map(_fails, items)) else "lived"


def _fails(item: pytest.Item) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


@contextlib.contextmanager
def _changed(module: str, source: str, changed: str) -> Iterator[None]:
    """Give every function of the module whose code differs the changed code."""
    before, after = (_functions(compile(text, module, "exec")) for text in (source, changed))
    names = [name for name in before if _words(before[name]) != _words(after[name])]
    assert bool(names) == (source != changed), f"a change outside of a function of {module}"
    kept = [(each, each.__code__) for name in names for each in _living(module)[name]]
    for each, _ in kept:
        each.__code__ = after[each.__qualname__]
    try:
        yield
    finally:
        for each, code in kept:
            each.__code__ = code


@functools.cache
def _living(module: str) -> dict[str, list[FunctionType]]:
    """Return the functions of an imported module by qualified name, wherever they are kept."""
    importlib.import_module(module)
    found: dict[str, list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__module__ == module and _is_as_named(each):
            found.setdefault(each.__qualname__, []).append(each)
    return found


def _is_as_named(function: FunctionType) -> bool:
    """Whether it is the function itself, and not what a decorator gave its name to."""
    return function.__code__.co_qualname == function.__qualname__


def _functions(code: CodeType) -> dict[str, CodeType]:
    """Return the code of the module's functions and methods by qualified name; what is in them goes with them."""
    found = {}
    for each in code.co_consts:
        if isinstance(each, CodeType) and "__module__" in each.co_names:  # the body of a class
            found |= _functions(each)
        elif isinstance(each, CodeType) and not each.co_name.startswith("<"):
            found[each.co_qualname] = each
    return found


def _words(code: CodeType) -> Any:
    """Return what a function does, wherever it stands in its file."""
    consts = [_words(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    mutation = Mutation(json.load(sys.stdin))
    tests = sorted({test for mutant in mutation.mutants for test in mutant["tests"]})
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main([*QUIET, *(str(ROOT / test) for test in tests)], plugins=[mutation])
    if code:
        sys.exit(said.getvalue()[-2000:])
    for fate in mutation.fates:
        print(json.dumps(fate))
