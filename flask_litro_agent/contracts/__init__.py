"""What crosses each wall: the four protocols that a plugin may implement, and the values they exchange.

Nobody inherits to fit. A class that has the methods is a provider, a session store, a renderer or a policy;
the contract classes in ``flask_litro_agent.testing`` say whether it behaves like one.
"""

from flask_litro_agent.contracts.chat import (
    AssistantState,
    ChatRequest,
    Done,
    Image,
    Message,
    Note,
    Options,
    Part,
    Provider,
    ProviderError,
    ProviderEvent,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolSpec,
    Usage,
)
from flask_litro_agent.contracts.policy import Actor, Policy, ToolFacts, Verdict
from flask_litro_agent.contracts.renderer import Asset, Component, ComponentSource, Rendered, Renderer
from flask_litro_agent.contracts.stop import Stop
from flask_litro_agent.contracts.store import Entry, Holder, Lease, SessionInfo, SessionKey, SessionStore

__all__ = [
    "Actor",
    "Asset",
    "AssistantState",
    "ChatRequest",
    "Component",
    "ComponentSource",
    "Done",
    "Entry",
    "Holder",
    "Image",
    "Lease",
    "Message",
    "Note",
    "Options",
    "Part",
    "Policy",
    "Provider",
    "ProviderError",
    "ProviderEvent",
    "Reasoning",
    "ReasoningDelta",
    "Rendered",
    "Renderer",
    "SessionInfo",
    "SessionKey",
    "SessionStore",
    "Stop",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolCallEvent",
    "ToolFacts",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "Verdict",
]
