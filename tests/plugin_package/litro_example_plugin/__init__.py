"""The plugin: which names it gives to what. A site finds this module by the entry point in pyproject.toml."""

from flask_litro_agent import ConfigurationError, hookimpl
from litro_example_plugin.policy import Hours
from litro_example_plugin.provider import Echo
from litro_example_plugin.renderer import Plain
from litro_example_plugin.store import MemoryStore
from litro_example_plugin.wire import Lines


@hookimpl
def register_providers():
    return {"echo": Echo, "lines": Lines}


@hookimpl
def register_session_stores():
    return {"memory": MemoryStore}


@hookimpl
def register_renderers():
    return {"plain": Plain}


@hookimpl
def register_policies(settings):
    def hours(opens: int = 9, closes: int = 17, utc_offset: int = 0):
        if "permissions" not in settings.policies:
            raise ConfigurationError(
                "hours only refuses; name another policy that allows, such as permissions"
            )
        return Hours(opens, closes, utc_offset=utc_offset)

    return {"hours": hours}
