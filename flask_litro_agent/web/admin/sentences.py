"""Sentences of the gate that pages show, so that catalogues can have them; what is not here is shown in English."""

from __future__ import annotations

from typing import Final

from flask_litro_agent.web.admin.words import mark

__all__ = ["SENTENCES"]

SENTENCES: Final = (
    mark("This proposal expired or was already handled"),
    mark("This proposal is not the one that the page showed: load it again"),
    mark("You signed in too long ago for this: prove once more who you are. Nothing was decided."),
    mark("The outcome of this proposal is not unknown"),
    mark("The other side cannot be asked: answer it yourself"),
    mark("Only an expired, a dismissed or an unknown proposal can be proposed again"),
    mark("Only what was done can be taken back"),
    mark("This cannot be undone"),
    mark("The agent no longer has the tool for this"),
    mark("Its arguments no longer read as they are written"),
    mark("this needs four eyes: whoever asked for it may not approve it"),
    mark("a policy does not allow you to approve this"),
    mark("the ceiling is being changed: nothing was done, try again"),
    mark("there is no such proposal"),
    mark("sign in to see this page"),
    mark("sign in to decide"),
    mark("the session log is not available now"),
    mark("the form's token is missing, too old or another person's: load the proposal again"),
    mark("the change was started, and the ledger could not write down how it ended"),
)
