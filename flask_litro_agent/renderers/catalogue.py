"""Which components an app has: their templates, modules and stylesheets, found once at start-up and then fixed.

    templates/components/product-card.html      the component; of the app, or of a blueprint
    templates/components/product-card.txt       its text form, if it has one of its own
    static/components/product-card.js, .css     its module and its stylesheet, if it has them

What the app has wins over a blueprint's. Two blueprints with the same file are a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flask import Blueprint, Flask
from flask.sansio.scaffold import Scaffold
from jinja2 import BaseLoader

from flask_litro_agent.contracts import Asset, Component
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.renderers.environment import FOLDER, ComponentLoader, new_environment
from flask_litro_agent.renderers.names import ASSET, component_fault
from flask_litro_agent.renderers.template_faults import template_faults

__all__ = ["Catalogue", "find_components", "givers_of"]

_MOST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The components there are, and where their templates are loaded from."""

    components: Mapping[str, Component]
    assets: Mapping[str, Asset]
    loader: ComponentLoader


def givers_of(app: Flask) -> tuple[Scaffold, ...]:
    """Return who may bring components: the app, then the blueprints that it has now, each once."""
    return (app, *dict.fromkeys(app.blueprints.values()))


def find_components(givers: Sequence[Scaffold]) -> Catalogue:
    """Return the components of an app and its blueprints; ConfigurationError has every fault."""
    faults: list[str] = []
    loader = ComponentLoader(_templates(givers, faults))
    assets = _assets(givers, faults)
    components = {name: _component(name, assets) for name in _names(loader, faults)}
    faults += _faults(loader)
    if faults:
        raise ConfigurationError(faults)
    return Catalogue(components=MappingProxyType(components), assets=MappingProxyType(assets), loader=loader)


def _names(loader: ComponentLoader, faults: list[str]) -> Iterator[str]:
    """Yield the components' names. A file without a hyphen in its name is a template of the site's, not a component."""
    for template in loader.list_templates():
        stem, _, ending = template.removeprefix(FOLDER).rpartition(".")
        if ending != "html" or stem.startswith("_") or "-" not in stem:
            continue
        fault = component_fault(stem)
        if fault is None:
            yield stem
        else:
            faults.append(f"{template}: {fault}")


def _component(name: str, assets: Mapping[str, Asset]) -> Component:
    module, style = f"{name}.js", f"{name}.css"
    return Component(
        name=name,
        modules=(module,) if module in assets else (),
        style=style if style in assets else None,
    )


def _templates(givers: Sequence[Scaffold], faults: list[str]) -> dict[str, BaseLoader]:
    found: dict[str, BaseLoader] = {}
    first: dict[str, Scaffold] = {}
    for giver, loader in ((giver, giver.jinja_loader) for giver in givers):
        if loader is None:
            continue
        for template in _listed(loader):
            if _is_ours(template) and _is_first(template, giver, first, faults):
                found[template] = loader
    return found


def _listed(loader: BaseLoader) -> list[str]:
    try:
        return loader.list_templates()
    except TypeError:  # a loader that cannot say what it has, so that nothing of it could be checked
        return []


def _is_ours(template: str) -> bool:
    stem, _, ending = template.removeprefix(FOLDER).rpartition(".")
    return (
        template.startswith(FOLDER)
        and ending in ("html", "txt")
        and "/" not in stem
        and ("-" in stem or stem.startswith("_"))
    )


def _assets(givers: Sequence[Scaffold], faults: list[str]) -> dict[str, Asset]:
    found: dict[str, Asset] = {}
    first: dict[str, Scaffold] = {}
    for giver in givers:
        for path in _files(giver):
            fault = _asset_fault(path)
            if fault:
                faults.append(f"{path}: {fault}")
            elif _is_first(path.name, giver, first, faults):
                found[path.name] = Asset(path.name, path.read_bytes())
    return found


def _files(giver: Scaffold) -> Iterator[Path]:
    if giver.static_folder is None:
        return
    folder = Path(giver.static_folder, "components")
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.suffix in (".js", ".css"))


def _asset_fault(path: Path) -> str | None:
    if not ASSET.fullmatch(path.name):
        return "the name needs lower-case letters, digits, - and _, such as product-card.js"
    if path.stat().st_size > _MOST_BYTES:
        return "the file is larger than 1 MiB"
    return None


def _is_first(name: str, giver: Scaffold, first: dict[str, Scaffold], faults: list[str]) -> bool:
    owner = first.setdefault(name, giver)
    if isinstance(owner, Blueprint) and owner is not giver:
        faults.append(f"{name} is given by the blueprints {owner.name!r} and {giver.name!r}: keep one")
    return owner is giver


def _faults(loader: ComponentLoader) -> Iterator[str]:
    environment = new_environment(loader)
    for template in loader.list_templates():
        source, _, _ = loader.get_source(environment, template)
        if template.endswith(".html"):
            yield from template_faults(environment, template, source)
