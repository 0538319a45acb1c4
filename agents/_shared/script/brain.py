"""A shop's script: it understands questions by their words, calls the agent's tools and answers from the results.

A skill is a generator that yields calls and is sent what they returned. Nothing is kept between two requests:
each request plays the skill again from its start, over the outcomes that the conversation already has, and
goes one step further.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask_litro_agent.contracts import ChatRequest, TextDelta, ToolCallEvent
from flask_litro_agent.providers.scripted import Delay, say

from . import words
from .question import Outcome, Question, read

__all__ = ["Brain", "Play", "Skill"]

#: Yields the calls of a round, is sent their values in the same order, and returns the answer.
Play = Generator[Sequence[ToolCallEvent], Sequence[Any], str]

_FOLLOW_UP = r"^(?:and|or|but|what about|how about|only|just|also|then|now|ok|okay)\b"
_THANKS = r"thanks?|thank you|cheers|great|perfect|bye"
_GREETING = r"hi|hello|hey|good (?:morning|day|evening)|help|what can you do|who are you"
_ASKING = re.compile(
    r"\b(?:how|is|are|where|when|who|why|can|do|does|show|compare|reviews?|find|something|need|want|looking)\b"
)
_FEW = 5  # examples for somebody who was not understood; "help" names them all


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Something that can be asked: what it needs, how it is recognised, and how it is played.

    ``asks`` are patterns, any of which may stand in the question's words. ``example`` is a question for the list
    of what one can ask, empty for none; ``opening`` is said before the first call. A follow-up goes before
    ``is_a_guess``. What ``changes`` something is only asked for in full: no follow-up asks for it again. Without a
    ``tool`` the answer comes from the conversation.
    """

    tool: str | None
    asks: Sequence[str]
    play: Callable[[Question], Play]
    example: str
    opening: str = "One moment, I'll look."
    needs: tuple[str, ...] = ()
    is_a_guess: bool = False
    changes: bool = False

    def is_possible(self, asked: Question) -> bool:
        needed = self.needs if self.tool is None else (self.tool, *self.needs)
        return asked.tools.issuperset(needed)

    def fits(self, asked: Question) -> bool:
        return any(asked.says(pattern) for pattern in self.asks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brain:
    """The script of one agent: ``skills`` are tried in their order, ``refused`` explains a forbidden tool.

    ``seconds`` is the pause between two words; None takes it from ``DEMO_SPEED``, 0.02 without it.
    """

    skills: Sequence[Skill]
    greeting: str
    refused: Callable[[str], str]
    limits: Mapping[str, str]
    seconds: float | None = None

    def __call__(self, request: ChatRequest, turn: int) -> Iterator[TextDelta | Delay | ToolCallEvent]:
        """Yield the next step of the answer to the newest question."""
        asked = read(request)
        skill, asked = self._understand(asked)
        step = _step(skill, asked) if skill else self._without_tools(asked)
        if isinstance(step, Outcome):
            step = self._trouble(step, skill)
        if isinstance(step, str):
            yield from say(step, seconds=self._pace)
            return
        if skill and not asked.rounds:
            yield from say(skill.opening, seconds=self._pace)
        yield from step

    @property
    def _pace(self) -> float:
        return _demo_speed() if self.seconds is None else self.seconds

    def _understand(self, asked: Question) -> tuple[Skill | None, Question]:
        """Return the skill that fits, and the question as that skill shall read it."""
        possible = [skill for skill in self.skills if skill.is_possible(asked)]
        fits = next((skill for skill in possible if skill.fits(asked)), None)
        if fits and (fits.changes or fits.tool is None):
            return fits, asked
        if self._limit(asked) or (not fits and asked.says(f"{_THANKS}|{_GREETING}")):
            return None, asked
        again = _taken_up(asked, possible)
        if again and (not fits or fits is again or fits.is_a_guess or _narrows(asked)):
            return again, replace(asked, before=asked.past[-1].arguments)
        return fits, asked

    def _limit(self, asked: Question) -> str | None:
        return next((text for pattern, text in self.limits.items() if asked.says(pattern)), None)

    def _without_tools(self, asked: Question) -> str:
        limit = self._limit(asked)
        if limit:
            return limit
        if asked.says(_THANKS):
            return "You're welcome! Is there anything else?"
        examples = [f"• {skill.example}" for skill in self._shown(asked)]
        if asked.says(_GREETING):
            return "\n".join([self.greeting, "You can ask me, for example:", *examples])
        few = examples[:: max(1, len(examples) // _FEW)]
        return "\n".join([_PUZZLED, "You can ask me, for example (“help” shows more):", *few])

    def _shown(self, asked: Question) -> list[Skill]:
        return [skill for skill in reversed(self.skills) if skill.example and skill.is_possible(asked)]

    def _trouble(self, outcome: Outcome, skill: Skill | None) -> str:
        match outcome.error:
            case "forbidden":
                return self.refused(outcome.tool)
            case "invalid_input":
                return f"The shop did not understand my question ({outcome.value}). Please say it in other words."
            case "dismissed":
                return "I did not propose it again: an operator said no to exactly this a short while ago."
            case "unplayed":
                return "I lost my thread. Please ask me again."
            case _ if skill and skill.changes:
                return f"I could not propose that: {outcome.value or 'the shop gave no answer'}."
            case _:
                return f"That did not work: {outcome.value or 'the shop gave no answer'}. Please try again in a moment."


_PUZZLED = "I am only a small script and did not understand that."


def _step(skill: Skill, asked: Question) -> Sequence[ToolCallEvent] | str | Outcome:
    """Play the skill over the rounds so far; return its next calls, its answer, or the outcome that went wrong."""
    play = skill.play(asked)
    try:
        calls = next(play)
        for outcomes in asked.rounds:
            wrong = next((outcome for outcome in outcomes if outcome.error), None)
            if wrong:
                return wrong
            if len(outcomes) != len(calls):
                return Outcome(tool=skill.tool or "", arguments={}, value="", error="unplayed")
            calls = play.send([outcome.value for outcome in outcomes])
    except StopIteration as end:
        return str(end.value)
    if not all(call.name in asked.tools for call in calls):
        return Outcome(tool=skill.tool or "", arguments={}, value="", error="unplayed")
    return calls


def _taken_up(asked: Question, possible: Sequence[Skill]) -> Skill | None:
    """Return the skill of the last call when a short question goes on from there: "and in green?", "in Munich?"."""
    goes_on = asked.says(_FOLLOW_UP) or (words.names_something(asked) and _only_names_things(asked))
    if not asked.past or not goes_on or len(asked.words.split()) > 8:
        return None
    same = (skill for skill in reversed(possible) if skill.tool == asked.past[-1].tool)
    return next((skill for skill in same if not skill.changes), None)


def _narrows(asked: Question) -> bool:
    return asked.says(_FOLLOW_UP) and _only_names_things(asked)


def _only_names_things(asked: Question) -> bool:
    """Whether a follow-up brings no question word of its own: "and in blue?"."""
    return _ASKING.search(re.sub(_FOLLOW_UP, "", asked.words)) is None


def _demo_speed() -> float:
    try:
        return min(1.0, max(0.0, float(os.environ.get("DEMO_SPEED", "0.02"))))
    except ValueError:
        return 0.02
