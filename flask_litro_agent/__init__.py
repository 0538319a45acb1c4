"""AI agents for Flask sites: a durable session log, streamed turns, and a gate in front of every tool."""

from flask_litro_agent.agents import Agent
from flask_litro_agent.contracts import Actor, Verdict
from flask_litro_agent.core.outcome import CallSite, NeedsApproval, Outcome, Ran, Refused
from flask_litro_agent.errors import AgentError, ConfigurationError, LitroError, NothingDone
from flask_litro_agent.extension import LitroAgent
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.identity import FlaskLogin, FlaskSecurity, token_actor
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.providers.openai_compatible import openai_compatible
from flask_litro_agent.providers.scripted import call, delay, say, scripted
from flask_litro_agent.signals import (
    ProposalFacts,
    TurnFacts,
    ceiling_changed,
    proposal_recorded,
    proposal_settled,
    turn_ended,
)
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
    "ProposalFacts",
    "Ran",
    "Refused",
    "ToolContext",
    "ToolKit",
    "TurnFacts",
    "Verdict",
    "anthropic",
    "call",
    "ceiling_changed",
    "delay",
    "hookimpl",
    "openai_compatible",
    "proposal_recorded",
    "proposal_settled",
    "say",
    "scripted",
    "token_actor",
    "tool",
    "turn_ended",
    "ui",
]
