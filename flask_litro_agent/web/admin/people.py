"""People by their names, each asked for once a page; whoever is gone is shown by the id."""

from __future__ import annotations

import logging

from flask_litro_agent.core.visible import visible
from flask_litro_agent.identity import Identity, is_visitor_id
from flask_litro_agent.web.admin.words import say

__all__ = ["People", "seen"]

logger = logging.getLogger(__name__)


class People:
    """The names of one page."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._names: dict[str, str] = {}

    def name(self, actor_id: str) -> str:
        """Return the name as a page shows it, or the id of somebody whom the site does not know (any more)."""
        return seen(self.name_as_given(actor_id))

    def name_as_given(self, actor_id: str) -> str:
        """Return the name in the very characters that the site gave."""
        if actor_id not in self._names:
            self._names[actor_id] = self._ask(actor_id)
        return self._names[actor_id]

    def _ask(self, actor_id: str) -> str:
        if is_visitor_id(actor_id):
            return say("A visitor")
        try:
            actor = self._identity.by_id(actor_id)
        except Exception as error:  # the site's own loader; a page stands without a name
            logger.warning("litro admin: actor_loader raised for a name: %s", error)
            return actor_id
        return actor.name if actor is not None and actor.name else actor_id


def seen(text: str) -> str:
    """Return what somebody wrote with every character of it showing."""
    return visible(text, breaks=True).text
