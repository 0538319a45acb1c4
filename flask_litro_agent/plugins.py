"""Start-up, once: plugins are found, asked by the four hooks, checked, and frozen into a Registry.

    built-in modules ───────┐
    LitroAgent(plugins=…) ──┼──► the four hooks ──► names checked ──► LITRO_<NAME>_* bound ──► Registry
    entry points ───────────┘

Whatever is wrong with any of them is one sentence in one ConfigurationError, together with the faults of our own
settings. The order in which plugins come changes nothing, and pluggy is never asked again afterwards.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pluggy
from flask import Flask

from flask_litro_agent import hookspecs, plugin_settings
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.policies import plugin as policies
from flask_litro_agent.providers import plugin as providers
from flask_litro_agent.registry import KINDS, Factory, Kind, PluginInfo, Registry, Source, cause
from flask_litro_agent.renderers import plugin as renderers
from flask_litro_agent.sessions import plugin as session_stores
from flask_litro_agent.settings import Draft, Settings, did_you_mean

__all__ = ["BUILT_IN", "draft_plugins", "load_plugins"]

#: The plugins that the package itself brings.
BUILT_IN: tuple[object, ...] = (providers, session_stores, renderers, policies)

_HOOKS = {kind.hook: kind for kind in KINDS}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SOURCES: tuple[Source, ...] = ("built-in", "site", "entry point")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plugin:
    """A plugin before it is asked; ``module`` is whatever object has the hooks."""

    name: str
    source: Source
    module: object
    distribution: str | None = None
    version: str | None = None

    def __str__(self) -> str:
        where = f"{self.distribution} {self.version}" if self.distribution else self.source
        return f"plugin {self.name!r} ({where})"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hook:
    """One hook function of one plugin."""

    plugin: _Plugin
    kind: Kind
    implementation: pluggy.HookImpl

    def __str__(self) -> str:
        return f"{self.plugin}: {self.kind.hook}"


def load_plugins(
    app: Flask, draft: Draft, *, site_plugins: Iterable[object] = (), built_in: Iterable[object] = BUILT_IN
) -> Registry:
    """Return what the app's plugins register; ConfigurationError has every fault, the draft's included.

    The hooks get ``draft.settings``. A ``LITRO_*`` key that is neither ours nor taken by a factory is a fault, and
    so is a store, renderer or policy that the settings choose and nobody registers.
    """
    registry, faults = draft_plugins(app, draft, site_plugins=site_plugins, built_in=built_in)
    if faults:
        raise ConfigurationError(faults)
    return registry


def draft_plugins(
    app: Flask, draft: Draft, *, site_plugins: Iterable[object] = (), built_in: Iterable[object] = BUILT_IN
) -> tuple[Registry, Sequence[str]]:
    """Return what can stand of what the app's plugins register, and every fault, the draft's included."""
    faults = list(draft.faults)
    plugins = [
        *(_own(module, "built-in") for module in built_in),
        *(_own(module, "site") for module in site_plugins),
        *_installed(draft.settings.plugins, faults),
    ]
    hooks = list(_hooks(plugins, faults))
    offers = [offer for hook in hooks for offer in _offers(hook, app, draft.settings, faults)]
    factories = plugin_settings.bind(_unique(offers, faults), draft.strangers, faults)
    registry = _registry(factories, plugins)
    faults += _unknown_choices(registry, draft.settings)
    return registry, sorted(set(faults))


def _own(module: object, source: Source) -> _Plugin:
    name = getattr(module, "__name__", None) or type(module).__qualname__
    return _Plugin(name=str(name), source=source, module=module)


def _installed(allowed: Sequence[str] | None, faults: list[str]) -> Iterator[_Plugin]:
    found: dict[str, list[importlib.metadata.EntryPoint]] = defaultdict(list)
    for point in importlib.metadata.entry_points(group=hookspecs.PROJECT):
        found[point.name].append(point)
    for name in found if allowed is None else dict.fromkeys(allowed):
        match found.get(name, []):
            case [point]:
                yield from _loaded(point, faults)
            case []:
                there = ", ".join(sorted(found)) or "none"
                faults.append(f"LITRO_PLUGINS names {name!r}, which is not installed; installed: {there}")
            case points:
                givers = ", ".join(sorted(" ".join(_distribution(point)) for point in points))
                faults.append(f"plugin {name!r} is given by several distributions: {givers}")


def _loaded(point: importlib.metadata.EntryPoint, faults: list[str]) -> Iterator[_Plugin]:
    distribution, version = _distribution(point)
    try:
        module = point.load()
    except Exception as error:
        faults.append(f"plugin {point.name!r} ({distribution} {version}) does not import: {cause(error)}")
        return
    yield _Plugin(
        name=point.name,
        source="entry point",
        module=module,
        distribution=distribution,
        version=version,
    )


def _distribution(point: importlib.metadata.EntryPoint) -> tuple[str, str]:
    return (point.dist.name, point.dist.version) if point.dist else (point.value, "of no distribution")


def _hooks(plugins: Sequence[_Plugin], faults: list[str]) -> Iterator[_Hook]:
    """Register the plugins with a manager of their own; yield the hooks that may be called."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    seen: dict[int, _Plugin] = {}
    for plugin in plugins:
        first = seen.setdefault(id(plugin.module), plugin)
        if first is not plugin:
            faults.append(f"{plugin} is there already as {first}: hand it over once")
            continue
        try:
            manager.register(plugin.module, name=str(id(plugin.module)))
        except pluggy.PluginValidationError as error:
            faults.append(f"{plugin} does not fit: {' '.join(str(error).split())}")
            continue
        yield from _hooks_of(plugin, manager, faults)


