"""Why an answer ended: the words of all servers, in whatever dialect, as the reasons of ``Done``."""

from __future__ import annotations

__all__ = ["finish_reason"]

_WORDS = {
    "stop": ("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed", "end"),
    "length": ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"),
    "tool_calls": ("tool_calls", "tool_use", "function_call", "tool_call"),
    "content_filter": (
        "content_filter",
        "safety",
        "refusal",
        "sensitive",
        "recitation",
        "prohibited_content",
    ),
    "pause": ("pause_turn",),
}
_REASON = {word: reason for reason, words in _WORDS.items() for word in words}


def finish_reason(word: str) -> str:
    """Return the reason that a server's word means; no word is ``stop``, an unknown one ``other``."""
    return _REASON.get(word.lower(), "other") if word else "stop"
