"""An agents folder while it is read: what counts in it, and every fault found so far.

The one rule: nothing is skipped in silence. A fault is one sentence that begins with the file, and the reading
goes on after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from flask_litro_agent.agent_files.modules import AgentModules
from flask_litro_agent.errors import ConfigurationError

__all__ = ["AgentsFolder", "is_leftover", "is_python"]


class AgentsFolder:
    """One agents folder; ``faults`` and ``notes`` (lines for the start-up report) grow while it is read."""

    def __init__(self, folder: Path) -> None:
        self.modules = AgentModules(folder)
        self.path = self.modules.folder
        self.faults: list[str] = []
        self.notes: list[str] = []

    def fault(self, path: Path, sentence: str, *, line: int | None = None) -> None:
        self.faults.append(f"{self.modules.place(path, line)}: {sentence}")

    def fault_at(self, file: Path, name: str, sentence: str) -> None:
        """Add a fault about a top-level name of a module, at the line that defines it last."""
        self.fault(file, sentence, line=max(self.modules.definitions(file, name), default=None))

    def children(self, folder: Path) -> Iterator[Path]:
        """Yield what counts in a folder, sorted: names that start with ``_`` or ``.`` do not."""
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            self.fault(folder, f"cannot be read: {error.strerror}")
            return
        for child in (folder / name for name in names if name[0] not in "_."):
            if self.leads_inside(child):
                yield child

    def leads_inside(self, path: Path) -> bool:
        """Whether a path is there and stays in the folder; a symbolic link that does not is a fault."""
        if not Path(os.path.realpath(path)).is_relative_to(self.path):
            self.fault(path, "is a symbolic link that leads out of the agents folder")
            return False
        if not path.exists():
            self.fault(path, "is a symbolic link to nothing")
            return False
        return True

    def module(self, file: Path) -> ModuleType | None:
        """Import a file; None, with the faults added, when that fails."""
        if not file.is_file():  # opening a pipe would wait for its writer
            self.fault(file, "is not a regular file")
            return None
        try:
            return self.modules.load(file)
        except ConfigurationError as error:
            self.faults.extend(error.faults)
            return None


def is_python(path: Path) -> bool:
    """Whether a path has the name of a Python file, in whatever case."""
    return path.suffix.lower() == ".py"


def is_leftover(folder: Path) -> bool:
    """Whether a folder holds nothing but what version control and the interpreter leave behind."""
    return not any(
        os.path.basename(root) != "__pycache__" and any(not name.startswith(".") for name in names)
        for root, _, names in os.walk(folder)
    )
