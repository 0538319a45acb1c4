"""What in a template is html already: it is not escaped once more, so it may stand between tags alone, and whole.

Inside quotes the first quote in it ends the attribute, and whatever cuts it may leave a tag open: then a value that was
escaped for one place stands in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jinja2 import nodes

__all__ = ["FinishedHtml", "find_finished_html"]

_ALWAYS: Final = frozenset({"caller", "litro_component", "self", "super"})
_CUT: Final = "is html already: no filter, method or part of it; change the values in it instead"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedHtml:
    """The names in one template that stand for html; ``modules`` are those that hold macros."""

    names: frozenset[str]
    modules: frozenset[str]

    def faults(self, tree: nodes.Template) -> Iterator[tuple[int, str]]:
        """Yield the line of each place where such html is changed, and what is wrong with it."""
        for node in tree.find_all((nodes.Filter, nodes.Getitem, nodes.Getattr)):
            changed = getattr(node, "node", None)
            if isinstance(node, nodes.Getattr) and _named(changed) in self.modules:
                continue
            if changed is not None and (name := self._within(changed)):
                yield node.lineno, f"'{name}' {_CUT}"

    def _within(self, node: nodes.Node) -> str | None:
        return next((name for name in sorted(_names(node)) if name in self.names), None)


def find_finished_html(tree: nodes.Template) -> FinishedHtml:
    """Return what a template calls its blocks, macros and components, and what it assigns them to."""
    modules = {"self", *(node.target for node in tree.find_all(nodes.Import))}
    names = {*_ALWAYS, *modules, *_declared(tree)}
    while more := _assigned(tree, names) - names:
        names |= more
    return FinishedHtml(names=frozenset(names), modules=frozenset(modules))


def _declared(tree: nodes.Template) -> Iterator[str]:
    for macro in tree.find_all(nodes.Macro):
        yield macro.name
    for block in tree.find_all(nodes.AssignBlock):
        yield from _names(block.target)
    for imported in tree.find_all(nodes.FromImport):
        yield from (name if isinstance(name, str) else name[1] for name in imported.names)


def _assigned(tree: nodes.Template, names: set[str]) -> set[str]:
    found: set[str] = set()
    for node in tree.find_all(nodes.Assign):
        if _names(node.node) & names:
            found |= _names(node.target)
    return found


def _names(node: nodes.Node) -> set[str]:
    own = {node.name} if isinstance(node, nodes.Name) else set()
    return own | {each.name for each in node.find_all(nodes.Name)}


def _named(node: nodes.Node | None) -> str | None:
    return node.name if isinstance(node, nodes.Name) else None
