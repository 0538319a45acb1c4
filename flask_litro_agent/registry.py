"""What the plugins gave, by name, and how to make one of it: frozen at start-up.

Nothing here knows pluggy: whoever holds a Registry holds plain functions, each bound to its ``LITRO_<NAME>_*``
settings. A message names keys and never values, for a value may be a secret; so what a plugin raises is told by
its type and place, and by its words only where those cannot hold a value.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flask_litro_agent.contracts import Policy, Provider, Renderer, SessionStore
from flask_litro_agent.errors import ConfigurationError

__all__ = ["KINDS", "Factory", "Kind", "PluginInfo", "Registry", "cause", "setting_key"]

Source = Literal["built-in", "site", "entry point"]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_EMPTY = inspect.Parameter.empty
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of the four things a plugin can register; ``arguments`` come before the settings in a factory's call."""

    noun: str
    plural: str
    hook: str
    contract: type
    arguments: int = 0
    reserved: frozenset[str] = frozenset()


KINDS = (
    Kind(noun="provider", plural="providers", hook="register_providers", contract=Provider, arguments=1),
    Kind(
        noun="session store",
        plural="session_stores",
        hook="register_session_stores",
        contract=SessionStore,
    ),
    Kind(
        noun="renderer",
        plural="renderers",
        hook="register_renderers",
        contract=Renderer,
        reserved=frozenset({"lit", "fast"}),
    ),
    Kind(noun="policy", plural="policies", hook="register_policies", contract=Policy),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """A plugin that loaded; each of ``hooks`` reads ``register_policies: permissions``."""

    name: str
    source: Source
    distribution: str | None = None
    version: str | None = None
    hooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory:
    """A plugin's factory and the settings that it will be called with."""

    kind: Kind
    name: str
    plugin: str
    function: Callable[..., Any] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, *arguments: Any) -> Any:
        """Make one; ConfigurationError when a setting is missing, the factory raises or makes something else."""
        missing = [setting_key(self.name, name) for name in self.needs() if name not in self.settings]
        if missing:
            raise ConfigurationError(f"{self} needs {', '.join(missing)}")
        try:
            made = self.function(*arguments, **self.settings)
        except Exception as error:
            raise ConfigurationError(f"{self} could not be made: {cause(error)}{self._given()}") from None
        if not isinstance(made, self.kind.contract):
            raise ConfigurationError(
                f"{self}: its factory made a {type(made).__name__}, not a {self.kind.noun}"
            )
        return made

    def __str__(self) -> str:
        return f"{self.kind.noun} {self.name!r} of {self.plugin}"

    def takes(self, keyword: str) -> bool:
        """Return whether the factory can be called with this setting."""
        arguments, rest = self._parameters()
        unnamed = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in rest)
        return keyword in self.names() or (unnamed and all(keyword != given.name for given in arguments))

    def names(self) -> list[str]:
        """Return the settings that the factory's signature names."""
        _, rest = self._parameters()
        return [parameter.name for parameter in rest if parameter.kind in _NAMED]

    def needs(self) -> list[str]:
        """Return the settings that the factory cannot do without."""
        _, rest = self._parameters()
        return [
            parameter.name for parameter in rest if parameter.kind in _NAMED and parameter.default is _EMPTY
        ]

    def _parameters(self) -> tuple[list[inspect.Parameter], list[inspect.Parameter]]:
        """Return the parameters that stand for the call's arguments, and the rest."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):  # a callable of C may not say; then calling it is the only test
            return [], [inspect.Parameter("settings", inspect.Parameter.VAR_KEYWORD)]
        positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
        arguments = positional[: self.kind.arguments]
        return arguments, [parameter for parameter in parameters if parameter not in arguments]

    def _given(self) -> str:
        keys = ", ".join(setting_key(self.name, keyword) for keyword in sorted(self.settings))
        return f" (settings given: {keys})" if keys else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Every provider, session store, renderer and policy there is, by name, and the plugins they come from."""

    providers: Mapping[str, Factory]
    session_stores: Mapping[str, Factory]
    renderers: Mapping[str, Factory]
    policies: Mapping[str, Factory]
    plugins: tuple[PluginInfo, ...] = ()

    def provider(self, name: str, model: str) -> Provider:
        """Make the named provider for a model; ConfigurationError says what there is."""
        made: Provider = self.factory("provider", name)(model)
        return made

    def session_store(self, name: str) -> SessionStore:
        """Make the named session store; ConfigurationError says what there is."""
        made: SessionStore = self.factory("session store", name)()
        return made

    def renderer(self, name: str) -> Renderer:
        """Make the named renderer; ConfigurationError says what there is."""
        made: Renderer = self.factory("renderer", name)()
        return made

    def policy(self, name: str) -> Policy:
        """Make the named policy; ConfigurationError says what there is."""
        made: Policy = self.factory("policy", name)()
        return made

    def factory(self, noun: str, name: str) -> Factory:
        """Return the named factory of a kind; ConfigurationError says what there is."""
        kind = next(kind for kind in KINDS if kind.noun == noun)
        there: Mapping[str, Factory] = getattr(self, kind.plural)
        if name in there:
            return there[name]
        if name in kind.reserved:
            raise ConfigurationError(
                f"the {noun} name {name!r} is reserved and does not exist yet; there is: {_names(there)}"
            )
        raise ConfigurationError(f"no {noun} named {name!r}; there is: {_names(there)}")


def setting_key(name: str, keyword: str) -> str:
    """Return the config key that reaches the factory of ``name`` as ``keyword``."""
    return f"LITRO_{name}_{keyword}".upper()


def cause(error: Exception) -> str:
    """Return what a plugin raised in one line: its words where they are about code, else its type and place."""
    if isinstance(error, ConfigurationError):
        return "; ".join(error.faults)
    if isinstance(error, (AttributeError, ImportError, SyntaxError)):
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def _names(there: Mapping[str, Factory]) -> str:
    return ", ".join(sorted(there)) or "none"
