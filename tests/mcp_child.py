"""The MCP site for a server of its own: ``gunicorn tests.mcp_child:app``, in the folder MCP_SITE."""

from __future__ import annotations

import os
from pathlib import Path

from tests.mcp_site import mcp_site

app = mcp_site(Path(os.environ["MCP_SITE"]))
