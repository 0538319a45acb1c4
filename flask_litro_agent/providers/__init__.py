"""Providers: a scripted one, two dialects of the wire, and what a plugin needs for another (``sse``, ``http``)."""