def _hooks_of(plugin: _Plugin, manager: pluggy.PluginManager, faults: list[str]) -> Iterator[_Hook]:
    callers = manager.get_hookcallers(plugin.module) or []
    unmarked = _unmarked(plugin.module, {caller.name for caller in callers})
    faults += [f"{plugin}: {name} is not marked with our @hookimpl" for name in unmarked]
    if not callers and not unmarked:
        faults.append(f"{plugin} registers nothing; the hooks are: {', '.join(_HOOKS)}")
    for caller in callers:
        if caller.name not in _HOOKS:
            faults.append(
                f"{plugin}: there is no hook named {caller.name!r}{did_you_mean(caller.name, _HOOKS)}"
            )
            continue
        for implementation in caller.get_hookimpls():
            if implementation.plugin is plugin.module:
                hook = _Hook(plugin=plugin, kind=_HOOKS[caller.name], implementation=implementation)
                yield from _plain(hook, faults)


def _unmarked(module: object, marked: set[str]) -> list[str]:
    return [
        hook
        for hook in _HOOKS
        if hook not in marked and inspect.getattr_static(module, hook, None) is not None
    ]


def _plain(hook: _Hook, faults: list[str]) -> Iterator[_Hook]:
    options = [name for name, value in hook.implementation.opts.items() if value]
    if options:
        faults.append(
            f"{hook} is marked with hookimpl({', '.join(options)}); a wrapper could change what others"
            " register and an order means nothing here: use a plain @hookimpl"
        )
    elif inspect.iscoroutinefunction(hook.implementation.function):
        faults.append(f"{hook} is 'async def'; hooks are synchronous: write 'def'")
    else:
        yield hook


def _offers(hook: _Hook, app: Flask, settings: Settings, faults: list[str]) -> Iterator[Factory]:
    """Call one hook; yield what it offers, as far as that can stand."""
    values = {"app": app, "settings": settings}
    try:
        answer = hook.implementation.function(*(values[name] for name in hook.implementation.argnames))
        offered = dict(answer) if isinstance(answer, Mapping) else None
    except Exception as error:
        faults.append(f"{hook} raised {cause(error)}")
        return
    if offered is None:
        faults.append(
            f"{hook} returned a {type(answer).__name__}; it must be a mapping of names to factories"
        )
        return
    for name, function in offered.items():
        if fault := _offer_fault(hook.kind, name, function):
            faults.append(f"{hook}: {fault}")
        else:
            yield Factory(kind=hook.kind, name=name, plugin=str(hook.plugin), function=function)


def _offer_fault(kind: Kind, name: object, function: object) -> str | None:
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        return f"the name {name!r} must match {_NAME.pattern}"
    if name in kind.reserved:
        return f"the {kind.noun} name {name!r} is reserved for a later release; choose another"
    if not callable(function):
        return f"{name!r} is a {type(function).__name__}, not a factory"
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return f"the factory of {name!r} is 'async def'; factories are synchronous: write 'def'"
    return None


def _unique(offers: Iterable[Factory], faults: list[str]) -> list[Factory]:
    named: dict[tuple[str, str], list[Factory]] = defaultdict(list)
    for offer in offers:
        named[offer.kind.noun, offer.name].append(offer)
    for (noun, name), twins in named.items():
        if len(twins) > 1:
            givers = " and by ".join(sorted(twin.plugin for twin in twins))
            faults.append(f"{noun} {name!r} is registered by {givers}; a name is given once")
    return [twins[0] for twins in named.values()]


def _registry(factories: Iterable[Factory], plugins: Iterable[_Plugin]) -> Registry:
    ordered = sorted(factories, key=lambda factory: factory.name)
    named = {
        kind.plural: MappingProxyType({made.name: made for made in ordered if made.kind is kind})
        for kind in KINDS
    }
    infos = [_info(plugin, ordered) for plugin in plugins]
    infos.sort(key=lambda info: (_SOURCES.index(info.source), info.name, info.distribution or "", info.hooks))
    return Registry(**named, plugins=tuple(infos))


def _info(plugin: _Plugin, factories: Sequence[Factory]) -> PluginInfo:
    named: dict[str, list[str]] = defaultdict(list)
    for factory in factories:
        if factory.plugin == str(plugin):
            named[factory.kind.hook].append(factory.name)
    return PluginInfo(
        name=plugin.name,
        source=plugin.source,
        distribution=plugin.distribution,
        version=plugin.version,
        hooks=tuple(f"{hook}: {', '.join(names)}" for hook, names in sorted(named.items())),
    )


def _unknown_choices(registry: Registry, settings: Settings) -> Iterator[str]:
    chosen = [("session store", settings.session_store), *(("policy", name) for name in settings.policies)]
    if settings.renderer is not None:
        chosen.append(("renderer", settings.renderer))
    for noun, name in chosen:
        try:
            registry.factory(noun, name)
        except ConfigurationError as error:
            yield from error.faults
