"""``python -m example_app``: run the demo shop."""

from __future__ import annotations

import sys

try:
    from gevent import monkey
except ImportError:
    monkey = None  # type: ignore[assignment]  # without the gevent extra the demo serves by threads
if monkey is not None:
    monkey.patch_all()

from example_app.serve import main  # the patch comes before everything that opens sockets

if __name__ == "__main__":
    sys.exit(main())
