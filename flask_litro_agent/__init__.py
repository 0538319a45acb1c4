"""AI agents for Flask sites: a durable session log, streamed turns, and a gate in front of every tool."""

from flask_litro_agent.agents import Agent
from flask_litro_agent.contracts import Actor, Verdict
from flask_litro_agent.core.outcome import CallSite, NeedsApproval, Outcome, Ran, Refused
from flask_litro_agent.errors import AgentError, ConfigurationError, LitroError, NothingDone
from flask_litro_agent.extension import LitroAgent
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.identity import FlaskLogin, FlaskSecurity
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.providers.openai_compatible import openai_compatible
from flask_litro_agent.providers.scripted import call, delay, say, scripted
from flask_litro_agent.tools import PUBLIC, Change, Mode, ToolContext, ToolKit, tool, ui

__all__ = [
    "PUBLIC",
    "Actor",
    "Agent",
    "AgentError",
    "CallSite",
    "Change",
    "ConfigurationError",
    "FlaskLogin",
    "FlaskSecurity",
    "LitroAgent",
    "LitroError",
    "Mode",
    "NeedsApproval",
    "NothingDone",
    "Outcome",
    "Ran",
    "Refused",
    "ToolContext",
    "ToolKit",
    "Verdict",
    "anthropic",
    "call",
    "delay",
    "hookimpl",
    "openai_compatible",
    "say",
    "scripted",
    "tool",
    "ui",
]
