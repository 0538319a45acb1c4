"""Walled: what decides about a tool call, and what alone may run one.

The notice on the wall. Nothing in this folder takes a plugin, a hook or a setting that could loosen it: a policy
can only add a refusal. A tool's function is called in ``gate.py`` and nowhere else. What is in here imports
words, tools and schemas, never a plugin, a view or Flask.
"""
