"""Runs tests against the package with one place of its source changed: ``mutant_child.py < mutants.json``.

Each mutant is ``{"module", "old", "new", "tests"}``; one line of output says pytest's exit code for it, or why there
was nothing to run. The changed source is only ever in this process's memory.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "flask_litro_agent"
QUIET = ["--assert=plain", "-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds one module, and gives it another source."""

    def __init__(self, module: str, source: str) -> None:
        self.module = module
        self.source = source

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.module else None

    def get_source(self, fullname: str) -> str:
        return self.source

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, f"<changed {self.module}>", "exec"), module.__dict__)


@contextlib.contextmanager
def changed(module: str, source: str) -> Iterator[None]:
    """Import everything anew, that one module with this source."""
    for name in list(sys.modules):
        if name.split(".")[0] in (PACKAGE, "tests"):
            del sys.modules[name]
    finder = Changed(module, source)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def run(mutant: dict[str, Any]) -> str:
    """Return pytest's exit code, or a word for a mutant that is none."""
    file = ROOT / Path(*mutant["module"].split(".")).with_suffix(".py")
    source = file.read_text()
    if mutant["old"] and source.count(mutant["old"]) != 1:
        return f"found {source.count(mutant['old'])} times"
    source = source.replace(mutant["old"], mutant["new"]) if mutant["old"] else source
    said = io.StringIO()
    with changed(mutant["module"], source), contextlib.redirect_stdout(said):
        code = pytest.main([*QUIET, f"--rootdir={ROOT}", *(str(ROOT / test) for test in mutant["tests"])])
    return str(int(code)) if code in (0, 1) else f"exit {int(code)}: {said.getvalue()[-600:]}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for each in json.load(sys.stdin):
        print(json.dumps(run(each)), flush=True)
