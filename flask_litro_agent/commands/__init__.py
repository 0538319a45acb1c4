"""The commands of ``flask litro`` about what the ledger's database keeps."""

from flask_litro_agent.commands.audit import audit
from flask_litro_agent.commands.ceiling import ceiling
from flask_litro_agent.commands.database import db
from flask_litro_agent.commands.proposals import dismiss, proposals
from flask_litro_agent.commands.prune import prune
from flask_litro_agent.commands.tokens import token

__all__ = ["LEDGER_COMMANDS"]

#: There is none that approves: an approval is a person's own request to the site.
LEDGER_COMMANDS = (proposals, dismiss, ceiling, token, prune, audit, db)
