"""What the gate was built from: the tools, the policies, the ledger and the rest. Fixed once the app has started."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from flask_litro_agent.contracts import Actor, Stop
from flask_litro_agent.core import execution
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import Level, Levels, LevelSource
from flask_litro_agent.core.freshness import Freshness
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.verdicts import Verdicts
from flask_litro_agent.core.write_rules import is_protected_execute
from flask_litro_agent.errors import AgentError, Overloaded
from flask_litro_agent.settings import Limits
from flask_litro_agent.tools import Tool, ToolContext

__all__ = ["Wiring"]

logger = logging.getLogger(__name__)

_EVERYTHING = Levels(epoch=0, site=Level.EXECUTE, lower={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The gate's parts; ``ledger`` and ``audit`` are None where no tool changes anything."""

    tools: Mapping[str, Mapping[str, Tool]]
    limits: Mapping[str, Limits]
    verdicts: Verdicts
    around: Callable[[ToolContext], AbstractContextManager[None]]
    deciding: Callable[[], AbstractContextManager[object]]
    execute: execution.Executor
    ledger: Ledger | None
    ceiling: LevelSource | None
    audit: Audit | None
    actor_loader: Callable[[str], Actor | None]
    protected: Sequence[str]
    four_eyes: Sequence[str]
    max_ttl: int
    freshness: Freshness

    def levels(self) -> Levels:
        """Return the levels in force now."""
        return _EVERYTHING if self.ceiling is None else self.ceiling.levels()

    def refusal_reason(self, agent: str, tool: Tool, levels: Levels) -> str | None:
        """Return why nobody may use the tool now, ``ceiling`` or ``protected``; None when it may be used."""
        if tool.mode > levels.of(agent, tool.name):
            return "ceiling"
        return "protected" if is_protected_execute(tool, self.protected) else None

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Give checks that ask a site's code their context; whatever that raises is one sentence for who decides.

        The site's loaders, schemas and the like may raise anything, ``sys.exit()`` included: nothing was done then.
        """
        try:
            with self.deciding():
                yield
        except (AgentError, KeyboardInterrupt):
            raise
        except BaseException as error:
            error_id = secrets.token_hex(4)
            logger.error("litro gate: a check could not be made, error %s", error_id, exc_info=error)
            raise AgentError(
                f"this could not be checked (error {error_id}): nothing was done, try again", status=503
            ) from error

    def note(
        self,
        agent: str,
        tool: str,
        code: str,
        *,
        actor: object,
        origin: str,
        session: str | None = None,
    ) -> None:
        """Keep a refusal as a row beside the audit chain; this never raises."""
        if self.audit is None:
            return
        who = _storable(getattr(actor, "id", ""), 255)
        where = None if session is None else _storable(session, 64)
        try:
            self.audit.refuse(
                agent=_storable(agent, 64),
                actor=who,
                session=where,
                tool=_storable(tool, 80),
                origin=_storable(origin, 16),
                code=code,
            )
        except Exception:
            logger.exception("litro gate: a refusal was not noted")

    def aside(
        self, work: Callable[[ToolContext], Any], context: ToolContext, seconds: float, stop: Stop
    ) -> Any:
        """Run a function that stands beside a tool, as a tool is run; return its value or raise what it raised."""

        def run(report: Callable[[Any], None]) -> Any:
            with self.around(context):
                return work(context)

        match self.execute(run, seconds, stop, lambda value: None):
            case execution.Finished(value):
                return value
            case execution.Raised(Exception() as error):
                raise error
            case execution.Raised(error):
                raise RuntimeError(f"ended by {type(error).__name__}") from error
            case execution.NotStarted(error):
                raise Overloaded("no thread is left here: ask again in a moment") from error
            case _:
                raise TimeoutError(f"no answer within {seconds:.3g} seconds")


def _storable(value: object, most: int) -> str:
    """Return what a model or a site said, as a column can keep it."""
    return str(value).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")[:most]
