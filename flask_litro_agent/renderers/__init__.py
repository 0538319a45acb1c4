"""Renderers: a component's template and props become html."""
