"""A process that tells a session how its proposals ended and is killed between the log and the ledger:
``python -m tests.outbox_child FOLDER [SESSION]``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from flask_litro_agent.core.ledger import Ledger
from tests.proposal_bench import ProposalBench


class DyingLedger(Ledger):
    """Dies where it should note that the session was told."""

    def told(self, *what):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    bench = ProposalBench(Path(sys.argv[1]), ledger=DyingLedger)
    bench.runner.tell(bench.key(*sys.argv[2:]))
