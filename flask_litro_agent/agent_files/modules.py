"""The modules of an agents folder: its Python files, imported as a package of their own.

    agents/demo/tools/get_weather.py   is   _litro_agents_<hash of the path>.demo.tools.get_weather

Below that package the import system is the ordinary one, so relative imports work (``from ..._shared.orders import
OrderId``), tracebacks and the reloader see the files, and two folders of the same name never meet. ``sys.path``
stays as it is. Whatever goes wrong in a file is told as one sentence that begins with the file and the line.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final

from flask_litro_agent.errors import ConfigurationError

__all__ = ["AgentModules"]

_MAX_MESSAGE: Final = 300
_DECLARATION: Final = re.compile(r"(?P<call>tool|Agent\.__init__)\(\) (?P<fault>.+)", re.DOTALL)


class AgentModules:
    """One agents folder as a package; every construction forgets its modules and starts afresh."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()
        self.package = f"_litro_agents_{digest[:16]}"
        self._start_afresh()

    def load(self, file: Path) -> ModuleType:
        """Import a file of the folder; ConfigurationError says where and how it failed."""
        parts = file.relative_to(self.folder).with_suffix("").parts
        try:
            module = importlib.import_module(".".join((self.package, *parts)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # the site's code: its sys.exit() must not end the start without a word
            raise ConfigurationError(self._sentences(error, file)) from error
        if getattr(module, "__file__", None) != str(file):
            raise ConfigurationError(f"{self.place(file)}: is hidden by another module of the same name")
        return module

    def place(self, path: Path | str, line: int | None = None) -> str:
        """Return how messages name a path of the folder: ``agents/demo/agent.py:3``."""
        inside = Path(path).relative_to(self.folder)
        return _one_line((self.folder.name / inside).as_posix()) + (f":{line}" if line else "")

    def holds(self, path: str) -> bool:
        """Whether a source file's path is one of this folder's."""
        return path.startswith(f"{self.folder}{os.sep}")

    def definitions(self, file: Path, name: str) -> list[int]:
        """Return the lines at which a file defines a top-level name; a function's is that of its first decorator."""
        return [line for node in _statements(file) for line in _defined_at(node, name)]

    def functions(self, file: Path, name: str) -> list[int]:
        """Return the lines of a file's top-level decorated functions of that name: the last one hides the others."""
        nodes = [node for node in _statements(file) if isinstance(node, ast.FunctionDef)]
        return [line for node in nodes if node.decorator_list for line in _defined_at(node, name)]

    def _start_afresh(self) -> None:
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{self.package}.")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        package = ModuleType(self.package, "An agents folder.")
        package.__path__ = [str(self.folder)]
        package.__spec__ = ModuleSpec(self.package, None, is_package=True)
        sys.modules[self.package] = package

    def _sentences(self, error: BaseException, file: Path) -> list[str]:
        where = self._where(error, file)
        if isinstance(error, ConfigurationError):
            return [self._placed(fault, where) for fault in error.faults]
        if isinstance(error, SyntaxError) and error.filename and self.holds(error.filename):
            return [f"{self.place(error.filename, error.lineno)}: syntax error: {_one_line(error.msg)}"]
        return [f"{where}: {self._said(error)}"]

    def _where(self, error: BaseException, file: Path) -> str:
        frames = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
        inside = [(path, line) for path, line in frames if self.holds(path)]
        return self.place(*inside[-1]) if inside else self.place(file)

    def _placed(self, fault: str, where: str) -> str:
        parent = f"{self.folder.parent}{os.sep}"
        return fault.removeprefix(parent) if self.holds(fault) else f"{where}: {fault}"

    def _said(self, error: BaseException) -> str:
        message = _one_line(_text(error).replace(self.package, self.folder.name))
        declaration = _DECLARATION.fullmatch(message) if isinstance(error, TypeError) else None
        if declaration:
            return _declaration_fault(**declaration.groupdict()) or f"TypeError: {message}"
        return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _declaration_fault(call: str, fault: str) -> str | None:
    """Turn Python's words about a call of ``tool(...)`` or ``Agent(...)`` into ours, where they are clearer."""
    names = ", ".join(re.findall(r"'(\w+)'", fault))
    if "missing" in fault and call == "tool":
        return f"@tool leaves out {names}; every tool says its description, permission, mode and params"
    if "missing" in fault:
        return f"Agent(...) leaves out {names}"
    if "takes 0 positional arguments" in fault:
        return "@tool says nothing; write @tool(description=..., permission=..., mode=..., params=...)"
    return None


def _statements(file: Path) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the import has given them already
        return ast.parse(file.read_bytes()).body


def _defined_at(node: ast.stmt, name: str) -> Iterator[int]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name == name:
            yield node.decorator_list[0].lineno if node.decorator_list else node.lineno
        case ast.Assign(targets=targets):
            yield from (node.lineno for target in targets if _names(target, name))
        case ast.AnnAssign(target=target) if _names(target, name):
            yield node.lineno


def _names(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception of the site's own may fail to describe itself
        return "(it cannot describe itself)"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    shown = "".join(character if character.isprintable() else "?" for character in line)
    return shown if len(shown) <= _MAX_MESSAGE else f"{shown[: _MAX_MESSAGE - 1]}…"
