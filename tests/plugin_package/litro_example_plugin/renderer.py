"""A renderer that knows some tags and shows their props as a list."""

from html import escape

from flask_litro_agent.contracts import Rendered


class Plain:
    def __init__(self, *, tags=("plain-card",)):
        self._tags = frozenset(tags)

    def render(self, component, props):
        if component not in self._tags:
            raise LookupError(f"no component named {component!r}")
        rows = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in props.items()
        )
        return Rendered(f"<{component}><dl>{rows}</dl></{component}>")
