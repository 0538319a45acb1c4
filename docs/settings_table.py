"""The directive ``settings-table``: settings of the package by their names, with default, check and meaning.

The words stand in ``settings.Settings`` and nowhere else; a name that is no setting stops the build.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flask_litro_agent.settings import Settings

__all__ = ["setup", "table"]

_FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def table(names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table of these fields of ``Settings``; KeyError for another name."""
    yield "| key | default | meaning | must be |"
    yield "| --- | --- | --- | --- |"
    for name in names:
        field = _FIELDS[name]
        meaning, fault = field.metadata["meaning"], field.metadata["check"](object())
        must_be = fault.removeprefix("must be ")
        yield f"| `LITRO_{name.upper()}` | `{_shown(field.default)}` | {meaning} | {must_be} |"


def _shown(default: Any) -> str:
    return repr(list(default) if isinstance(default, tuple) else default)


class SettingsTable(SphinxDirective):
    """One name a line: ``url_prefix`` is ``LITRO_URL_PREFIX``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(table([line.strip() for line in self.content])))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("settings-table", SettingsTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
